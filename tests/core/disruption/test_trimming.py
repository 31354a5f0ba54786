"""Which nodes a static pool gives up when it has too many."""

from dataclasses import replace
from math import inf

from tests.core.disruption.clusters import HOUR, NOW, Member, member, pods, policy, world

from dovetail.core.disruption.facts import PodFacts
from dovetail.core.disruption.trimming import excess
from dovetail.core.pods import PodState


def trimmed(*members: Member, replicas: int) -> list[str]:
    pool = policy(pool={"replicas": replicas})
    return [one.name for one in excess(world(*members, pools=[pool]), "pool")]


def unlaunched(name: str) -> Member:
    one = member(name, true=())
    assert one.machine.claim is not None
    return one.but(claim=replace(one.machine.claim, provider_id=""), node=None)


def test_claims_without_a_machine_go_before_empty_nodes_and_those_before_others() -> None:
    nodes = (member("a", pods=pods("web")), member("b", pods=pods("agent", owner="DaemonSet")), unlaunched("c"))
    assert trimmed(*nodes, replicas=0) == ["c", "b", "a"]


def test_nothing_goes_where_there_is_nothing_too_much() -> None:
    assert trimmed(member("a"), replicas=1) == []
    assert excess(world(member("a")), "pool") == ()


def test_pods_that_ask_to_be_left_alone_are_spared_while_there_are_others() -> None:
    held = member("a", pods=pods("db"), facts=PodFacts(held_until=inf))
    assert trimmed(held, member("b", pods=pods("web", 5)), replicas=1) == ["b"]


def test_a_node_near_its_end_goes_before_a_young_one_with_the_same_pods() -> None:
    young = member("a", pods=pods("web", 2), created=NOW - HOUR, expire_after=10 * HOUR)
    old = member("b", pods=pods("api", 2), created=NOW - 9 * HOUR, expire_after=10 * HOUR)
    assert trimmed(young, old, replicas=1) == ["b"]


def test_a_pod_that_waits_or_goes_anyway_makes_no_node_worth_keeping() -> None:
    going = [replace(pod, node="b", state=PodState.GOING) for pod in pods("job", 9)]
    made = world(
        member("a", pods=pods("web")),
        member("b"),
        pools=[policy(pool={"replicas": 1})],
        waiting=[*pods("new", 9), *going],
    )
    assert [one.name for one in excess(made, "pool")] == ["b"]
