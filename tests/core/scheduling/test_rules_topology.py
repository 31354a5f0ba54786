"""Topology: pods that are spread, keep company or keep apart by a label of their nodes (spec §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    LARGE,
    TAINT,
    TYPES,
    WEB,
    also_spot,
    app,
    asks,
    bound,
    checked,
    kind,
    labelled,
    market,
    near,
    node,
    only,
    planned,
    pool_of,
    refused,
    shape,
    sizes,
    spread,
    tally,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.pods import Affinity, Pod, PodState, PodTerm, Policy, Preferred, Shape
from dovetail.core.requirements import is_in
from dovetail.core.selectors import EVERYTHING, NOTHING_SELECTED, Selector
from dovetail.core.taints import Effect, Taint, Toleration, TolerationOperator

RACK = "example.com/rack"
DB = shape(labels=(("app", "db"),))
PLACES = (node("n1"), node("n2", "z2"))


def running(to: str, count: int, of: Shape | None = None) -> tuple[Pod, ...]:
    return tuple(bound(to, of or shape(), f"{to}-{number}") for number in range(count))


# ---- spread by zone


def test_pods_are_spread_evenly_over_the_zones_that_are_sold() -> None:
    """§4.2, §4.5: in one pass, and every claim is pinned to its zone."""
    plan = planned(world(waiting(5, shape(LARGE, spread=spread()))))
    assert tally(plan) == {"z1": 3, "z2": 2}


def test_pods_that_run_count_and_the_emptier_zone_is_filled_first() -> None:
    """§4.3."""
    pods = (*waiting(2, shape(spread=spread())), *running("n1", 2))
    assert tally(planned(world(pods, PLACES))) == {"z2": 2}


def test_pods_that_are_finished_waiting_elsewhere_selected_or_on_no_node_do_not_count() -> None:
    """§4.3."""
    done = replace(bound("n1", shape(), "done"), state=PodState.DONE)
    lost = bound("gone", shape(), "lost")
    gated = Pod("gated", shape(), "gated", state=PodState.WAITING)
    others = (bound("n1", DB, "db"), bound("n1", shape(namespace="other"), "stranger"))
    pods = (*waiting(2, shape(spread=spread())), done, lost, gated, *others)
    assert tally(planned(world(pods, PLACES, types=()))) == {"z1": 1, "z2": 1}


@pytest.mark.parametrize("skew", [1, 2, 3])
def test_no_zone_gets_further_ahead_than_the_skew(skew: int) -> None:
    """§4.5: of a zone that is there but has no room."""
    nodes = (node("n1"), node("n2", "z2", cpus=0))
    plan = checked(world(waiting(5, shape(spread=spread(skew=skew))), nodes, types=()))
    assert (tally(plan), len(refused(plan))) == ({"z1": skew}, 5 - skew)


def test_zones_of_nodes_that_are_there_are_domains_beside_those_that_are_sold() -> None:
    """§4.2."""
    pods = waiting(3, shape(spread=spread()))
    assert tally(planned(world(pods, (node("n3", "z3"),)))) == {"z1": 1, "z2": 1, "z3": 1}


def test_the_least_count_is_over_the_zones_a_pod_may_be_in() -> None:
    """§4.5."""
    here = shape(spread=spread(), selector=only(labels.ZONE, "z1"))
    assert tally(planned(world(waiting(3, here)))) == {"z1": 3}


def test_the_least_count_is_over_all_terms_a_pod_may_use() -> None:
    """§4.5; the peer looks at the first only."""
    either = shape(spread=spread(), terms=(only(labels.ZONE, "z1"), only(labels.ZONE, "z2")))
    assert tally(planned(world(waiting(4, either)))) == {"z1": 2, "z2": 2}


def test_a_pool_s_zones_are_the_domains_not_those_of_types_it_may_not_buy() -> None:
    """§4.2; the peer's types out of question widen them."""
    pool = pool_of("pool", is_in(labels.ZONE, "z1"))
    assert tally(planned(world(waiting(3, shape(spread=spread())), pool=pool))) == {"z1": 3}
    kinds = (kind("m4", 4, 0.2, "z1"), kind("x4", 4, 0.2, "z2"))
    picky = shape(selector=only(labels.INSTANCE_TYPE, "m4"), spread=spread())
    assert tally(planned(world(waiting(3, picky), types=kinds))) == {"z1": 3}


