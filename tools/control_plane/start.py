"""A control plane from start to stop: etcd, then the API server, then those who work through it.

    with ControlPlane(programs) as control_plane:
        …  # control_plane.url, .kubeconfig, .admin

Each waits for what it needs: the API server for etcd, the rest for `/readyz`. Stopping goes the other way round, and
the data directory goes last; logs stay where the caller wanted them. The API server can be stopped and started again
on its port while etcd keeps the objects: that is what an outage looks like to a client.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from . import components, core_manager, kwok_stages
from .access import Admin, Rules, kubeconfig, service_account_token, user_of
from .certificates import Authority, token_signing_key, write_secret
from .components import HOST, Layout, Ports
from .ports import free_ports
from .processes import PREFIX, Running, sweep, write_record
from .programs import MANAGER, NoControlPlane, Programs

START_PATIENCE: Final = 60.0
LOOK_EVERY: Final = 0.05
KWOK_NODES: Final = "kwok-partition=a"
#: Memory is there for a test's few objects; processors are what a test run lacks: collect garbage less often.
GO: Final = {"GOGC": "400"}


class ControlPlane:
    """One control plane. `logs` outlives it; without one, logs go with the data."""

    def __init__(self, programs: Programs, *, logs: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir())
        sweep(parent)
        self.directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self.programs = programs
        self.logs = logs or self.directory / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        for old in self.logs.glob("*.log"):
            old.unlink()
        self._layout = Layout(self.directory, Ports(*free_ports(6)))
        self._running: dict[str, Running] = {}
        self._authority = Authority()
        self._write_credentials()
        self.admin = Admin.at(HOST, self._layout.ports.apiserver, self.directory)

    @property
    def url(self) -> str:
        return self._layout.url

    @property
    def etcd_url(self) -> str:
        return self._layout.etcd_url

    @property
    def authority(self) -> bytes:
        """The CA certificate clients must trust."""
        return self._authority.certificate

    @property
    def kubeconfig(self) -> Path:
        """The administrator's: certificate of the group that may do everything."""
        return self.directory / "admin.kubeconfig"

    def start(self) -> Self:
        try:
            self._launch("etcd", components.etcd(self._layout))
            self._wait("etcd", self._etcd_healthy)
            self.start_apiserver()
            self._launch("kube-controller-manager", components.controller_manager(self._layout))
            self._launch("kube-scheduler", components.scheduler(self._layout))
            self._wait("kube-controller-manager", self._controllers_at_work)
            self._wait("kube-scheduler", lambda: self.admin.healthy("/readyz", self._layout.ports.scheduler))
        except BaseException:
            self.stop()
            raise
        return self

    def start_kwok(self, node_labels: str = KWOK_NODES) -> None:
        """Let kwok play kubelet for nodes with these labels."""
        files = self.programs.kwok_files
        kwok_stages.install_crd(self.admin, files)
        self._wait("kube-apiserver", lambda: kwok_stages.crd_served(self.admin))
        kwok_stages.install_stages(self.admin, files)
        kwok_stages.free_nodes(self.admin)
        self._launch("kwok", components.kwok(self._layout, node_labels))
        self._wait("kwok", self._kwok_healthy)
        self._wait("kwok", lambda: kwok_stages.holds_nodes(self.admin, node_labels))

    def stop_kwok(self) -> None:
        self._running.pop("kwok").stop()

    def start_cluster_api(self, programs: Programs) -> None:
        """Let Cluster API's own manager run, with its definitions, under its own role and behind its own webhooks."""
        health, webhooks = free_ports(2)
        files, where = programs.cluster_api_files, core_manager.at(webhooks, self.authority)
        core_manager.install_definitions(self.admin, files, where)
        self._wait("kube-apiserver", lambda: core_manager.served(self.admin))
        account = self.service_account("capi-system", "capi-manager", core_manager.rules(files))
        write_secret(self.directory / f"{MANAGER}.kubeconfig", json.dumps(account).encode())
        self._launch(MANAGER, components.cluster_api(self._layout, health, webhooks), programs)
        self._wait(MANAGER, lambda: _answers(f"http://{HOST}:{health}/readyz"))
        core_manager.install_webhooks(self.admin, files, where)

    def start_apiserver(self) -> None:
        self._launch("kube-apiserver", components.apiserver(self._layout))
        self._wait("kube-apiserver", self.admin.healthy)

    def stop_apiserver(self, *, kill: bool = True) -> None:
        """Take the API server away, without a word to anybody connected; asked politely, it waits for them first."""
        self.admin.close()
        self._running.pop("kube-apiserver").stop(kill=kill)

    def reissue_certificate(self) -> None:
        """Give the servers another certificate of the same authority; they notice by themselves."""
        self._authority.server().write(self.directory, "server")

    def fallen(self) -> list[str]:
        """Programs that ended by themselves; empty in a good run."""
        return [name for name, running in self._running.items() if running.ended()]

    def stop(self) -> None:
        """End everything, newest first, and remove the data."""
        self.admin.close()
        for running in reversed(list(self._running.values())):
            # The API server would wait for watches to end; nobody is left to care.
            running.stop(kill=running.name in ("kube-apiserver", "etcd"))
        self._running.clear()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def client_certificate(self, user: str, group: str = "") -> tuple[Path, Path]:
        """A certificate and key of our authority for whoever is named."""
        return self._authority.client(user, group).write(self.directory, user.replace(":", "-"))

    def service_account(self, namespace: str, name: str, rules: Rules) -> dict[str, Any]:
        """A kubeconfig for a service account that may do what `rules` say: how a controller under test goes in."""
        token = service_account_token(self.admin, namespace, name, rules)
        return kubeconfig(self.url, self.authority, {"token": token})

    def compact(self) -> int:
        """Make etcd forget all history up to now; returns the revision."""
        now = int(self._etcd("/v3/kv/range", {"key": "AA=="})["header"]["revision"])
        self._etcd("/v3/kv/compaction", {"revision": now, "physical": True})
        return now

    def _write_credentials(self) -> None:
        (self.directory / "ca.crt").write_bytes(self.authority)
        write_secret(self.directory / "tokens.key", token_signing_key())
        self.reissue_certificate()
        users = {
            "admin": ("admin", "system:masters"),
            "kwok": ("kwok", "system:masters"),
            "controller-manager": ("system:kube-controller-manager", ""),
            "scheduler": ("system:kube-scheduler", ""),
        }
        for name, (user, group) in users.items():
            pair = self._authority.client(user, group)
            pair.write(self.directory, name)
            config = kubeconfig(self.url, self.authority, user_of(pair))
            write_secret(self.directory / f"{name}.kubeconfig", json.dumps(config).encode())

    def _launch(self, name: str, arguments: list[str], programs: Programs | None = None) -> None:
        command = [str((programs or self.programs).path(name)), *arguments]
        self._running[name] = Running(name, command, self.logs / f"{name}.log", GO)
        write_record(self.directory, [running.identity for running in self._running.values()])

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + START_PATIENCE
        while not ready():
            running = self._running[name]
            if running.ended() or time.monotonic() > deadline:
                how = "ended" if running.ended() else f"was not ready after {START_PATIENCE:.0f} s"
                raise NoControlPlane(f"{name} {how}; its log {running.log} closes with:\n{running.last_words()}")
            time.sleep(LOOK_EVERY)

    def _etcd(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(self.etcd_url + path, json.dumps(body).encode())  # noqa: S310 (loopback, http)
        with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
            return dict(json.load(answer))

    def _etcd_healthy(self) -> bool:
        return _answers(f"{self.etcd_url}/health")

    def _controllers_at_work(self) -> bool:
        """It calls itself healthy before its controllers run; the account one of them makes tells the truth."""
        return self.admin.healthy("/api/v1/namespaces/default/serviceaccounts/default")

    def _kwok_healthy(self) -> bool:
        return _answers(f"http://{HOST}:{self._layout.ports.kwok}/healthz")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 (loopback, http)
            return bool(answer.status == 200)
    except OSError:
        return False
