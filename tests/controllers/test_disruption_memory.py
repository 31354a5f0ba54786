"""The loop remembers what was given up and had to be bought again."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tests.core.disruption.clusters import NOW, decided, member, pods, policy, world

from dovetail.controllers.disruption.memory import Memory
from dovetail.controllers.disruption.ordering import REPLACES
from dovetail.core.disruption.facts import Machine

POOLS = {"pool": policy()}


def machine(name: str, replaces: str = "") -> Machine:
    one = member(name).machine
    assert one.claim is not None
    said = MappingProxyType({REPLACES: replaces} if replaces else {})
    return replace(one, claim=replace(one.claim, meta=replace(one.claim.meta, annotations=said)))


def after_a_move() -> Memory:
    """A node was given up to save money, and one is there at the first look."""
    memory = Memory()
    node = member("a", "m8", pods=pods("web", 3))
    (command,) = decided(node).commands
    memory.started(command, world(node))
    memory.counted([machine("b")], POOLS, NOW)
    return memory


def test_what_was_there_before_says_nothing() -> None:
    assert after_a_move().regrets.bought == {}


def test_a_machine_for_pods_that_waited_is_a_regret_once() -> None:
    memory = after_a_move()
    seen = [machine("b"), machine("c")]
    assert memory.counted(seen, POOLS, NOW + 60).bought == {"pool": (NOW + 60,)}
    assert memory.counted(seen, POOLS, NOW + 70).bought == {"pool": (NOW + 60,)}


def test_a_replacement_is_none() -> None:
    assert after_a_move().counted([machine("b"), machine("c", "a")], POOLS, NOW + 60).bought == {}


def test_one_of_a_pool_that_is_gone_is_none() -> None:
    assert after_a_move().counted([machine("b"), machine("c")], {}, NOW + 60).bought == {}
