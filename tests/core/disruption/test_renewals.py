"""Many nodes renewed in one pass: each by itself, all of them together possible."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.core.disruption.clusters import HOUR, NOW, TYPES, Member, kind, member, pods, policy, reserved, world
from tests.core.disruption.test_disruption_laws import violations

from dovetail.core import labels
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.passes import Decided, decide
from dovetail.core.pods import Affinity, PodTerm, Spread
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import Resources
from dovetail.core.selectors import Selector

DRIFTED = Condition("Drifted", Status.TRUE, "NodePoolDrifted", "NodePoolDrifted", NOW - HOUR)


def old(name: str, number: int, **more: Any) -> Member:
    zone, shape = f"z{number % 2 + 1}", more.pop("shape", {})
    app = more.pop("app", name)
    some = [pods(app, 1, **shape)[0] for _ in range(7)]
    named = [replace(one, name=f"{app}-{name}-{at}", uid=f"{name}-{at}") for at, one in enumerate(some)]
    return member(name, conditions=(DRIFTED,), pods=named, zone=zone, **more)


def fleet(count: int, **more: Any) -> list[Member]:
    return [old(f"n{number:02d}", number, **more) for number in range(count)]


def cluster(*members: Member, **more: Any) -> World:
    of = more.pop("of", {})
    return world(*members, pools=[policy(consolidate_after=None, **of)], **more)


def gone(found: Decided) -> list[str]:
    return sorted(name for one in found.commands for name in one.names)


def test_every_node_is_a_command_of_its_own_with_machines_nobody_shares() -> None:
    made = cluster(*fleet(24))
    found = decide(made)
    assert len(found.commands) == 24
    assert all(len(one.names) == 1 and len(one.replacements) == 1 for one in found.commands)
    assert violations(made, list(found.commands)) == ()


SPREAD = Spread(labels.ZONE, 1, Selector(Requirements([is_in("app", "web")])))
APART = Affinity(required=(PodTerm(labels.HOSTNAME, Selector(Requirements([is_in("app", "web")]))),))


@pytest.mark.parametrize("shape", [{"spread": (SPREAD,)}, {"spread": (Spread(labels.HOSTNAME, 7, SPREAD.selector),)}])
def test_pods_that_are_tied_together_are_renewed_at_once_where_that_holds(shape: dict[str, Any]) -> None:
    made = cluster(*fleet(12, app="web", shape=shape))
    found = decide(made)
    assert len(gone(found)) == 12
    assert violations(made, list(found.commands)) == ()


def test_pods_that_keep_apart_each_get_a_machine() -> None:
    some = [
        member(f"n{number}", conditions=(DRIFTED,), pods=pods(f"web{number}", labels=(("app", "web"),), apart=APART))
        for number in range(6)
    ]
    made = cluster(*some)
    found = decide(made)
    assert len(gone(found)) == 6
    assert violations(made, list(found.commands)) == ()


def test_a_limit_is_kept_while_many_go() -> None:
    tight = {"pool": {"limits": Resources({"cpu": 8 * 4000})}}
    made = cluster(*fleet(8), of=tight)
    found = decide(made)
    assert len(gone(found)) == 8, "those that go make room for those that come"
    assert violations(made, list(found.commands)) == ()


def test_a_reservation_is_not_promised_twice() -> None:
    types = (reserved(TYPES[1], 2), kind("m8", 8, 0.4))
    made = cluster(*fleet(6, types=types), types=types)
    found = decide(made)
    promised = [claim for one in found.commands for claim in one.replacements if claim.reservation_ids]
    assert len(promised) <= 2
    assert len(gone(found)) == 6
    assert violations(made, list(found.commands)) == ()


def test_who_finds_room_elsewhere_goes_first_and_buys_nothing() -> None:
    light = member("light", conditions=(DRIFTED,), pods=pods("small", 2))
    found = decide(cluster(*fleet(4), light, member("roomy")))
    (free,) = [one for one in found.commands if not one.replacements]
    assert free.names == ("light",)
    assert len(gone(found)) == 5


def test_a_node_that_no_empty_cluster_suits_is_renewed_beside_what_stays() -> None:
    """One of its pods wants to be beside a pod that stays, so nothing that is bought would do."""
    near = Affinity(required=(PodTerm(labels.HOSTNAME, Selector(Requirements([is_in("app", "db")]))),))
    stays = member("stays", pods=[*pods("db", 1), *pods("fill", 6)])
    tied = member("tied", conditions=(DRIFTED,), pods=[*pods("web", 1, near=near), *pods("big", 1, cpu=3500)])
    found = decide(cluster(tied, stays, *fleet(3)))
    assert "tied" in gone(found)
    assert len(gone(found)) == 4
