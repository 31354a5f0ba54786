"""An EC2NodeClass as a user writes it, and a resolver against the test server."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.clouds.aws.orders import CLASS
from tests.clouds.aws.shop import CLUSTER
from tools.aws_server import Account, AwsServer

from dovetail.api.live.meta import condition_body
from dovetail.clouds.aws.access import Access, Counts, Pace
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.nodeclass import Kit, Resolver
from dovetail.clouds.aws.reservation_counts import Counts as Left
from dovetail.clouds.aws.templates import Templates
from dovetail.clouds.port import ClassReport
from dovetail.core.conditions import Condition, found
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef

DISCOVERY = {"tags": {"karpenter.sh/discovery": CLUSTER}}
HOME = Home(CLUSTER, "https://example.test", "Q0E=", "10.100.0.0/16", "10.100.0.10")
Object = dict[str, Any]


def node_class(account: Account | None = None, name: str = "default", **spec: Any) -> Object:
    """A class in the peer's own words; a part that is None is left out."""
    told: Object = {
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [DISCOVERY],
        "securityGroupSelectorTerms": [DISCOVERY],
        "role": account.role if account else "nodes",
        **spec,
    }
    about = {"name": name, "uid": f"uid-{name}", "generation": 1, "creationTimestamp": "2026-11-01T00:00:00Z"}
    return {"metadata": about, "spec": {key: value for key, value in told.items() if value is not None}}


@dataclass
class Desk:
    """A resolver, and the objects it reports on as the API server would have them afterwards."""

    resolver: Resolver
    counts: Counts
    left: Left
    templates: Templates
    aws: Aws
    server: AwsServer
    objects: dict[str, Object] = field(default_factory=dict)

    async def look(self, wire: Object | None = None, claims: Sequence[NodeClaim] = (), name: str = "") -> ClassReport:
        """Resolve a new version of a class, or the last one again, and write down what was found."""
        if wire is not None:
            name = wire["metadata"]["name"]
            known = self.objects.get(name)
            self.objects[name] = copy.deepcopy(wire)
            if known is not None:
                self.objects[name]["status"] = known.get("status", {})
                self.objects[name]["metadata"]["generation"] = known["metadata"]["generation"] + 1
        held = self.objects[name or CLASS.name]
        report = await self.resolver.resolve(self.ref(held["metadata"]["name"]), held, claims)
        conditions = [condition_body(one) for one in report.conditions]
        held["status"] = {**held.get("status", {}), **report.status, "conditions": conditions}
        return report

    async def later(self, seconds: float, name: str = "") -> ClassReport:
        self.server.world.forward(seconds)
        return await self.look(name=name)

    @staticmethod
    def ref(name: str = CLASS.name) -> NodeClassRef:
        return NodeClassRef(CLASS.group, CLASS.kind, name)


def sat(server: AwsServer, scenario: Callable[[Desk], Awaitable[None]], home: Home = HOME, **kit: Any) -> Desk:
    """Run a scenario at a desk of its own."""
    desks: list[Desk] = []

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async def whole() -> None:
        counts, left = Counts(), Left()

        def now() -> float:
            return server.world.now

        region = kit.pop("region", "us-east-1")
        async with Aws(Access(region, server.url, attempts=2), counts, Pace(sleep=at_once)) as aws:
            templates = Templates(aws, CLUSTER, now=now)
            told: Mapping[str, Any] = {"kubernetes": lambda: "1.35", **kit}
            resolver = Resolver(Kit(aws=aws, templates=templates, home=home, counts=left, now=now, **told))
            desks.append(Desk(resolver, counts, left, templates, aws, server))
            await scenario(desks[0])

    asyncio.run(whole())
    return desks[0]


def said(report: ClassReport, type_: str) -> Condition:
    one = found(report.conditions, type_)
    assert one is not None
    return one


def is_ready(report: ClassReport) -> bool:
    return said(report, "Ready").status == "True"


def assert_a_sentence(one: Condition) -> None:
    """What a person can act on: it names something, and it is no bare code."""
    assert one.reason.isalnum(), one
    assert len(one.message.split()) > 4, one
    assert "Traceback" not in one.message
    assert "None" not in one.message
