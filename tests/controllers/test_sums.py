"""What the nodes of a pool have together is what adding all of them up would say, whatever came and went."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.lifecycle.claims import START, amounts, claim, node

from dovetail.controllers.cluster import Cluster, Scope
from dovetail.core.instances import Instance
from dovetail.core.lifecycle.pools import Held, capacity
from dovetail.core.nodeclaims import INSTANCE_TERMINATING, LAUNCHED, NodeClaim, NodeObject
from dovetail.core.resources import NOTHING, Resources
from dovetail.kube.decoding import Stored

POOLS = ("blue", "green")
SIZES = (amounts(cpu="4", pods="10"), amounts(cpu="8", pods="20"), amounts(cpu="4", nvidia_com="0"))


class Fleet:
    """A cluster whose claims, Nodes and purchases are handed in."""

    def __init__(self) -> None:
        self.cluster = Cluster(Scope(()))
        self._version = 0

    def _stored(self, value: NodeClaim | NodeObject) -> Stored[Any]:
        self._version += 1
        return Stored(("", value.name), value.meta.uid, self._version, value)

    def claim(self, name: str, pool: str, **given: Any) -> None:
        found = claim(name, labels={"karpenter.sh/nodepool": pool}, **given)
        self.cluster.claims.put(self._stored(found))

    def node(self, name: str, **given: Any) -> None:
        self.cluster.nodes.put(self._stored(node(name, **given)))

    def bought(self, name: str, size: Resources) -> None:
        held = self.cluster.claim(name)
        if held is not None:
            self.cluster.purchases.add(held, Instance(f"kwok://{name}", capacity=size), START)

    def added_up(self, pool: str) -> Held:
        count, total = 0, NOTHING
        for one in map(self.cluster.purchases.known, self.cluster.claims_of_pool(pool)):
            if not one.is_deleting and one.provider_id and not one.is_true(INSTANCE_TERMINATING):
                there = self.cluster.nodes_of(one.provider_id)
                count, total = count + 1, total + capacity(one, there[0] if there else None)
        return Held(count, total)


_NAMES = st.sampled_from(("a", "b", "c"))
_EVENTS = st.one_of(
    st.tuples(st.just("ordered"), _NAMES, st.sampled_from(POOLS)),
    st.tuples(st.just("launched"), _NAMES, st.sampled_from(POOLS), st.sampled_from(SIZES)),
    st.tuples(st.just("terminating"), _NAMES, st.sampled_from(POOLS), st.sampled_from(SIZES)),
    st.tuples(st.just("deleting"), _NAMES, st.sampled_from(POOLS), st.sampled_from(SIZES)),
    st.tuples(st.just("bought"), _NAMES, st.sampled_from(SIZES)),
    st.tuples(st.just("forgotten"), _NAMES),
    st.tuples(st.just("joined"), _NAMES, st.sampled_from(SIZES)),
    st.tuples(st.just("left"), _NAMES),
    st.tuples(st.just("gone"), _NAMES),
    st.tuples(st.just("asked"), _NAMES),
)


def _happens(fleet: Fleet, what: str, name: str, *more: Any) -> None:
    match what:
        case "ordered":
            fleet.claim(name, more[0])
        case "launched":
            fleet.claim(name, more[0], true=(LAUNCHED,), provider_id=f"kwok://{name}", capacity=more[1])
        case "terminating":
            true = (LAUNCHED, INSTANCE_TERMINATING)
            fleet.claim(name, more[0], true=true, provider_id=f"kwok://{name}", capacity=more[1])
        case "deleting":
            given = {"provider_id": f"kwok://{name}", "capacity": more[1], "deleting": START}
            fleet.claim(name, more[0], true=(LAUNCHED,), **given)
        case "bought":
            fleet.bought(name, more[0])
        case "forgotten":
            fleet.cluster.purchases.forget(name)
        case "joined":
            fleet.node(name, capacity=more[0])
        case "left":
            fleet.cluster.nodes.remove(("", name))
        case "gone":
            fleet.cluster.claims.remove(("", name))
        case "asked":
            fleet.cluster.held("blue")


@given(st.lists(_EVENTS, max_size=25))
@settings(max_examples=300, deadline=None)
def test_what_is_kept_is_what_adding_up_would_say(events: list[tuple[Any, ...]]):
    fleet = Fleet()
    for event in events:
        _happens(fleet, *event)
    assert {pool: fleet.cluster.held(pool) for pool in POOLS} == {pool: fleet.added_up(pool) for pool in POOLS}


def test_a_machine_counts_from_the_moment_it_is_bought_and_its_node_in_its_place():
    fleet = Fleet()
    fleet.claim("a", "blue")
    assert fleet.cluster.held("blue") == Held()
    fleet.bought("a", SIZES[0])
    assert fleet.cluster.held("blue") == Held(1, SIZES[0])
    fleet.node("a", capacity=SIZES[1])
    assert fleet.cluster.held("blue") == Held(1, SIZES[1])
    fleet.cluster.claims.remove(("", "a"))
    assert fleet.cluster.held("blue") == Held()
