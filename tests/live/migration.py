"""A cluster that changes hands, and back again, by the commands of the how-to page and nothing else.

The page says `kubectl scale deployment …`, so somebody has to play kubelet for the two controllers: a Deployment that
wants replicas has one process here, with the settings that stand in its container, under the account and the rights
that its own installation gives it. All that happens to NodeClaims, Nodes and NodePools is written down as it happens,
and whole pictures are taken at every stage; tests read those afterwards, in any order.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tools.control_plane import karpenter_chart
from tools.control_plane.access import Refused, kubeconfig
from tools.control_plane.certificates import write_secret
from tools.control_plane.ports import free_ports
from tools.control_plane.processes import Running
from tools.control_plane.programs import PEER, Programs
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.kinds import Kind

Object = dict[str, Any]
ROOT: Final = Path(__file__).resolve().parents[2]
PAGE: Final = ROOT / "docs" / "howto" / "replace-karpenter.md"
WORLD: Final = ROOT / "scenarios" / "migration"
NAMESPACE: Final = "karpenter"
CONTEXT: Final = "prod"
KARPENTER: Final = "karpenter"
DOVETAIL: Final = "dovetail"
#: What is watched from the first moment to the last.
WATCHED: Final = (kinds.NODE_CLAIMS, kinds.NODES, kinds.NODE_POOLS)
PICTURED: Final = (*WATCHED, kinds.KWOK_NODE_CLASSES, kinds.PODS)
# How long anything may take on a machine that does much else; what is true is seen at once.
PATIENCE: Final = 330.0
LOOK_EVERY: Final = 0.25
MOST_STARTS: Final = 20
#: Seconds of one watch.
TURN: Final = 5


def name_of(one: Object) -> str:
    return str(one["metadata"]["name"])


# ---- the page


def commands(section: str) -> list[str]:
    """What a section of the page says to type, in order."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"the page has no section {section!r}"
    return _typed(found[1])


def every_command() -> list[str]:
    return _typed(PAGE.read_text(encoding="utf-8"))


