"""Nodes that fell back on on-demand capacity return to spot, when the market is to be trusted and a part at a time."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tests.core.disruption.clusters import NOW, Member, decided, kind, member, pods, policy, said, world

from dovetail.core import labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, OfferingKey, instance_type, unavailable
from dovetail.core.disruption import passes, returning, spot_market
from dovetail.core.disruption.facts import World
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.disruption.refusals import Code
from dovetail.core.disruption.spot_market import NO_MARKET, STEADY_SECONDS, Batch, Market
from dovetail.core.requirements import Requirements, is_in

TYPES = (kind("m4", 4, 0.2, spot=0.06),)
BOTH = is_in(labels.CAPACITY_TYPE, labels.SPOT, labels.ON_DEMAND)


def fallen(name: str, **more: Any) -> Member:
    """A node on demand, seven eighths full, whose claim would have taken spot."""
    one = member(name, "m4", pods=pods(name, 7), types=TYPES, **more)
    claim = one.machine.claim
    assert claim is not None
    return one.but(claim=replace(claim, requirements=Requirements([BOTH])))


def spotted(*members: Member, of: PoolPolicy | None = None, **more: Any) -> Decided:
    return decided(*members, pools=[of or policy("pool", BOTH)], **{"types": TYPES, **more})


def known(*members: Member, of: PoolPolicy | None = None, **more: Any) -> World:
    return world(*members, pools=[of or policy("pool", BOTH)], **{"types": TYPES, **more})


def without_spot(one: InstanceType, zones: str = "z1 z2") -> InstanceType:
    rows = (
        unavailable(row) if row.capacity_type == labels.SPOT and row.zone in zones.split() else row
        for row in one.offerings
    )
    return instance_type(one.spec, tuple(rows))


def catalog(*types: InstanceType) -> dict[str, Catalog]:
    return {"pool": Catalog(MappingProxyType({one.name: one for one in types}))}


BACK = MappingProxyType({OfferingKey("m4", zone, labels.SPOT): NOW - 60 for zone in ("z1", "z2")})


def test_a_fallback_node_is_known_by_what_its_pool_and_claim_would_have_taken() -> None:
    one = fallen("a").machine
    assert returning.is_fallback(one, known())
    assert not returning.is_fallback(one, known(of=policy("pool", is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND))))
    assert not returning.is_fallback(member("a", capacity_type=labels.SPOT).machine, known())
    claim = one.claim
    assert claim is not None
    pinned = replace(claim, requirements=Requirements([is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)]))
    assert not returning.is_fallback(replace(one, claim=pinned), known()), "its pods asked for on-demand"
    assert not returning.is_fallback(one, known(types=(kind("m4", 4, 0.2),))), "it is not sold as spot"


def test_an_annotation_says_so_where_the_claim_does_not() -> None:
    one = member("a", claim_annotations={returning.FELL_BACK: labels.SPOT}).machine
    assert returning.is_fallback(one, known(types=(kind("m4", 4, 0.2),)))


def test_it_returns_when_that_pays() -> None:
    found = spotted(fallen("a"))
    assert said(found) == ["replace a -> m4"]
    (claim,) = found.commands[0].replacements
    assert claim.requirements.get(labels.CAPACITY_TYPE) == is_in(labels.CAPACITY_TYPE, labels.SPOT)


def test_a_market_that_has_just_come_back_is_not_trusted() -> None:
    found = spotted(fallen("a"), market=Market(back=BACK))
    assert said(found) == []
    assert found.refusals["a"].code is Code.SPOT_RETURN
    assert found.refusals["a"].text == "spot of these types was short lately; it is not trusted yet"
    later = spotted(fallen("a"), market=Market(back=BACK), now=NOW + STEADY_SECONDS)
    assert said(later) == ["replace a -> m4"]


def test_types_that_were_never_short_may_be_bought_meanwhile() -> None:
    types = (*TYPES, kind("n4", 4, 0.2, spot=0.07))
    found = spotted(fallen("a"), market=Market(back=BACK), types=types)
    assert [one.name for one in found.commands[0].replacements[0].types] == ["n4"]


def test_a_node_that_did_not_fall_back_is_not_held_back() -> None:
    dear = (*TYPES, kind("x4", 4, 0.9))
    one = member("a", "x4", pods=pods("web", 7), types=dear)
    assert said(spotted(one, market=Market(back=BACK), types=dear)) == ["replace a -> m4"]


def test_a_pool_may_never_return() -> None:
    found = spotted(fallen("a"), of=policy("pool", BOTH, return_seconds=None))
    assert found.refusals["a"].text == "NodePool pool never returns fallback nodes to spot"


def test_a_tenth_of_a_pool_returns_in_one_go() -> None:
    fleet = [fallen(f"n{number:02d}") for number in range(21)]
    found = spotted(*fleet)
    gone = [name for one in found.commands for name in one.names]
    assert 1 <= len(found.commands) <= 3
    assert set(found.refusals) == {one.node.name for one in fleet} - set(gone)
    assert Code.SPOT_RETURN in {one.code for one in found.refusals.values()}
    free = spotted(*fleet, of=policy("pool", BOTH, return_seconds=0.0))
    assert sum(len(one.names) for one in free.commands) == 21


def test_those_that_cannot_go_without_the_ones_that_wait_do_not_go_at_all() -> None:
    """Planned anew without those that wait, more would return than may: then none does, and each says why."""
    fleet = [fallen("a"), fallen("b")]
    every = tuple(command for one in fleet for command in spotted(one).commands)
    assert [one.names for one in every] == [("a",), ("b",)]
    going, waiting = passes._paced(every, known(*fleet), lambda kept: every)
    assert going == ()
    assert {name: one.code for name, one in waiting.items()} == {"a": Code.NOT_CHOSEN, "b": Code.SPOT_RETURN}
    assert passes._paced(every, known(*fleet), lambda kept: kept)[0] == every[:1]


def test_the_next_follow_after_a_pause() -> None:
    full = Market(returned={"pool": Batch(NOW - 100, 1)})
    found = spotted(fallen("a"), fallen("b"), market=full)
    assert said(found) == []
    assert found.refusals["a"].text == ("nodes of NodePool pool were returned to spot lately; the next follow in 200 s")
    assert len(spotted(fallen("a"), market=full, now=NOW + 200).commands) == 1
    assert returning.wakes(known(market=full)) == NOW + 200


def test_what_was_started_is_noted_once_for_each_go() -> None:
    start = known(fallen("a"))
    (command,) = spotted(fallen("a")).commands
    once = returning.noted(NO_MARKET, command, start)
    assert once.returned == {"pool": Batch(NOW, 1)}
    again = returning.noted(once, command, replace(start, now=NOW + 10))
    assert again.returned == {"pool": Batch(NOW, 2)}
    later = returning.noted(again, command, replace(start, now=NOW + 400))
    assert later.returned == {"pool": Batch(NOW + 400, 1)}


# ---- what is remembered of the market


def test_an_offering_is_trusted_again_some_time_after_it_came_back() -> None:
    short = spot_market.watched(NO_MARKET, catalog(without_spot(TYPES[0], "z1")), NOW)
    key = OfferingKey("m4", "z1", labels.SPOT)
    assert short.short == {key}
    assert not short.is_steady(key, NOW)
    assert short.is_steady(OfferingKey("m4", "z2", labels.SPOT), NOW)
    back = spot_market.watched(short, catalog(*TYPES), NOW + 100)
    assert not back.is_steady(key, NOW + 100 + STEADY_SECONDS - 1)
    assert back.is_steady(key, NOW + 100 + STEADY_SECONDS)
    assert back.next_steady(NOW + 100) == NOW + 100 + STEADY_SECONDS


def test_an_offering_that_goes_again_begins_anew() -> None:
    here, gone = catalog(*TYPES), catalog(without_spot(TYPES[0]))
    market = NO_MARKET
    for at, seen in ((0, gone), (100, here), (200, catalog(without_spot(TYPES[0]))), (300, catalog(*TYPES))):
        market = spot_market.watched(market, seen, NOW + at)
    assert set(market.back.values()) == {NOW + 300}


def test_catalogs_that_are_the_same_are_not_looked_at_again_and_what_is_old_is_forgotten() -> None:
    seen = catalog(*TYPES)
    first = spot_market.watched(NO_MARKET, seen, NOW)
    assert spot_market.watched(first, seen, NOW + 1) is first
    held = replace(first, back=BACK)
    assert spot_market.watched(held, seen, NOW + 2 * STEADY_SECONDS).back == {}


def test_what_judgements_rest_on_changes_when_trust_or_a_pause_does() -> None:
    before = returning.outlook(known(market=Market(back=BACK)))
    assert before == returning.outlook(known(market=Market(back=BACK), now=NOW + 1))
    assert before != returning.outlook(known(market=Market(back=BACK), now=NOW + STEADY_SECONDS))
    paused = Market(returned={"pool": Batch(NOW, 1)})
    assert returning.outlook(known(market=paused)) != returning.outlook(known(market=paused, now=NOW + 300))