def test_a_pod_that_its_own_spread_does_not_select_only_looks_at_the_others() -> None:
    """§4.5: it adds nothing to the count."""
    beside = shape(spread=spread(selector=app("db")))
    pods = (*waiting(4, beside), *running("n1", 2, DB))
    assert tally(planned(world(pods, PLACES, types=()))) == {"z2": 4}
    pods = (*waiting(4, beside), *running("n1", 1, DB))
    assert tally(planned(world(pods, PLACES[:1], types=(kind("m4", 4, 0.2, "z1"),)))) == {"z1": 4}


def test_a_spread_that_selects_nobody_counts_nobody() -> None:
    """§4.3: a missing selector; the peer begins with everybody."""
    pods = (*waiting(3, shape(spread=spread(selector=NOTHING_SELECTED))), *running("n1", 3))
    assert where(planned(world(pods, PLACES, types=()))) == dict.fromkeys(("pod-0", "pod-1", "pod-2"), "n1")


def test_an_empty_selector_counts_everybody_in_the_namespace() -> None:
    """§4.3."""
    pods = (*waiting(1, shape(spread=spread(selector=EVERYTHING))), *running("n1", 1, DB))
    assert tally(planned(world(pods, PLACES, types=()))) == {"z2": 1}


def test_each_revision_is_spread_by_itself_where_match_label_keys_say_so() -> None:
    """§4.3: the keys' values on the pod join its selector."""

    def of(revision: str) -> Shape:
        mine = WEB.narrowed(only("revision", revision))
        return shape(labels=(("app", "web"), ("revision", revision)), spread=spread(selector=mine))

    pods = (*waiting(2, of("b")), *running("n1", 2, of("a")))
    assert tally(planned(world(pods, PLACES, types=()))) == {"z1": 1, "z2": 1}


def test_a_pod_counted_by_another_s_spread_is_pinned_to_one_zone() -> None:
    """§4.6; on the peer's open claim it is counted in no zone."""
    plain, even = shape(LARGE, priority=1), shape(LARGE, spread=spread())
    plan = planned(world((*waiting(1, plain, "plain"), *waiting(1, even, "even")), types=TYPES[:1]))
    assert tally(plan) == {"z1": 1, "z2": 1}


def test_pods_that_two_spreads_of_others_count_go_to_the_same_zones_whichever_was_seen_first() -> None:
    types = (kind("m4", 4, 0.2, zones="z1 z2 z3"),)
    some = waiting(1, shape(spread=spread(), selector=only(labels.ZONE, "z1", "z2")), "some")
    every = waiting(1, shape(spread=spread()), "every")
    counted = waiting(6, shape(LARGE, priority=1), "counted")
    one, other = (planned(world((*pods, *counted), types=types)) for pods in ((*some, *every), (*every, *some)))
    assert tally(one) == tally(other)


def test_two_spreads_by_one_label_are_kept_together() -> None:
    """§4.5; the peer chooses a zone for each, and the two may contradict."""
    both = shape(
        labels=(("app", "web"), ("team", "blue")), spread=(*spread(), *spread(selector=Selector(only("team", "blue"))))
    )
    blue = shape(labels=(("team", "blue"),))
    nodes = (*PLACES, node("n3", "z3"))
    pods = (*waiting(1, both), *running("n1", 1), *running("n2", 1, blue))
    assert where(planned(world(pods, nodes, types=()))) == {"pod-0": "n3"}


def test_spreads_by_two_labels_hold_at_once() -> None:
    """§4.5: by zone and by host."""
    plan = planned(world(waiting(4, shape(spread=(*spread(), *spread(labels.HOSTNAME))))))
    assert (sizes(plan), tally(plan)) == ([1, 1, 1, 1], {"z1": 2, "z2": 2})


# ---- spread by other labels