def _typed(text: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    whole = "\n".join(blocks).replace("\\\n", " ")
    return [re.sub(r"\s+#.*$", "", line[2:]).strip() for line in whole.splitlines() if line.startswith("$ ")]


# ---- who runs


@dataclass
class Follower:
    """One process while a Deployment of this name wants replicas, with the settings it has there. One that ended is
    started again, as a kubelet would: Karpenter ends when a busy machine keeps it from renewing its lease in time."""

    name: str
    command: list[str]
    log: Path
    kubeconfig: Callable[[], Path]
    ports: tuple[int, int] = (0, 0)
    running: Running | None = None
    starts: int = 0
    _told: dict[str, str] | None = None

    def follow(self, deployment: Object | None) -> None:
        told = _settings(deployment) if deployment and deployment["spec"]["replicas"] else None
        if told != self._told:
            self._told = told
            self.stop()
            if told is not None:
                self._start(told)

    def keep_up(self) -> None:
        if self.running is not None and self.running.ended() and self._told is not None:
            assert self.starts < MOST_STARTS, f"{self.name} does not stay up: {self.running.last_words()}"
            self._start(self._told)

    def _start(self, told: dict[str, str]) -> None:
        metrics, health = free_ports(2)
        self.ports = (metrics, health)
        self.starts += 1
        place = {"SYSTEM_NAMESPACE": NAMESPACE, "LEADER_ELECTION_NAMESPACE": NAMESPACE}
        ports = {"METRICS_PORT": str(metrics), "HEALTH_PROBE_PORT": str(health)}
        self.running = Running(
            self.name, self.command, self.log, {**told, **place, **ports, "KUBECONFIG": str(self.kubeconfig())}
        )

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop(patience=30)
            self.running = None

    def page(self) -> str:
        """Its metrics."""
        return asked(self.ports[0], "/metrics")

    @property
    def ready(self) -> bool:
        return self.running is not None and asked(self.ports[1], "/readyz") != ""


def asked(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return str(answer.read().decode())
    except (urllib.error.URLError, OSError):
        return ""


def _settings(deployment: Object) -> dict[str, str]:
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one["value"] for one in container.get("env", ()) if "value" in one}


# ---- what is seen


@dataclass(frozen=True, slots=True)
class Picture:
    """The cluster at one moment."""

    stage: str
    objects: dict[str, list[Object]]
    leader: str
    metrics: str

    def of(self, kind: Kind) -> dict[str, Object]:
        return {name_of(one): one for one in self.objects[kind.plural]}

    @property
    def claims(self) -> dict[str, Object]:
        return self.of(kinds.NODE_CLAIMS)

    @property
    def nodes(self) -> dict[str, Object]:
        """Those that somebody bought."""
        return {name: one for name, one in self.of(kinds.NODES).items() if "providerID" in one["spec"]}

    @property
    def pools(self) -> dict[str, Object]:
        return self.of(kinds.NODE_POOLS)

    def homes(self, app: str) -> set[str]:
        """The nodes on which pods of a Deployment run."""
        pods = [one for one in self.objects["pods"] if one["metadata"].get("labels", {}).get("app") == app]
        return {one["spec"]["nodeName"] for one in pods if one["spec"].get("nodeName")}


@dataclass
class Record:
    """Every version of what is watched, from its first to its last."""

    plane: ControlPlane
    seen: list[tuple[str, str, Object]] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        self._threads = [threading.Thread(target=self._watch, args=(kind,), daemon=True) for kind in WATCHED]
        for one in self._threads:
            one.start()

    def end(self) -> None:
        self._over.set()
        for one in self._threads:
            one.join()

    def _watch(self, kind: Kind) -> None:
        """A watch ends by itself every few seconds; the next goes on where it was. When a definition is changed the
        server knows no history for a moment: then the next begins with everything as it is."""
        seen = "0"
        while not self._over.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                for event in self._events(f"{kind.path()}?watch=true&resourceVersion={seen}&timeoutSeconds={TURN}"):
                    if event.get("type") not in ("ADDED", "MODIFIED", "DELETED"):
                        seen = "0"
                        break
                    seen = event["object"]["metadata"]["resourceVersion"]
                    self.seen.append((kind.plural, event["type"], event["object"]))
            self._over.wait(LOOK_EVERY)

    def _events(self, path: str) -> Iterator[Object]:
        admin = self.plane.admin
        connection = http.client.HTTPSConnection(admin.host, admin.port, context=admin.tls, timeout=4 * TURN)
        try:
            connection.request("GET", path)
            for line in connection.getresponse():
                yield json.loads(line)
        finally:
            connection.close()

    def of(self, kind: Kind) -> list[Object]:
        return [one for plural, _, one in self.seen if plural == kind.plural]

    def gone(self, kind: Kind) -> set[str]:
        return {name_of(one) for plural, how, one in self.seen if (plural, how) == (kind.plural, "DELETED")}


@dataclass
class Stage:
    """A control plane with two controllers that may run on it, and somebody who types what the page says."""

    plane: ControlPlane
    peer: Programs
    directory: Path
    record: Record = field(init=False)
    followers: dict[str, Follower] = field(default_factory=dict)
    pictures: dict[str, Picture] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    said: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.record = Record(self.plane)
        ours = [sys.executable, "-m", "dovetail.main", "run", "--cloud", "kwok", "--kubelets", "external"]
        for name, command in ((KARPENTER, [str(self.peer.path(PEER))]), (DOVETAIL, ours)):
            log = self.directory / f"{name}.log"
            self.followers[name] = Follower(name, command, log, lambda name=name: self._account(name))

    # ---- what is there before

    def furnish(self) -> None:
        """Karpenter's definitions and its account with the rights its chart gives it; kubelets; and the world."""
        files = self.peer.karpenter_files
        karpenter_chart.install_definitions(self.plane.admin, files)
        self.plane.start_kwok()
        self.plane.service_account(NAMESPACE, KARPENTER, karpenter_chart.rules(files))
        self.until(lambda: [self.all(one) for one in (*WATCHED, kinds.KWOK_NODE_CLASSES)])
        self.record.begin()
        self.kubectl(f"apply -f {WORLD}/karpenter.yaml -f {WORLD}/cluster.yaml")

    def _account(self, name: str) -> Path:
        path = f"{kinds.SERVICE_ACCOUNTS.path(name, NAMESPACE)}/token"
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 7200}}
        token = self.plane.admin.request("POST", path, wanted)["status"]["token"]
        file = self.directory / f"{name}.kubeconfig"
        write_secret(file, json.dumps(kubeconfig(self.plane.url, self.plane.authority, {"token": token})).encode())
        return file

    # ---- somebody types

    def typed(self, section: str) -> None:
        """Every command of a section, one after the other; what runs on and on is left to `trying`. The processes of
        the Deployments follow."""
        for command in commands(section):
            if not command.startswith("dovetail run"):
                self.type(command)
        self.follow()

    def type(self, command: str) -> None:
        """One command, in a shell."""
        words = ["bash", "-o", "pipefail", "-c", command]
        ran = subprocess.run(words, cwd=ROOT, env=self.environment, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        self.ran.append(command)
        self.said[command] = ran.stdout

    def kubectl(self, words: str) -> None:
        """Somebody else's command: part of the world, not of the page."""
        ran = subprocess.run(
            ["kubectl", *shlex.split(words)],
            cwd=ROOT,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, f"kubectl {words}: {ran.stderr}"

    @contextlib.contextmanager
    def trying(self, command: str) -> Iterator[int]:
        """A command that runs until it is told to end; gives the port of its metrics."""
        metrics, health = free_ports(2)
        settings = {**self.environment, "METRICS_PORT": str(metrics), "HEALTH_PROBE_PORT": str(health)}
        with (self.directory / "trying.log").open("ab") as out:
            process = subprocess.Popen(shlex.split(command), cwd=ROOT, env=settings, stdout=out, stderr=out)
        try:
            yield metrics
        finally:
            process.send_signal(signal.SIGINT)
            code = process.wait(timeout=60)
        assert code == 0, f"{command} ended with {code}"
        self.ran.append(command)

    @property
    def environment(self) -> dict[str, str]:
        places = (str(Path(sys.executable).parent), str(self.plane.programs.directory), os.environ.get("PATH", ""))
        return {**os.environ, "PATH": os.pathsep.join(places), "KUBECONFIG": str(self._administrator())}

    def _administrator(self) -> Path:
        """Under the name of context that the page uses."""
        file = self.directory / "admin.kubeconfig"
        if not file.exists():
            text = json.loads(self.plane.kubeconfig.read_text())
            text["contexts"][0]["name"] = text["current-context"] = CONTEXT
            write_secret(file, json.dumps(text).encode())
        return file

    def follow(self) -> None:
        there = {name_of(one): one for one in self.all(kinds.DEPLOYMENTS) if one["metadata"]["namespace"] == NAMESPACE}
        for name, one in self.followers.items():
            one.follow(there.get(name))

    # ---- what is seen

    def until(self, true: Callable[[], object], seconds: float = PATIENCE) -> None:
        deadline = time.monotonic() + seconds
        while not self._looked(true):
            for one in self.followers.values():
                one.keep_up()
            assert time.monotonic() < deadline, f"not within {seconds} s\n{self._last()}"
            time.sleep(LOOK_EVERY)

    def _looked(self, true: Callable[[], object]) -> object:
        try:
            return true()
        except (OSError, Refused, http.client.HTTPException):
            return False

    def _last(self) -> str:
        logs = [one.log for one in self.followers.values() if one.log.exists()]
        tails = ["\n".join(log.read_text().splitlines()[-10:]) for log in logs]
        waiting = [name_of(one) for one in self.all(kinds.PODS) if not one["spec"].get("nodeName")]
        return "\n\n".join((*tails, f"pods without a node: {waiting}"))

    def all(self, kind: Kind, query: str = "") -> list[Object]:
        return list(self.plane.admin.request("GET", f"{kind.path()}{query}")["items"])

    def holder(self) -> str:
        try:
            lease = self.plane.admin.request("GET", kinds.LEASES.path("karpenter-leader-election", NAMESPACE))
        except Refused:
            return ""
        return str(lease["spec"].get("holderIdentity") or "")

    def leads(self, who: str) -> bool:
        """Whose lease it is: dovetail says in its log by which name it leads."""
        holder = self.holder()
        ours = self.followers[DOVETAIL].log
        by_us = ours.exists() and f"{holder} leads" in ours.read_text()
        return bool(holder) and by_us == (who == DOVETAIL)

    def running(self, app: str) -> list[Object]:
        found = self.all(kinds.PODS, f"?labelSelector=app%3D{app}")
        return [one for one in found if one["status"].get("phase") == "Running"]

    def picture(self, stage: str) -> Picture:
        found = {kind.plural: self.all(kind) for kind in PICTURED}
        pages = {name: one.page() for name, one in self.followers.items() if one.running is not None}
        leader = next((one for one in self.followers if self.leads(one)), "")
        made = Picture(stage, found, leader, "".join(pages.values()))
        self.pictures[stage] = made
        return made

    def stop(self) -> None:
        for one in self.followers.values():
            one.stop()
        self.record.end()
