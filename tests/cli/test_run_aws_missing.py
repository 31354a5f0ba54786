"""`dovetail run --cloud aws` says in one sentence what it lacks: a cluster, its name, a region, credentials."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest
from tools.aws_server import Account, AwsServer
from tools.aws_server.world import Refuse

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: {context}
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:1"}}}}]
users: [{{name: c, user: {{}}}}]
contexts: [{{name: "{context}", context: {{cluster: c, user: c}}}}]
"""


@pytest.fixture
def started(dovetail, tmp_path: Path, aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch):
    """Start it against the test server and say what it ended with."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", aws_server.url)
    monkeypatch.delenv("CLUSTER_NAME", raising=False)
    file = tmp_path / "kubeconfig"

    def start(*arguments: str, context: str = "c") -> Any:
        file.write_text(KUBECONFIG.format(context=context))
        return dovetail("run", "--cloud", "aws", "--kubeconfig", str(file), *arguments)

    return start


def assert_says(ran: Any, *words: str) -> None:
    """One sentence, no traceback, the exit code of bad input."""
    assert ran.code == 2
    (line,) = ran.err.strip().splitlines()
    assert all(word in line for word in words), line
    assert "fault of dovetail" not in line


def test_without_a_kubeconfig(dovetail, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert_says(dovetail("run", "--cloud", "aws"), "no cluster to talk to")


def test_without_a_name_of_the_cluster(started):
    assert_says(started(), "cluster's name", "--cluster-name", "CLUSTER_NAME")


def test_the_kubeconfig_of_an_eks_cluster_has_its_name(started):
    arn = "arn:aws:eks:us-east-1:123456789012:cluster/prod"
    assert_says(started(context=arn), "no AWS region is known")
    assert_says(started(context="me@prod.us-east-1.eksctl.io"), "no AWS region is known")


def test_without_a_region(started):
    assert_says(started("--cluster-name", "x"), "no AWS region is known", "--aws-region", "AWS_REGION")


def test_without_credentials(started, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    ran = started("--cluster-name", "x", "--aws-region", "us-east-1")
    assert_says(ran, "no AWS credentials", "AWS_ACCESS_KEY_ID")


def test_with_credentials_that_are_wrong(started, aws_server: AwsServer):
    aws_server.world.fail_always("DescribeInstanceTypes", Refuse("AuthFailure", "AWS was not able to validate", 401))
    ran = started("--cluster-name", "x", "--aws-region", "us-east-1")
    assert_says(ran, "AWS cannot be used", "AuthFailure", "DescribeInstanceTypes")


def test_without_the_extra(started, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("aiobotocore"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    assert_says(started("--cluster-name", "x", "--aws-region", "us-east-1"), "dovetail[aws]")
