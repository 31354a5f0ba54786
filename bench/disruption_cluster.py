"""The disruption benchmark's cluster read into what a pass decides from.

Pools, Nodes and claims go through the readers the controller and the command line use. Pods go through the benchmark's
own, which knows what stands in these files and refuses the rest; equal pods share a shape and what they say about being
moved, as they do when a cluster is watched. Reading is not under the stopwatch: a cluster is read once, judged often.
"""

import json
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from bench.disruption_worlds import NOW, Files, files
from bench.pods_from_json import objects, shape_of
from dovetail.api.disruption import machines, pools
from dovetail.api.disruption.machines import FileReader
from dovetail.api.fields import fields
from dovetail.clouds.kwok.types_file import parse_types_file
from dovetail.clouds.listed import ListedMarket
from dovetail.core import timestamps
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.listing import Listing
from dovetail.core.disruption.facts import FOREVER, PodBudget, PodFacts, World
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.nodeclaims import NodeClaim, NodeObject
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod, PodState, Shape
from dovetail.core.scheduling.problem import Options, Problem
from dovetail.core.snapshot import Snapshot

Json = dict[str, Any]
_HELD: Final = "karpenter.sh/do-not-disrupt"


def read(nodes: int) -> World:
    """The world of a cluster of so many nodes."""
    return read_files(files(nodes))


def read_files(given: Files) -> World:
    listing = parse_types_file(given.types.read_bytes(), given.types.name)
    reading = _Reading()
    for one in objects(given.cluster):
        reading.take(one)
    return reading.world(listing)


class _Reading:
    def __init__(self) -> None:
        self._reader = FileReader()
        self._policies: dict[str, PoolPolicy] = {}
        self._claims: list[NodeClaim] = []
        self._nodes: list[NodeObject] = []
        self._pods: list[Pod] = []
        self._facts: dict[str, PodFacts] = {}
        self._budgets: dict[tuple[str, str], PodBudget] = {}
        self._shapes: dict[str, Shape] = {}
        self._known: dict[PodFacts, PodFacts] = {}

    def take(self, wire: Json) -> None:
        match wire["kind"]:
            case "NodePool":
                found = pools.read(fields(wire))
                assert not found.problems, found.sentence
                self._policies[found.policy.name] = found.policy
            case "Node":
                self._nodes.append(self._reader.node(fields(wire)))
            case "NodeClaim":
                self._claims.append(self._reader.claim(fields(wire)))
            case "PodDisruptionBudget":
                about, app = wire["metadata"], wire["spec"]["selector"]["matchLabels"]["app"]
                left = wire["status"]["disruptionsAllowed"]
                self._budgets[about["namespace"], app] = PodBudget(about["name"], left)
            case "Pod":
                self._pod(wire)
            case other:
                raise ValueError(f"the benchmark's reader does not know {other}")

    def _pod(self, wire: Json) -> None:
        """Budgets stand before pods in the file."""
        about, spec = wire["metadata"], wire["spec"]
        node = spec.pop("nodeName")
        written = json.dumps((about["namespace"], about["labels"], spec), sort_keys=True)
        shape = self._shapes.get(written)
        if shape is None:
            shape = self._shapes[written] = shape_of(about, spec)
        (owner,) = about["ownerReferences"]
        pod = Pod(about["name"], shape, about["uid"], node=node, state=PodState.BOUND, owner=owner["kind"])
        self._pods.append(pod)
        budget = self._budgets.get((about["namespace"], about["labels"]["app"]))
        said = PodFacts(
            held_until=FOREVER if _HELD in about.get("annotations", ()) else None,
            budgets=(budget,) if budget else (),
            owner=f"{owner['kind']}/{owner['name']}",
        )
        self._facts[pod.key] = self._known.setdefault(said, said)

    def world(self, listing: Listing) -> World:
        market = CatalogCache(ListedMarket(listing))
        catalogs = {name: market.catalog(one.pool, 0.0) for name, one in self._policies.items()}
        snapshot = Snapshot(
            tuple(_node(one) for one in self._nodes),
            tuple(self._pods),
            tuple(one.pool for one in self._policies.values()),
        )
        options = Options(well_known=listing.dialect.well_known)
        return World(
            Problem(snapshot, catalogs, options),
            machines.machines(self._claims, self._nodes),
            self._policies,
            timestamps.seconds(NOW),
            MappingProxyType(self._facts),
        )


def _node(one: NodeObject) -> Node:
    pool = one.meta.labels["karpenter.sh/nodepool"]
    return Node(one.name, one.meta.labels, capacity=one.capacity, allocatable=one.allocatable, pool=pool)


def one_pod_gone(world: World, turn: int = 0) -> World:
    """The same cluster a moment later, after one pod ended: what a watch brings most often. Each turn it is another."""
    snapshot = world.problem.snapshot
    gone = (turn + 1) * 7919 % len(snapshot.pods)
    left = (*snapshot.pods[:gone], *snapshot.pods[gone + 1 :])
    return replace(world, problem=replace(world.problem, snapshot=replace(snapshot, pods=left)), now=world.now + 1.0)
