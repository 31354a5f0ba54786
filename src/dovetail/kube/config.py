"""Which cluster, and who asks: from a kubeconfig, or from what every pod is given.

`load` looks where kubectl looks: the file it is given, else the files KUBECONFIG lists, else ~/.kube/config; where
there is none, the service account of the pod it runs in. TLS is verified unless the kubeconfig says otherwise, in so
many words.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from dovetail.api.fields import Fields
from dovetail.core.errors import BadInput
from dovetail.kube import kubeconfig
from dovetail.kube.credentials import Anonymous, Credentials, Shown, TokenFile
from dovetail.kube.identities import cluster_info, identity, pem
from dovetail.kube.tls import Pem, Trust, context_of

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_NOTHING: Final = (
    "no cluster to talk to: there is no ~/.kube/config, KUBECONFIG is not set, and this is no pod; "
    "name a kubeconfig file, or set KUBECONFIG"
)


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """All the client needs to know; `warnings` are sentences for whoever started the program."""

    server: str
    credentials: Credentials = field(default_factory=Anonymous)
    trust: Trust = field(default_factory=Trust)
    namespace: str = "default"
    proxy: str = field(default="", repr=False)
    compression: bool = True
    acting_as: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        return urlsplit(self.server).hostname or ""

    @property
    def on_loopback(self) -> bool:
        return _on_loopback(self.host)


def load(path: str | None, context: str | None, environment: Mapping[str, str]) -> ClusterConfig:
    """Raises BadInput with the path to what is wrong."""
    files = kubeconfig.files_of(path, environment)
    if files:
        return _configured(kubeconfig.chosen(kubeconfig.merged(files), context), environment)
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environment)
    raise BadInput(_NOTHING)


def from_document(
    document: Mapping[str, object], context: str | None = None, environment: Mapping[str, str] | None = None
) -> ClusterConfig:
    """From a kubeconfig that is in memory already; paths in it are seen from the working directory."""
    found = kubeconfig.Merged()
    kubeconfig.add(found, document, Path("kubeconfig"))
    return _configured(kubeconfig.chosen(found, context), environment or {})


def in_cluster(environment: Mapping[str, str], mount: Path = SERVICE_ACCOUNT) -> ClusterConfig:
    """What the kubelet gives every pod."""
    host = environment.get("KUBERNETES_SERVICE_HOST", "")
    port = environment.get("KUBERNETES_SERVICE_PORT", "") or "443"
    if not host or not port.isdigit():
        raise BadInput("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT do not name an API server")
    for name in ("token", "ca.crt"):
        if not (mount / name).is_file():
            raise BadInput(f"{mount / name} is missing; does the pod set automountServiceAccountToken: false?")
    address = f"[{host}]" if ":" in host else host
    namespace = mount / "namespace"
    return ClusterConfig(
        server=f"https://{address}:{port}",
        credentials=TokenFile(mount / "token"),
        trust=Trust(authority=Pem(path=mount / "ca.crt")),
        namespace=namespace.read_text(encoding="utf-8").strip() if namespace.is_file() else "default",
    )


def _configured(chosen: kubeconfig.Chosen, environment: Mapping[str, str]) -> ClusterConfig:
    with chosen.cluster.located() as content:
        server = _server(content)
        authority = pem(chosen.cluster, content, "certificate-authority")
        insecure = content.flag("insecure-skip-tls-verify")
        server_name = content.text("tls-server-name") or ""
        if insecure and authority is not None:
            raise content.bad("insecure-skip-tls-verify", "is set beside a certificate authority; keep one of the two")
        _check(content, "certificate-authority", Trust(authority))
        proxy = _proxy(content, server, environment)
        told = cluster_info(content, authority)
        compression = not content.flag("disable-compression")
    who = identity(chosen.user, told, environment)
    trust = Trust(authority, who.certificate, who.key, server_name, insecure)
    with chosen.user.located() as content:
        _check(content, "client-certificate", Trust(None, who.certificate, who.key))
    warnings = (f"the certificate of {server} is not verified: insecure-skip-tls-verify is set",) if insecure else ()
    return ClusterConfig(server, who.credentials, trust, chosen.namespace, proxy, compression, who.acting_as, warnings)


def _server(content: Fields) -> str:
    server = content.required("server").rstrip("/")
    try:
        parts = urlsplit(server)
        bad = parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0
        bad = bad or bool(parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        bad = True
    if bad:
        raise content.bad("server", "is not an address; write https://host:port, without a user or a query")
    return server


def _check(content: Fields, name: str, trust: Trust) -> None:
    """Find out now what would otherwise fail at the first request."""
    if trust == Trust():
        return
    try:
        context_of(trust, Shown())
    except (OSError, ValueError) as problem:
        why = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or problem
        raise content.bad(name, f"cannot be used: {why}") from None


def _proxy(content: Fields, server: str, environment: Mapping[str, str]) -> str:
    """The proxy the kubeconfig names, else the one the environment names; never for this machine itself."""
    named = content.text("proxy-url") or ""
    if named:
        parts = urlsplit(named)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise content.bad("proxy-url", "only http:// and https:// proxies can be used")
        return named
    parts = urlsplit(server)
    host = parts.hostname or ""
    name = f"{parts.scheme}_proxy"
    found = environment.get(name) or environment.get(name.upper()) or ""
    spared = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if not found or _on_loopback(host) or _spared(host, spared):
        return ""
    return found if "://" in found else f"http://{found}"


def _spared(host: str, no_proxy: str) -> bool:
    if proxy_bypass_environment(host, {"no": no_proxy}):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    for one in no_proxy.split(","):
        try:
            if "/" in one and address in ipaddress.ip_network(one.strip(), strict=False):
                return True
        except ValueError:
            continue
    return False


def _on_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
