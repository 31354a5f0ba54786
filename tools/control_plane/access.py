"""Ways in: kubeconfigs, and a small blocking client with the administrator's certificate.

The client is for setting a stage (namespaces, service accounts, CRDs of kwok) and for asking whether the server is up;
what is under test brings its own.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .certificates import Pair

# Times, a second apart, a request is repeated that the server had too much to do for.
ASKED_AGAIN: Final = 30

# A service account's objects are named for it; anybody may look at them with kubectl.
Rules = list[dict[str, Any]]


class Refused(Exception):
    """The server said no; the text is its own."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


def kubeconfig(url: str, authority: bytes, user: dict[str, str]) -> dict[str, Any]:
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(authority).decode()}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "control-plane", "cluster": cluster}],
        "users": [{"name": "user", "user": user}],
        "contexts": [{"name": "control-plane", "context": {"cluster": "control-plane", "user": "user"}}],
        "current-context": "control-plane",
    }


def user_of(pair: Pair) -> dict[str, str]:
    return {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }


@dataclass(frozen=True, slots=True)
class Admin:
    """JSON in and out. Lines are kept open for the next who asks, whichever thread that is: shaking hands with
    certificates is most of what a small question costs."""

    host: str
    port: int
    tls: ssl.SSLContext
    _lines: list[http.client.HTTPSConnection] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def at(cls, host: str, port: int, directory: Path) -> Admin:
        tls = ssl.create_default_context(cafile=str(directory / "ca.crt"))
        tls.load_cert_chain(directory / "admin.crt", directory / "admin.key")
        return cls(host, port, tls)

    def request(self, method: str, path: str, body: Any = None, content: str = "application/json") -> Any:
        """The answer; asked for again while the server says it is too early, as after a kind was defined."""
        for _ in range(ASKED_AGAIN):
            try:
                return self._once(method, path, body, content)
            except Refused as refusal:
                if refusal.status != http.HTTPStatus.TOO_MANY_REQUESTS:
                    raise
            time.sleep(1)
        return self._once(method, path, body, content)

    def _once(self, method: str, path: str, body: Any, content: str) -> Any:
        while (kept := self._kept()) is not None:
            try:
                return self._asked(kept, method, path, body, content)
            except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError):
                pass  # it was closed meanwhile, as all are when the server goes
        line = http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=10)
        return self._asked(line, method, path, body, content)

    def _kept(self) -> http.client.HTTPSConnection | None:
        try:
            return self._lines.pop()
        except IndexError:
            return None

    def _asked(self, line: http.client.HTTPSConnection, method: str, path: str, body: Any, content: str) -> Any:
        try:
            line.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": content})
            answer = line.getresponse()
            text = answer.read().decode()
        except BaseException:
            line.close()
            raise
        self._lines.append(line)
        if answer.status >= 400:
            raise Refused(answer.status, text)
        return json.loads(text) if answer.headers.get_content_type() == "application/json" else text

    def close(self) -> None:
        """Hang up. Who asks again afterwards is answered."""
        while (kept := self._kept()) is not None:
            kept.close()

    def ensure(self, path: str, body: dict[str, Any]) -> None:
        """Create it unless it is there."""
        try:
            self.request("POST", path, body)
        except Refused as refusal:
            if refusal.status != http.HTTPStatus.CONFLICT:
                raise

    def apply(self, path: str, body: dict[str, Any]) -> None:
        name = body["metadata"]["name"]
        target = f"{path}/{name}?fieldManager=control-plane&force=true"
        self.request("PATCH", target, body, content="application/apply-patch+yaml")

    def healthy(self, path: str = "/readyz", port: int = 0) -> bool:
        """Whether the server on our port, or another of the same certificate, answers 200."""
        asked = self if port in (0, self.port) else Admin(self.host, port, self.tls)
        try:
            asked.request("GET", path)
        except (OSError, http.client.HTTPException, Refused):
            return False
        finally:
            asked.close()
        return True


def service_account_token(admin: Admin, namespace: str, name: str, rules: Rules, hours: int = 24) -> str:
    """A token for a service account that may do what `rules` say and nothing else."""
    role = f"{namespace}:{name}"
    admin.ensure("/api/v1/namespaces", {"metadata": {"name": namespace}})
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    admin.ensure(accounts, {"metadata": {"name": name}})
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    version = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": role}}
    admin.apply(f"{rbac}/clusterroles", {**version, "kind": "ClusterRole", "rules": rules})
    binding = {
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "namespace": namespace, "name": name}],
    }
    admin.apply(f"{rbac}/clusterrolebindings", {**version, **binding})
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    answer = admin.request("POST", f"{accounts}/{name}/token", {**request, "spec": {"expirationSeconds": hours * 3600}})
    return str(answer["status"]["token"])
