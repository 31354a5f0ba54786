"""A whole cluster whose NodePools draw on Machines of Cluster API: the controller under test makes Machines, and our
loops of Machines give them simulated instances, which become Nodes."""

from __future__ import annotations

import asyncio
import base64
import copy
from functools import cache
from typing import Any

from tests.listings import load_once
from tests.live import objects
from tests.live.live import SOON, Live, here, is_true, solve_here

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.clouds.cluster_api.cloud import ClusterApiCloud, Habits
from dovetail.clouds.cluster_api.market import BOOTS_FROM, TemplateMarket
from dovetail.clouds.sim.machines import SimMachines
from dovetail.controllers import declared
from dovetail.controllers.cluster_api.loops import MachineController
from dovetail.controllers.controller import Choices, Controller
from dovetail.controllers.machine_api import ClaimMachines
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.telling import Telling
from dovetail.core import labels, timestamps
from dovetail.core.machines.infra_objects import State
from dovetail.core.scheduling.problem import Options
from dovetail.kube.client import Client
from dovetail.kube.events import Recorder
from dovetail.kube.watch import Options as WatchOptions

Object = dict[str, Any]
GROUP = kinds.AWS_TEMPLATES.group
ROOM = {"cpu": "4", "memory": "15Gi", "pods": "58", "ephemeral-storage": "20Gi"}


@cache
def _manifests() -> tuple[Object, ...]:
    return tuple(one.manifest() for one in every.CLUSTER_API)


def drawing(name: str, template: str, **spec: Any) -> Object:
    """A pool that draws on a template."""
    ref = {"group": GROUP, "kind": kinds.AWS_TEMPLATES.name, "name": template}
    return objects.pool(name, nodeClassRef=ref, **spec)


class LiveBridge(Live):
    provider = "cluster-api"

    def __init__(self, choices: Choices | None = None, pool: Object | None = None) -> None:
        known = labels.WELL_KNOWN | load_once("aws", "us-east-1").dialect.well_known
        usual = Choices(window=SOON, options=Options(well_known=known))
        super().__init__(choices or usual, pool=drawing("general", "steady") if pool is None else pool)
        self.instances = SimMachines("aws", self.world.now)
        self.problems: list[str] = []
        self.join = True
        self._others: list[asyncio.Task[None]] = []

    def furnish(self) -> None:
        for manifest in _manifests():
            self.put(kinds.CRDS, copy.deepcopy(manifest))
        ref = {"apiGroup": GROUP, "kind": kinds.AWS_CLUSTERS.name, "name": "c"}
        self.made(kinds.AWS_CLUSTERS, "c", {"region": "us-east-1"})
        self.made(kinds.CLUSTERS, "c", {"infrastructureRef": ref})
        now = timestamps.text(self.world.now())
        up = [
            {"type": one, "status": "True", "reason": one, "message": "", "lastTransitionTime": now}
            for one in ("InfrastructureReady", "ControlPlaneInitialized")
        ]
        zones = [{"name": "us-east-1a", "controlPlane": True}, {"name": "us-east-1b", "controlPlane": True}]
        self.edit(kinds.CLUSTERS, "c", {"status": {"conditions": up, "failureDomains": zones}}, subresource="status")
        secret = {"value": base64.b64encode(b"#cloud-config\n").decode()}
        self.put(kinds.SECRETS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "boot"}, "data": secret})
        self.template("steady")
        self.template("thrifty", spotMarketOptions={})

    def made(self, kind: kinds.Kind, name: str, spec: Object, **about: Any) -> None:
        self.put(
            kind,
            {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name, **about}} | {"spec": spec},
        )

    def template(self, name: str, **spec: Any) -> None:
        wanted = {"template": {"spec": {"instanceType": "m5.xlarge", **spec}}}
        self.made(kinds.AWS_TEMPLATES, name, wanted, annotations={BOOTS_FROM: "boot"})

    def build(self, client: Client | None = None, **changed: Any) -> Controller:
        mine, clock = client or self.client, self.world.clock()
        self.bridge = ClusterApiCloud(
            TemplateMarket(load_once), ClaimMachines(mine), Habits(), templates=(kinds.AWS_TEMPLATES,)
        )
        self.metrics = declared.declare(Metrics())
        telling = Telling(Recorder(mine, "test", clock=clock), self.metrics)
        return Controller(mine, self.bridge, telling, solve_here, self.choices, clock, here, **changed)

    async def acting(self, controller: Controller) -> None:
        await self.bridge.look()
        await controller.run()

    async def start(self) -> None:
        if not self._others:
            self._others = [
                asyncio.create_task(self._loops().run(), name="machines"),
                asyncio.create_task(self._joining(), name="kubelets"),
            ]
            self._opened.push_async_callback(self._ended)
        await super().start()

    async def _ended(self) -> None:
        for one in self._others:
            one.cancel()
        await asyncio.gather(*self._others, return_exceptions=True)
        assert not self.problems, self.problems

    def _loops(self) -> MachineController:
        return MachineController(
            self.client,
            {"aws": self.instances},
            (kinds.AWS_MACHINES,),
            core=True,
            failed=lambda key, problem: self.problems.append(f"{key}: {problem!r}"),
            now=self.world.now,
            options=WatchOptions(clock=self.world.clock()),
        )

    async def _joining(self) -> None:
        """Instances that run become Nodes; those that do not any more fall silent."""
        while True:
            await asyncio.sleep(1.0)
            known = {one["spec"].get("providerID") for one in self.nodes()}
            there = {one.provider_id for one in self.instances.running}
            for node in self.nodes():
                if node["spec"].get("providerID") not in there and is_true(node, "Ready"):
                    now = timestamps.text(self.world.now())
                    lost = {"type": "Ready", "status": "Unknown", "reason": "Told", "lastTransitionTime": now}
                    told = {"status": {"conditions": [lost]}}
                    self.edit(kinds.NODES, node["metadata"]["name"], told, subresource="status")
            for one in self.instances.running:
                if self.join and one.state is State.RUNNING and one.provider_id not in known:
                    self.put(kinds.NODES, self._node(one.name, one.provider_id))

    def _node(self, name: str, provider_id: str) -> Object:
        ready = {"type": "Ready", "status": "True", "reason": "Told"}
        ready |= {"lastTransitionTime": timestamps.text(self.world.now())}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{name}", "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"providerID": provider_id},
            "status": {"capacity": ROOM, "allocatable": ROOM, "conditions": [ready]},
        }

    def machine(self) -> Object:
        (one,) = self.all(kinds.MACHINES)
        return one
