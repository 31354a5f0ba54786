"""§2.9, §3.12: static pools kept at their number, and claims that get the hash of their pool."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tests.core.lifecycle.claims import CLASS, claim, meta

from dovetail.api import kinds
from dovetail.api.fields import Fields, fields
from dovetail.controllers.cluster import Scope
from dovetail.controllers.pools import Pools
from dovetail.controllers.static import Static
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Delete, Say, Step
from dovetail.core.lifecycle import hashes
from dovetail.core.lifecycle.hashes import Template
from dovetail.core.lifecycle.pools import NOTHING_HELD, PoolRecord
from dovetail.core.nodeclaims import DRIFTED, LAUNCHED, POOL_HASH, POOL_HASH_VERSION, NodeClaim
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.kube.errors import NotFound

ANOTHERS = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def pool(replicas: int, ready: bool = True, of: NodeClassRef = CLASS) -> PoolRecord:
    return PoolRecord(meta("general"), NodePool("general", of, replicas=replicas, ready=ready), Template(of))


class Hands:
    def __init__(self) -> None:
        self.deleted, self.created = list[str](), 0

    async def perform(self, step: Step) -> None:
        self.deleted += [one.ref.name for one in step.effects if isinstance(one, Delete)]

    async def create(self, effect: object) -> dict[str, Any]:
        self.created += 1
        return {}


def kept(record: PoolRecord, *claims: NodeClaim) -> Hands:
    hands = Hands()
    cluster: Any = SimpleNamespace(
        pool=lambda name: record,
        claims_of_pool=lambda name: claims,
        is_ours=lambda ref: ref == CLASS,
        nodes_of=lambda provider: (),
        learn_claim=lambda answer, new: None,
        scope=Scope(()),
    )
    pods: Any = SimpleNamespace(on=lambda node: (), eviction_cost=lambda node: 0.0)
    hired: Any = hands
    loop = Static(cluster, hired, pods, lambda name, failed: None, lambda: 0.0)
    asyncio.run(loop._one("general"))
    return hands


def test_a_static_pool_that_is_not_ready_still_gives_up_what_is_too_much():
    two = (claim("a", true=(LAUNCHED,)), claim("b", true=(LAUNCHED,)))
    assert kept(pool(1, ready=False), *two).deleted == ["a"]
    assert kept(pool(3, ready=False), *two).created == 0
    assert kept(pool(3), *two).created == 1


def test_another_providers_static_pool_is_left_to_it():
    assert kept(pool(3, of=ANOTHERS)).created == 0


# ---- its node class


class Books:
    """A client that takes whatever is written."""

    async def patch(self, *given: object, **more: object) -> None:
        return


def looked_at(record: PoolRecord, **classes: Fields) -> tuple[list[Say], float | None]:
    store = {name: SimpleNamespace(value=held) for name, held in classes.items()}
    cluster: Any = SimpleNamespace(
        pool=lambda name: record,
        is_ours=lambda ref: True,
        held=lambda name: NOTHING_HELD,
        claims_of_pool=lambda name: (),
        classes={kinds.KWOK_NODE_CLASSES: store},
    )
    said: list[Say] = []
    nothing: Any = None
    books: Any = Books()
    loop = Pools(cluster, nothing, books, lambda: None, lambda name, failed: None, lambda: 0.0, said.append)
    return said, asyncio.run(loop._one("general"))


def test_a_pool_whose_node_class_is_not_there_says_so_again_and_again():
    (told,), again = looked_at(pool(1))
    assert (told.about.kind, told.about.name, told.reason) == ("NodePool", "general", "NodeClassResolutionError")
    assert told.message.startswith(f"Failed resolving NodeClass: there is no {CLASS.kind} {CLASS.name}; create it")
    assert again is not None
    assert looked_at(pool(1), **{CLASS.name: fields({"metadata": {"generation": 1}})}) == ([], None)


# ---- the hash


class Server:
    def __init__(self, gone: str = "") -> None:
        self.gone, self.told = gone, dict[str, dict[str, str]]()

    async def patch(self, kind: object, name: str, patch: Any, **given: object) -> None:
        if name == self.gone:
            raise NotFound("gone")
        self.told[name] = dict(patch.body["metadata"]["annotations"])


def hashed(record: PoolRecord, *claims: NodeClaim, gone: str = "") -> dict[str, dict[str, str]]:
    server: Any = Server(gone)
    cluster: Any = SimpleNamespace(claims_of_pool=lambda name: claims)
    snapshots: Any = None
    loop = Pools(cluster, snapshots, server, lambda: None, lambda name, failed: None)
    asyncio.run(loop._hashed(record))
    return dict(server.told)


def test_claims_of_a_pool_without_a_hash_get_one_unless_they_drifted_or_have_it():
    drifted = claim("drifted")
    drifted = replace(drifted, conditions=(*drifted.conditions, Condition(DRIFTED, Status.TRUE)))
    known = claim("known", annotations={POOL_HASH: "1", POOL_HASH_VERSION: hashes.VERSION})
    told = hashed(pool(1), claim("gone"), claim("plain"), drifted, known, gone="gone")
    number = hashes.pool_hash(Template(CLASS))
    both = {POOL_HASH: number, POOL_HASH_VERSION: hashes.VERSION}
    assert told == {"plain": both, "drifted": {POOL_HASH_VERSION: hashes.VERSION}, "general": both}
