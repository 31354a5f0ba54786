"""Kubeconfigs and pods: which cluster is meant, and what is wrong with the file."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.kube.certificates import Authority

from dovetail.core.errors import BadInput
from dovetail.kube import config
from dovetail.kube.config import ClusterConfig
from dovetail.kube.credentials import Shown

AUTHORITY = Authority()
CLIENT = AUTHORITY.sign("jane")
Json = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def document(cluster: Json | None = None, user: Json | None = None, name: str = "one") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "preferences": {},
        "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "shop"}}],
    }


def written(directory: Path, content: Json, name: str = "config") -> Path:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def shown(found: ClusterConfig) -> Shown:
    return asyncio.run(found.credentials.current())


def test_the_current_context_names_cluster_user_and_namespace(tmp_path: Path) -> None:
    path = written(tmp_path, document(user={"token": "abc"}))
    found = config.load(str(path), None, {})
    assert (found.server, found.namespace, shown(found).token) == ("https://one:6443", "shop", "abc")


def test_a_token_is_never_printed(tmp_path: Path) -> None:
    found = config.from_document(document(user={"token": "s3cret"}))
    assert "s3cret" not in repr(found)
    assert "s3cret" not in repr(shown(found))


def test_of_several_files_the_first_that_names_something_counts(tmp_path: Path) -> None:
    first = written(tmp_path, {**document(user={"token": "first"}), "clusters": []}, "a/config")
    second = written(tmp_path, document({"server": "https://second"}, {"token": "second"}), "b/config")
    third = written(tmp_path, document(name="three", user={"token": "third"}), "c/config")
    environment = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}:{third}:"}
    found = config.load(None, None, environment)
    assert (found.server, shown(found).token) == ("https://second", "first")
    assert config.load(None, "three", environment).server == "https://three:6443"


def test_the_file_in_the_home_directory_is_the_usual_one(tmp_path: Path) -> None:
    written(tmp_path, document(), ".kube/config")
    environment = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    assert config.load(None, None, environment).server == "https://one:6443"


def test_files_are_named_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    certificate, key = CLIENT.write(tmp_path, "client")
    (tmp_path / "ca.crt").write_bytes(AUTHORITY.pem)
    (tmp_path / "token").write_text("from-file\n", encoding="utf-8")
    user = {"client-certificate": certificate.name, "client-key": key.name, "tokenFile": "token", "token": "old"}
    found = config.load(str(written(tmp_path, document({"certificate-authority": "ca.crt"}, user))), None, {})
    assert found.trust.authority is not None
    assert found.trust.certificate is not None
    assert (found.trust.authority.read(), found.trust.certificate.read()) == (AUTHORITY.pem, CLIENT.certificate)
    assert shown(found).token == "from-file"


def test_certificates_may_stand_in_the_file_itself() -> None:
    user = {"client-certificate-data": b64(CLIENT.certificate), "client-key-data": b64(CLIENT.key)}
    cluster = {"certificate-authority-data": b64(AUTHORITY.pem), "tls-server-name": "kubernetes"}
    trust = config.from_document(document(cluster, user)).trust
    assert trust.key is not None
    assert (trust.key.read(), trust.server_name, trust.insecure) == (CLIENT.key, "kubernetes", False)


def test_not_verifying_must_be_said_and_is_warned_of() -> None:
    found = config.from_document(document({"insecure-skip-tls-verify": True}))
    assert found.trust.insecure
    assert "not verified" in found.warnings[0]
    assert config.from_document(document()).warnings == ()


def test_acting_as_somebody_else_becomes_headers() -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"Team/x": ["blue"]}}
    assert config.from_document(document(user=user)).acting_as == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-team%2Fx", "blue"),
    )


@pytest.mark.parametrize(
    ("cluster", "environment", "proxy"),
    [
        ({"proxy-url": "http://p:1"}, {"HTTPS_PROXY": "http://e:2"}, "http://p:1"),
        ({}, {"HTTPS_PROXY": "e:2"}, "http://e:2"),
        ({}, {"HTTP_PROXY": "http://e:2"}, ""),
        ({}, {"https_proxy": "http://e:2", "no_proxy": "one"}, ""),
        ({"server": "https://10.1.2.3"}, {"https_proxy": "http://e:2", "NO_PROXY": "x, 10.0.0.0/8"}, ""),
        ({"server": "https://127.0.0.1:1"}, {"https_proxy": "http://e:2"}, ""),
    ],
)
def test_a_proxy_comes_from_the_file_or_the_environment(cluster: Json, environment: Json, proxy: str) -> None:
    assert config.from_document(document(cluster), None, environment).proxy == proxy


V1 = "client.authentication.k8s.io/v1"
CA = b64(AUTHORITY.pem)
WRONG: list[tuple[str, Json, str]] = [
    ("a password", document(user={"username": "u", "password": "p"}), r"users\[0\]\.user\.username: .*no longer take"),
    ("a provider", document(user={"auth-provider": {"name": "gcp"}}), r"users\[0\]\.user\.auth-provider: gcp: .*gone"),
    ("a key alone", document(user={"client-key-data": b64(b"x")}), r"user\.client-certificate: is missing"),
    ("no base64", document({"certificate-authority-data": "%%%x"}), r"cluster\.certificate-authority.*"),
    ("no PEM", document({"certificate-authority-data": b64(b"x")}), r"certificate-authority: cannot be used"),
    ("an empty CA", document({"certificate-authority-data": "!!!!"}), r"certificate-authority: cannot .* is empty"),
    ("no file", document({"certificate-authority": "/nowhere"}), r"clusters\[0\].*/nowhere cannot be read: No such"),
    ("no server", document({"server": ""}), r"clusters\[0\]\.cluster\.server: is empty"),
    ("no address", document({"server": "one:6443"}), r"cluster\.server: is not an address"),
    ("a user", document({"server": "https://u:p@one"}), r"cluster\.server: is not an address.* without a user"),
    ("no port", document({"server": "https://one:port"}), r"cluster\.server: is not an address"),
    ("a number", document({"server": 6443}), r"cluster\.server: expected text, got a number"),
    ("both", document({"certificate-authority-data": CA, "insecure-skip-tls-verify": True}), "keep one of the two"),
    ("socks", document({"proxy-url": "socks5://p:1"}), r"proxy-url: only http"),
    ("no user", {**document(), "users": []}, r"contexts\[0\]\.context\.user: there is no user one"),
    ("no cluster", {**document(), "clusters": None}, r"contexts\[0\]\.context\.cluster: there is no cluster one"),
    ("no context", {**document(), "current-context": "on"}, r"contexts: there is no context on; did you mean one\?"),
    ("none chosen", {**document(), "current-context": ""}, "current-context: no context is set; name one of one"),
    ("no list", {**document(), "users": {"a": 1}}, r"users: expected a list, got a map"),
    ("groups alone", document(user={"as-groups": ["a"]}), r"user\.as: is missing"),
    ("two lines", document(user={"token": "a\nb"}), r"user\.token: holds characters"),
    ("exec alpha", document(user={"exec": {"apiVersion": "client.authentication.k8s.io/v1alpha1"}}), "not understood"),
    ("exec mode", document(user={"exec": {"apiVersion": V1, "interactiveMode": "So"}}),
     r"users\[0\]\.user\.exec\.interactiveMode: So is none of"),
    ("exec nothing", document(user={"exec": {"apiVersion": V1}}), "command: is missing"),
    ("exec args", document(user={"exec": {"apiVersion": V1, "command": "a", "args": [1]}}),
     r"exec\.args: expected a list of texts"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "told"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_bad_file_is_told_with_the_path_to_the_field(tmp_path: Path, content: Json, told: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BadInput, match=told) as caught:
        config.load(str(path), None, {})
    assert str(caught.value).startswith(str(path))


def test_somebody_elses_bad_entry_stands_in_nobodys_way(tmp_path: Path) -> None:
    content = document(user={"token": "abc"})
    content["users"].append({"name": "other", "user": {"auth-provider": {"name": "gcp"}}})
    assert shown(config.load(str(written(tmp_path, content)), None, {})).token == "abc"


@pytest.mark.parametrize(("text", "told"), [("a: [", "not YAML"), ("[1, 2]", "expected a map"), ("", "no context")])
def test_a_file_that_is_no_kubeconfig_is_named(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=told) as caught:
        config.load(str(path), None, {})
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"missing: there is no such file"):
        config.load(str(tmp_path / "missing"), None, {})
    with pytest.raises(BadInput, match=r"KUBECONFIG names .*missing: no such file"):
        config.load(None, None, {"KUBECONFIG": str(tmp_path / "missing")})


def test_without_any_hint_it_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no cluster to talk to"):
        config.load(None, None, {"HOME": str(tmp_path)})


def mounted(directory: Path) -> Path:
    (directory / "token").write_text("pod-token\n", encoding="utf-8")
    (directory / "ca.crt").write_bytes(AUTHORITY.pem)
    (directory / "namespace").write_text("karpenter", encoding="utf-8")
    return directory


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    found = config.in_cluster(environment, mounted(tmp_path))
    assert (found.server, found.namespace) == ("https://[fd00::1]:6443", "karpenter")
    assert shown(found).token == "pod-token"
    assert not found.trust.insecure


def test_a_pod_without_a_token_is_told_why(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOME": str(tmp_path)}
    with pytest.raises(BadInput, match="automountServiceAccountToken"):
        config.in_cluster(environment, tmp_path)
    with pytest.raises(BadInput, match="do not name an API server"):
        config.in_cluster({"KUBERNETES_SERVICE_HOST": "a", "KUBERNETES_SERVICE_PORT": "tcp"}, mounted(tmp_path))


def test_a_kubeconfig_in_json_reads_the_same(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(json.dumps(document()), encoding="utf-8")
    assert config.load(str(path), None, {}).server == "https://one:6443"