def test_a_host_takes_as_many_as_the_skew_for_a_new_one_is_always_empty() -> None:
    """§4.5: the least count by hostname is zero."""
    assert sizes(planned(world(waiting(3, shape(spread=spread(labels.HOSTNAME)))))) == [1, 1, 1]
    assert sizes(planned(world(waiting(5, shape(spread=spread(labels.HOSTNAME, 2)))))) == [2, 2, 1]
    pods = (*waiting(2, shape(spread=spread(labels.HOSTNAME, 2))), *running("n1", 1))
    assert tally(planned(world(pods, PLACES, types=())), labels.HOSTNAME) == {"n1": 1, "n2": 1}


def test_pods_are_spread_over_capacity_types() -> None:
    """§4.2."""
    plan = planned(
        world(waiting(4, shape(LARGE, spread=spread(labels.CAPACITY_TYPE))), types=(also_spot(TYPES[0], 0.1),))
    )
    assert tally(plan, labels.CAPACITY_TYPE) == {labels.ON_DEMAND: 2, labels.SPOT: 2}


def test_pods_are_spread_over_a_label_of_the_user_s() -> None:
    """§4.2: over values one pool lists, over labels of several pools, and over nodes that are there."""
    racked = shape(spread=spread(RACK))
    listing = pool_of("pool", is_in(RACK, "r1", "r2"))
    assert tally(planned(world(waiting(4, racked), pool=listing)), RACK) == {"r1": 2, "r2": 2}
    each = (pool_of("a", labels=((RACK, "r1"),)), pool_of("b", labels=((RACK, "r2"),)))
    assert tally(planned(market(waiting(4, racked), *each)), RACK) == {"r1": 2, "r2": 2}
    nodes = (labelled(node("n1"), rack="r1"), labelled(node("n2"), rack="r2"))
    assert tally(planned(world(waiting(4, racked), nodes, types=())), RACK) == {"r1": 2, "r2": 2}


def test_a_pod_spread_by_a_label_that_nothing_has_waits() -> None:
    """§4.2."""
    assert len(refused(checked(world(waiting(2, shape(spread=spread(RACK))), PLACES)))) == 2


def test_a_node_without_the_label_is_no_place_for_a_pod_spread_by_it() -> None:
    """§4.3."""
    nodes = (node("n1"), labelled(node("n2"), rack="r1"))
    assert where(planned(world(waiting(1, shape(spread=spread(RACK))), nodes, types=()))) == {"pod-0": "n2"}


# ---- minDomains and the policies


@pytest.mark.parametrize(("wanted", "placed"), [(None, 4), (2, 4), (3, 2)])
def test_with_fewer_domains_than_wanted_the_least_count_is_zero(wanted: int | None, placed: int) -> None:
    """§4.5."""
    plan = checked(world(waiting(4, shape(LARGE, spread=spread(min_domains=wanted)))))
    assert len(where(plan)) == placed
    assert len(refused(plan)) == 4 - placed


def test_spreads_that_differ_in_min_domains_are_kept_apart() -> None:
    """§4.1; the peer's share one group."""
    many, few = shape(LARGE, spread=spread(min_domains=3)), shape(LARGE, spread=spread(), priority=-1)
    plan = checked(world((*waiting(3, many, "many"), *waiting(2, few, "few"))))
    assert refused(plan) == {"many-2"}


@pytest.mark.parametrize(("policy", "found"), [(Policy.HONOR, {"z1": 1, "z2": 1}), (Policy.IGNORE, {"z2": 2})])
def test_nodes_a_pod_cannot_select_count_only_where_affinity_is_ignored(
    policy: Policy, found: Mapping[str, int]
) -> None:
    """§4.4, nodeAffinityPolicy."""
    nodes = (node("n0"), labelled(node("n1"), rack="r1"), labelled(node("n2", "z2"), rack="r1"))
    picky = shape(selector=only(RACK, "r1"), spread=spread(node_affinity=policy))
    assert tally(planned(world((*waiting(2, picky), *running("n0", 2)), nodes, types=()))) == found


@pytest.mark.parametrize(("policy", "placed"), [(Policy.IGNORE, 1), (Policy.HONOR, 3)])
def test_a_zone_behind_a_taint_holds_a_spread_back_only_where_taints_are_ignored(policy: Policy, placed: int) -> None:
    """§4.4, nodeTaintsPolicy: on a node, and in a pool."""
    even = shape(spread=spread(node_taints=policy))
    fenced = node("n2", "z2", taints=(TAINT,))
    assert len(where(checked(world(waiting(3, even), (node("n1"), fenced), types=())))) == placed
    pools = (pool_of("a", is_in(labels.ZONE, "z1")), pool_of("b", is_in(labels.ZONE, "z2"), taints=(TAINT,)))
    assert len(where(checked(market(waiting(3, even), *pools)))) == placed


def test_a_zone_behind_a_taint_the_pod_tolerates_is_a_domain_as_any_other() -> None:
    """§4.4."""
    welcome = (Toleration(TAINT.key, TolerationOperator.EXISTS),)
    even = shape(spread=spread(node_taints=Policy.HONOR), tolerations=welcome)
    assert tally(planned(world(waiting(2, even), (node("n1"), node("n2", "z2", taints=(TAINT,))), types=()))) == {
        "z1": 1,
        "z2": 1,
    }


def test_spreads_of_pods_that_select_different_nodes_are_kept_apart() -> None:
    """§4.1; the peer forgets the values of a selector and lets them share one group."""

    def of(rack: str) -> Shape:
        return shape(selector=only(RACK, rack), spread=spread())

    nodes = tuple(labelled(node(f"{rack}-{zone}", zone), rack=rack) for rack in ("r1", "r2") for zone in ("z1", "z2"))
    pods = (*waiting(2, of("r1"), "a"), *waiting(2, of("r2"), "b"), *running("r1-z1", 1))
    plan = planned(world(pods, nodes, types=()))
    by_node = tally(plan, labels.HOSTNAME)
    assert by_node["r2-z1"] == by_node["r2-z2"] == 1


# ---- ScheduleAnyway


def test_a_soft_spread_is_kept_where_it_can_be() -> None:
    """§2.7."""
    assert tally(planned(world(waiting(4, shape(LARGE, spread=spread(hard=False)))))) == {"z1": 2, "z2": 2}


def test_a_soft_spread_keeps_nobody_waiting() -> None:
    """§2.6 step 5: by a zone without room, by a label that nothing has."""
    nodes = (node("n1"), node("n2", "z2", cpus=0))
    assert tally(planned(world(waiting(3, shape(spread=spread(hard=False))), nodes, types=()))) == {"z1": 3}
    assert len(where(planned(world(waiting(3, shape(spread=spread(RACK, hard=False))))))) == 3


# ---- company


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_pod_goes_where_its_company_runs(key: str) -> None:
    """§4.5."""
    pods = (*waiting(2, shape(near=near(key, app("db")))), *running("n2", 1, DB))
    assert tally(planned(world(pods, PLACES))) == {"z2": 2}


def test_company_in_a_zone_is_followed_with_a_new_node_there() -> None:
    """§4.5."""
    pods = (
        *waiting(1, shape(LARGE, near=near(labels.ZONE, app("db")))),
        *running("n2", 1, shape(LARGE, labels=DB.labels)),
    )
    plan = planned(world(pods, PLACES))
    assert [one.requirements.value(labels.ZONE) for one in plan.claims] == ["z2"]


def test_company_on_a_full_node_leaves_a_pod_waiting() -> None:
    """§4.5, by hostname."""
    pods = (
        *waiting(1, shape(LARGE, near=near(labels.HOSTNAME, app("db")))),
        *running("n2", 1, shape(LARGE, labels=DB.labels)),
    )
    assert refused(checked(world(pods, PLACES))) == {"pod-0"}


def test_a_pod_whose_company_is_nowhere_waits() -> None:
    """§4.5: it does not select itself, so it cannot be the first."""
    for key in (labels.ZONE, labels.HOSTNAME):
        assert refused(checked(world(waiting(1, shape(near=near(key, app("db")))), PLACES))) == {"pod-0"}


def test_pods_that_are_each_other_s_company_start_in_one_place() -> None:
    """§4.5, bootstrap: one zone for all, on as many nodes as they need."""
    plan = planned(world(waiting(5, shape(LARGE, near=near(labels.ZONE)))))
    assert (len(tally(plan)), sum(sizes(plan))) == (1, 5)
    assert None not in tally(plan)
    plan = checked(world(waiting(3, shape(LARGE, near=near(labels.HOSTNAME)))))
    assert (sizes(plan), len(refused(plan))) == ([2], 1)


def test_nobody_starts_anew_while_company_is_out_of_reach() -> None:
    """§4.5; the peer lets it, kube-scheduler would not."""
    far = shape(near=near(labels.ZONE), selector=only(labels.ZONE, "z2"))
    assert refused(checked(world((*waiting(1, far), *running("n1", 1)), PLACES))) == {"pod-0"}


def test_all_terms_of_company_hold_at_once() -> None:
    """§4.5: the domains of each are intersected."""
    both = Affinity((PodTerm(labels.ZONE, app("db")), PodTerm(labels.ZONE, app("cache"))))
    cache = shape(labels=(("app", "cache"),))
    there = (*running("n1", 1, DB), *running("n2", 1, DB), bound("n2", cache, "cache"))
    assert tally(planned(world((*waiting(1, shape(near=both)), *there), PLACES))) == {"z2": 1}
    apart = (*running("n1", 1, DB), bound("n2", cache, "cache"))
    assert refused(checked(world((*waiting(1, shape(near=both)), *apart), PLACES))) == {"pod-0"}


def test_company_in_the_same_plan_counts_once_its_zone_is_settled() -> None:
    """§4.6: the leader's claim is pinned so that the follower can join it."""
    leader, follower = shape(LARGE, labels=DB.labels), shape(LARGE, near=near(labels.ZONE, app("db")), priority=-1)
    plan = planned(world((*waiting(1, leader, "db"), *waiting(1, follower, "web")), types=TYPES[:1]))
    assert (len(plan.claims), len(tally(plan))) == (2, 1)
    assert None not in tally(plan)


# ---- namespaces


NAMESPACES = {"default": {"team": "red"}, "other": {"team": "blue"}, "third": {"team": "blue"}}


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ({}, False),
        ({"namespaces": frozenset({"other"})}, True),
        ({"namespaces": frozenset({"third"})}, False),
        ({"namespace_selector": Selector(only("team", "blue"))}, True),
        ({"namespace_selector": Selector(only("team", "red"))}, False),
        ({"namespace_selector": EVERYTHING}, True),
        ({"namespace_selector": Selector(only("team", "red")), "namespaces": frozenset({"other"})}, True),
        ({"namespace_selector": NOTHING_SELECTED, "namespaces": frozenset({"third"})}, False),
    ],
)
def test_a_term_looks_into_the_namespaces_it_names_or_selects_or_else_the_pod_s_own(
    term: dict[str, object], found: bool
) -> None:
    """§4.8, for company and for distance."""
    there = running("n1", 1, replace(DB, namespace="other"))
    one = Affinity((replace(PodTerm(labels.HOSTNAME, app("db")), **term),))  # type: ignore[arg-type]
    seeking = market((*waiting(1, shape(near=one)), *there), nodes=PLACES[:1], types=(), namespaces=NAMESPACES)
    assert bool(checked(seeking).placed) is found
    avoiding = market((*waiting(1, shape(apart=one)), *there), nodes=PLACES[:1], types=(), namespaces=NAMESPACES)
    assert bool(checked(avoiding).placed) is not found


# ---- distance


def test_pods_that_keep_apart_by_host_get_a_node_each() -> None:
    """§4.5."""
    assert sizes(planned(world(waiting(4, shape(apart=near(labels.HOSTNAME))), PLACES))) == [1, 1, 1, 1]


def test_pods_that_keep_apart_by_zone_get_a_zone_each_in_one_pass() -> None:
    """§4.6; the peer needs a batch for each."""
    plan = checked(world(waiting(3, shape(apart=near(labels.ZONE)))))
    assert (tally(plan), len(refused(plan))) == ({"z1": 1, "z2": 1}, 1)


def test_pods_keep_apart_by_a_label_of_the_user_s() -> None:
    """§4.5."""
    plan = checked(world(waiting(3, shape(apart=near(RACK))), pool=pool_of("pool", is_in(RACK, "r1", "r2"))))
    assert (tally(plan, RACK), len(refused(plan))) == ({"r1": 1, "r2": 1}, 1)


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_pod_keeps_away_from_those_that_run(key: str) -> None:
    """§4.3, §4.5."""
    pods = (*waiting(1, shape(apart=near(key, app("db")))), *running("n1", 1, DB))
    assert where(planned(world(pods, PLACES, types=()))) == {"pod-0": "n2"}


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_a_pod_is_kept_away_by_those_that_run_and_do_not_want_it_near(key: str) -> None:
    """§4.7."""
    shy = shape(labels=DB.labels, apart=near(key, WEB))
    pods = (*waiting(1, shape()), *running("n1", 1, shy))
    assert where(planned(world(pods, PLACES, types=()))) == {"pod-0": "n2"}
    assert where(planned(world((*waiting(1, DB), *running("n1", 1, shy)), PLACES, types=()))) == {"pod-0": "n1"}


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
@pytest.mark.parametrize("first", ["web", "db"])
def test_distance_works_both_ways_within_a_plan_whoever_is_first(key: str, first: str) -> None:
    """§4.6, §4.7: and in one pass."""
    shy = shape(labels=DB.labels, apart=near(key, WEB), priority=first == "db")
    plan = planned(world((*waiting(1, shape(priority=first == "web"), "web"), *waiting(1, shy, "db"))))
    assert len(plan.claims) == 2
    if key == labels.ZONE:
        assert tally(plan) == {"z1": 1, "z2": 1}


def test_what_a_running_pod_would_only_prefer_keeps_nobody_away() -> None:
    """§4.7."""
    shy = shape(labels=DB.labels, apart=Affinity(preferred=(Preferred(100, PodTerm(labels.HOSTNAME, WEB)),)))
    assert where(planned(world((*waiting(1, shape()), *running("n1", 1, shy)), PLACES, types=()))) == {"pod-0": "n1"}


def test_a_running_pod_keeps_only_those_away_that_are_in_the_namespaces_of_its_term() -> None:
    """§4.7, §4.8."""
    shy = shape(labels=DB.labels, apart=near(labels.HOSTNAME, WEB), namespace="other")
    assert where(planned(world((*waiting(1, shape()), *running("n1", 1, shy)), PLACES, types=()))) == {"pod-0": "n1"}
    local = shape(namespace="other")
    assert where(planned(world((*waiting(1, local), *running("n1", 1, shy)), PLACES, types=()))) == {"pod-0": "n2"}


def test_pods_that_have_left_keep_nobody_away() -> None:
    """§4.7."""
    shy = shape(labels=DB.labels, apart=near(labels.HOSTNAME, WEB))
    done = replace(bound("n1", shy), state=PodState.DONE)
    assert where(planned(world((*waiting(1, shape()), done), PLACES, types=()))) == {"pod-0": "n1"}


def test_a_pool_behind_a_taint_is_no_refuge_for_those_that_keep_apart() -> None:
    """§4.2: a domain that only untolerated nodes are in is none."""
    fenced = Taint("example.com/fenced", Effect.NO_SCHEDULE)
    pools = (pool_of("a", is_in(labels.ZONE, "z1")), pool_of("b", is_in(labels.ZONE, "z2"), taints=(fenced,)))
    plan = checked(market(waiting(2, shape(asks(500), apart=near(labels.ZONE))), *pools))
    assert (tally(plan), len(refused(plan))) == ({"z1": 1}, 1)


def test_company_and_distance_at_once() -> None:
    """§4.5: with the others of the zone, but not on their node."""
    both = shape(near=near(labels.ZONE, app("db")), apart=near(labels.HOSTNAME, app("db")))
    nodes = (*PLACES, node("n3", "z2"))
    assert where(planned(world((*waiting(1, both), *running("n2", 1, DB)), nodes, types=()))) == {"pod-0": "n3"}
