"""Packing: pools, nodes, taints, limits, daemons, types, and what a claim says (spec §3, newest §7).

And what-ifs: the same packing, as if some nodes were leaving.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.builders import node_class
from tests.core.scheduling.plans import dumped
from tests.core.scheduling.small import (
    LARGE,
    TAINT,
    TYPES,
    also_spot,
    app,
    asks,
    bound,
    checked,
    having,
    kind,
    kinds_of,
    labelled,
    market,
    near,
    node,
    only,
    planned,
    pool_of,
    refused,
    row,
    shape,
    sizes,
    spread,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.catalog.offerings import instance_type, unavailable
from dovetail.core.nodes import EPHEMERAL
from dovetail.core.pods import DaemonSet, HostPort
from dovetail.core.requirements import Requirements, is_in, is_not_in
from dovetail.core.resources import GIB, Resources
from dovetail.core.scheduling.check import check
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.problem import Problem
from dovetail.core.scheduling.solve import replan, solve
from dovetail.core.taints import Effect, Taint, Toleration, TolerationOperator

RACK = "example.com/rack"
TOLERATED = Toleration(TAINT.key, TolerationOperator.EXISTS)


# ---- pools


def test_the_heaviest_pool_buys_and_at_equal_weight_the_first_by_name() -> None:
    """§3.1; the peer takes the last by name."""
    plain, heavy = (pool_of("b"), pool_of("a")), pool_of("z", weight=1)
    assert planned(market(waiting(1, shape()), *plain, heavy)).claims[0].pool.name == "z"
    assert planned(market(waiting(1, shape()), *plain)).claims[0].pool.name == "a"


def test_a_pool_that_does_not_suit_is_passed_over() -> None:
    """§3.2: templates in the order of pools, the first that accepts."""
    fenced, zoned = pool_of("a", taints=(TAINT,)), pool_of("b", is_in(labels.ZONE, "z2"))
    picky = shape(selector=only(labels.ZONE, "z1"))
    assert planned(market(waiting(1, picky), fenced, zoned, pool_of("c"))).claims[0].pool.name == "c"


@pytest.mark.parametrize("why", [{"replicas": 1}, {"ready": False}, {"problem": "cannot be read"}])
def test_pools_that_are_static_not_ready_or_broken_buy_nothing(why: dict[str, object]) -> None:
    """§3.1."""
    out = pool_of("a", weight=9, **why)
    assert planned(market(waiting(1, shape()), out, pool_of("b"))).claims[0].pool.name == "b"
    (found,) = checked(market(waiting(1, shape()), out)).refused
    assert found.reason == "no NodePool can buy nodes: there is none that is ready, dynamic and has a catalog"


def test_nodes_are_used_though_no_pool_can_buy() -> None:
    """§3.1."""
    nothing_suits = pool_of("pool", is_in(labels.ZONE, "z9"))
    for pools in ((nothing_suits,), (pool_of("pool", ready=False),)):
        plan = checked(market(waiting(2, shape(LARGE)), *pools, nodes=(node("n1"),)))
        assert (where(plan), refused(plan)) == ({"pod-0": "n1"}, {"pod-1"})


def test_a_claim_begins_as_its_pool_s_template() -> None:
    """§3.1: its requirements and labels, its name and its node class."""
    chosen = pool_of("pool", is_in(labels.ZONE, "z2"), labels=(("example.com/team", "blue"),))
    (claim,) = planned(world(waiting(1, shape()), pool=chosen)).claims
    said = claim.requirements
    assert said.value(labels.ZONE) == "z2"
    assert said.value("example.com/team") == "blue"
    assert said.value(labels.NODEPOOL) == "pool"
    assert said.value(node_class().label_key) == "default"


def test_pods_choose_a_pool_by_its_name_or_its_labels() -> None:
    """§3.1, §1.3."""
    pools = (pool_of("a"), pool_of("b", labels=(("example.com/team", "blue"),)))
    for chosen in (only(labels.NODEPOOL, "b"), only("example.com/team", "blue")):
        assert planned(market(waiting(1, shape(selector=chosen)), *pools)).claims[0].pool.name == "b"


# ---- where first


def test_existing_nodes_are_filled_before_anything_is_bought() -> None:
    """§3.2."""
    plan = planned(world(waiting(3, shape(LARGE)), (node("n1"), node("n2")), types=TYPES[:1]))
    assert where(plan) == {"pod-0": "n1", "pod-1": "n2", "pod-2": "pool-1"}


def test_nodes_that_are_up_come_before_those_on_their_way_and_then_by_name() -> None:
    """§3.2."""
    nodes = (node("a", ready=False), node("c"), node("b"))
    plan = planned(world(waiting(3, shape(LARGE)), nodes))
    assert where(plan) == {"pod-0": "b", "pod-1": "c", "pod-2": "a"}


def test_open_claims_are_filled_before_another_is_opened() -> None:
    """§3.2."""
    pods = (*waiting(1, shape(LARGE), "large"), *waiting(2, shape(), "small"))
    assert sizes(planned(world(pods, types=TYPES[:1]))) == [3]


def test_a_leaving_node_takes_nobody() -> None:
    """§3.3."""
    plan = planned(world(waiting(1, shape()), (node("n1", leaving=True), node("n2")), types=()))
    assert where(plan) == {"pod-0": "n2"}


def test_what_runs_on_a_node_and_the_daemons_still_to_come_leave_the_room() -> None:
    """§3.3: a daemon that is there already is not set aside twice."""
    agent = DaemonSet("agent", shape(asks(1000)))
    arrived = replace(bound("n1", shape(asks(1000)), "agent-1"), owner="DaemonSet")
    for there, room in (((), 3000), ((arrived,), 3000), ((arrived, bound("n1", shape(asks(1000)))), 2000)):
        for cpu, fits in ((room, True), (room + 1, False)):
            pods = (*waiting(1, shape(asks(cpu))), *there)
            plan = checked(world(pods, (node("n1"),), types=(), daemons=(agent,)))
            assert bool(plan.placed) is fits


def test_only_daemons_that_go_to_a_node_take_room_there() -> None:
    """§3.3: they tolerate its taints, and one of their terms suits its labels."""
    unwelcome = DaemonSet("unwelcome", shape(asks(4000)))
    elsewhere = DaemonSet("elsewhere", shape(asks(4000), tolerations=(TOLERATED,), terms=(only(labels.ZONE, "z2"),)))
    fenced = node("n1", taints=(TAINT,))
    pods = waiting(1, shape(asks(4000), tolerations=(TOLERATED,)))
    assert where(planned(world(pods, (fenced,), types=(), daemons=(unwelcome, elsewhere)))) == {"pod-0": "n1"}
    for zones in (("z2", "z1"), ("z1", "z2")):
        either = replace(elsewhere.shape, terms=tuple(only(labels.ZONE, zone) for zone in zones))
        assert refused(checked(world(pods, (fenced,), types=(), daemons=(DaemonSet("here", either),)))) == {"pod-0"}


# ---- taints


def test_a_pod_tolerates_every_taint_of_its_node_and_of_its_pool() -> None:
    """§3.7."""
    second = Taint("example.com/gpu", Effect.NO_EXECUTE)
    both = (TOLERATED, Toleration(second.key, TolerationOperator.EXISTS))
    for tolerations, fits in (((), False), ((TOLERATED,), False), (both, True)):
        pods = waiting(1, shape(tolerations=tolerations))
        assert bool(checked(world(pods, (node("n1", taints=(TAINT, second)),), types=())).placed) is fits
        assert bool(checked(world(pods, pool=pool_of(taints=(TAINT, second)))).claims) is fits


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (Toleration(operator=TolerationOperator.EXISTS), True),
        (Toleration("level", value="5"), True),
        (Toleration("level", value="6"), False),
        (Toleration("level", value="5", effect=Effect.NO_EXECUTE), False),
        (Toleration("level", TolerationOperator.GT, "4"), True),
        (Toleration("level", TolerationOperator.LT, "5"), False),
    ],
)
def test_tolerations_match_as_in_kubernetes(toleration: Toleration, fits: bool) -> None:
    """§3.7: the numeric operators among them."""
    level = pool_of(taints=(Taint("level", Effect.NO_SCHEDULE, "5"),))
    assert bool(checked(world(waiting(1, shape(tolerations=(toleration,))), pool=level)).claims) is fits


def test_startup_taints_of_a_pool_keep_nobody_away() -> None:
    """§3.4."""
    assert planned(world(waiting(1, shape()), pool=pool_of(startup_taints=(TAINT,)))).claims


@pytest.mark.parametrize(
    "taint", [*EPHEMERAL, Taint("readiness.k8s.io/network", Effect.NO_SCHEDULE), TAINT], ids=lambda one: str(one)
)
def test_taints_of_coming_up_are_looked_through_until_the_node_is_up(taint: Taint) -> None:
    """§3.7: on nodes of ours; the last is the claim's own startup taint."""
    on_its_way = node("n1", taints=(taint,), startup_taints=(TAINT,), ready=False)
    for one, fits in (
        (on_its_way, True),
        (replace(on_its_way, ready=True), False),
        (replace(on_its_way, pool=None), False),
    ):
        assert bool(checked(world(waiting(1, shape()), (one,), types=())).placed) is fits


def test_a_startup_taint_is_known_by_key_and_effect() -> None:
    """§3.7: its value does not matter."""
    on_its_way = node("n1", taints=(replace(TAINT, value="now"),), startup_taints=(TAINT,), ready=False)
    assert planned(world(waiting(1, shape()), (on_its_way,), types=())).placed
    harder = replace(on_its_way, taints=(replace(TAINT, effect=Effect.NO_EXECUTE),))
    assert not checked(world(waiting(1, shape()), (harder,), types=())).placed


def test_a_soft_taint_on_a_node_is_kept_off_while_there_is_another_place() -> None:
    """§3.7, §2.6 step 6."""
    old = node("n1", taints=(Taint("example.com/old", Effect.PREFER_NO_SCHEDULE),))
    assert where(planned(world(waiting(1, shape()), (old, node("n2")), types=()))) == {"pod-0": "n2"}
    assert where(planned(world(waiting(1, shape()), (old,), types=()))) == {"pod-0": "n1"}
    assert where(planned(world(waiting(1, shape()), (old,)))) == {"pod-0": "pool-1"}


# ---- limits


def test_nodes_that_are_there_count_against_a_limit_and_leaving_ones_do_not() -> None:
    """§3.5."""
    limited = pool_of(limits=Resources({"cpu": 8000}))
    full = node("n1", cpus=4, allocatable=Resources({}))
    other = replace(full, name="n2")
    assert planned(world(waiting(1, shape()), (full,), pool=limited)).claims
    assert refused(checked(world(waiting(1, shape()), (full, other), pool=limited))) == {"pod-0"}
    assert planned(world(waiting(1, shape()), (full, replace(other, leaving=True)), pool=limited)).claims
    assert planned(world(waiting(1, shape()), (full, replace(other, pool="another")), pool=limited)).claims


def test_types_larger_than_what_is_left_of_a_limit_are_not_bought() -> None:
    """§3.5."""
    assert kinds_of(world(waiting(1, shape()), pool=pool_of(limits=Resources({"cpu": 7999})))) == [["m4"]]
    assert kinds_of(world(waiting(1, shape()), pool=pool_of(limits=Resources({"memory": 16 * GIB})))) == [["m4"]]


def test_a_limit_is_charged_with_the_smallest_type_and_larger_ones_stay_as_far_as_it_goes() -> None:
    """§3.5; the peer charges the largest, and needs several rounds."""
    limited = pool_of(limits=Resources({"cpu": 12000}))
    apart = shape(LARGE, apart=near(labels.HOSTNAME))
    assert kinds_of(world(waiting(2, apart), pool=limited)) == [["m4", "m8"], ["m4"]]
    assert kinds_of(world(waiting(3, apart), pool=limited)) == [["m4"]] * 3
    plan = checked(world(waiting(4, apart), pool=limited))
    assert (len(plan.claims), len(refused(plan))) == (3, 1)


def test_the_number_of_nodes_is_a_limit_that_one_batch_does_not_overshoot() -> None:
    """§3.5; the peer's does."""
    limited = pool_of(limits=Resources({"nodes": 3}))
    full = node("n1", allocatable=Resources({}))
    plan = checked(world(waiting(5, shape(apart=near(labels.HOSTNAME))), (full,), pool=limited))
    assert (len(plan.claims), len(refused(plan))) == (2, 3)


def test_a_limit_that_is_overdrawn_or_speaks_of_what_no_type_has_buys_nothing_or_all() -> None:
    """§3.5: a resource that a type does not have counts as none of it."""
    gpu = "example.com/gpu"
    assert planned(world(waiting(1, shape()), pool=pool_of(limits=Resources({gpu: 0})))).claims
    over = node("n1", capacity=Resources({gpu: 1}), allocatable=Resources({}))
    assert not checked(world(waiting(1, shape()), (over,), pool=pool_of(limits=Resources({gpu: 0})))).claims


def test_pods_beyond_one_pool_s_limit_go_to_the_next_pool() -> None:
    """§3.5, §3.2."""
    first, second = pool_of("a", weight=1, limits=Resources({"nodes": 1})), pool_of("b")
    plan = planned(market(waiting(2, shape(apart=near(labels.HOSTNAME))), first, second))
    assert [one.pool.name for one in plan.claims] == ["a", "b"]


# ---- daemons on what is bought


def test_what_daemons_take_is_set_aside_on_every_type_they_go_to() -> None:
    """§3.6."""
    everywhere = DaemonSet("agent", shape(asks(100)))
    on_m4 = DaemonSet("agent", shape(asks(100), selector=only(labels.INSTANCE_TYPE, "m4")))
    pods = waiting(1, shape(asks(4000)))
    assert kinds_of(world(pods)) == [["m4", "m8"]]
    assert kinds_of(world(pods, daemons=(everywhere,))) == [["m8"]]
    assert kinds_of(world(pods, daemons=(on_m4,))) == [["m8"]]
    assert kinds_of(world(waiting(1, shape(asks(8000))), daemons=(on_m4,))) == [["m8"]]
    assert refused(checked(world(waiting(1, shape(asks(8000))), daemons=(everywhere,)))) == {"pod-0"}


def test_a_daemon_takes_a_place_among_the_pods_of_a_node() -> None:
    """§3.6."""
    tiny = (having(kind("m4", 4, 0.2), {"pods": 2}),)
    agent = DaemonSet("agent", shape(Resources({"pods": 1})))
    assert sizes(planned(world(waiting(2, shape()), types=tiny))) == [2]
    assert sizes(planned(world(waiting(2, shape()), types=tiny, daemons=(agent,)))) == [1, 1]


def test_daemons_go_where_they_tolerate_the_taints_soft_ones_aside() -> None:
    """§3.6."""
    pods = waiting(1, shape(asks(4000), tolerations=(TOLERATED,)))
    agent = (DaemonSet("agent", shape(asks(100))),)
    assert kinds_of(world(pods, daemons=agent, pool=pool_of(taints=(TAINT,)))) == [["m4", "m8"]]
    soft = pool_of(taints=(replace(TAINT, effect=Effect.PREFER_NO_SCHEDULE),))
    assert kinds_of(world(pods, daemons=agent, pool=soft)) == [["m8"]]


def test_a_daemon_comes_by_any_of_its_terms_and_none_is_used_up() -> None:
    """§3.6; the peer forgets terms that it tried."""
    terms = (only(labels.INSTANCE_TYPE, "m8"), only(labels.INSTANCE_TYPE, "m4"))
    agent = (DaemonSet("agent", shape(asks(100), terms=terms)),)
    pods = waiting(1, shape(asks(7950)))
    assert refused(checked(world(pods, daemons=agent))) == {"pod-0"}
    assert kinds_of(world(waiting(1, shape(asks(3950))), daemons=agent)) == [["m8"]]


def test_daemons_preferences_and_company_are_not_looked_at() -> None:
    """§3.6."""
    shy = shape(asks(100), near=near(labels.HOSTNAME, app("nobody")), spread=spread(RACK))
    assert kinds_of(world(waiting(1, shape(asks(4000))), daemons=(DaemonSet("agent", shy),))) == [["m8"]]


def test_a_claim_requests_what_its_pods_do_and_the_least_its_daemons_take() -> None:
    """§3.6, §3.12."""
    daemons = (
        DaemonSet("everywhere", shape(asks(100))),
        DaemonSet("large", shape(asks(200), selector=only(labels.INSTANCE_TYPE, "m8"))),
    )
    (claim,) = planned(world(waiting(2, shape()), daemons=daemons)).claims
    assert (claim.requests.of("cpu"), claim.requests.of("pods")) == (1100, 3)


def test_a_type_is_out_of_question_where_a_daemon_holds_the_pod_s_port() -> None:
    """§3.6."""
    proxy = DaemonSet("proxy", shape(ports=(HostPort(80),), selector=only(labels.INSTANCE_TYPE, "m4")))
    assert kinds_of(world(waiting(1, shape(ports=(HostPort(80),))), daemons=(proxy,))) == [["m8"]]
    assert kinds_of(world(waiting(1, shape(ports=(HostPort(81),))), daemons=(proxy,))) == [["m4", "m8"]]


# ---- types


def test_a_type_stays_if_one_row_of_it_suits_and_can_be_bought() -> None:
    """§3.11."""
    gone = instance_type(TYPES[1].spec, tuple(unavailable(one) for one in TYPES[1].offerings))
    assert kinds_of(world(waiting(1, shape()), types=(TYPES[0], gone))) == [["m4"]]
    half = instance_type(TYPES[1].spec, (unavailable(row("z1", 0.4)), row("z2", 0.4)))
    assert kinds_of(world(waiting(1, shape()), types=(TYPES[0], half))) == [["m4", "m8"]]
    assert kinds_of(world(waiting(1, shape(selector=only(labels.ZONE, "z1"))), types=(TYPES[0], half))) == [["m4"]]


def test_zone_and_capacity_type_have_to_be_had_by_one_row() -> None:
    """§3.11: a type sold as spot here and on demand there is not sold as spot there."""
    split = instance_type(TYPES[0].spec, (row("z1", 0.1, labels.SPOT), row("z2", 0.2)))
    torn = shape(selector=Requirements([is_in(labels.ZONE, "z2"), is_in(labels.CAPACITY_TYPE, labels.SPOT)]))
    assert refused(checked(world(waiting(1, torn), types=(split,)))) == {"pod-0"}


def test_pods_that_ask_for_different_types_do_not_share_a_claim() -> None:
    """§3.4: what is added has to leave a type."""
    one, other = (shape(selector=only(labels.INSTANCE_TYPE, name)) for name in ("m4", "m8"))
    pods = (*waiting(1, one, "a"), *waiting(1, other, "b"))
    assert kinds_of(world(pods)) == [["m4"], ["m8"]]
    anything = shape(selector=Requirements([is_not_in(labels.INSTANCE_TYPE, "m8")]))
    assert kinds_of(world((*waiting(1, one, "a"), *waiting(1, anything, "b")))) == [["m4"]]


# ---- what a claim says


def test_types_are_told_cheapest_first_by_their_cheapest_row_that_suits() -> None:
    """§3.12."""
    types = (kind("a", 4, 0.3), also_spot(kind("b", 4, 0.4), 0.1), kind("c", 4, 0.2, "z2"))
    assert kinds_of(world(waiting(1, shape()), types=types)) == [["b", "c", "a"]]
    here = shape(selector=Requirements([is_in(labels.ZONE, "z1"), is_in(labels.CAPACITY_TYPE, labels.ON_DEMAND)]))
    (claim,) = planned(world(waiting(1, here), types=types)).claims
    assert [one.name for one in claim.types] == ["a", "b"]
    assert (claim.choice.instance_type.name, claim.choice.offering.zone) == ("a", "z1")


def test_a_claim_names_no_more_types_than_may_be_launched_the_cheapest() -> None:
    """§3.12."""
    types = tuple(kind(f"t{number}", 4, 0.9 - number / 10) for number in range(5))
    problem = world(waiting(1, shape()), types=types, max_types=2)
    (claim,) = planned(problem).claims
    said = claim.requirements.get(labels.INSTANCE_TYPE)
    assert said is not None
    assert ([one.name for one in claim.types], set(said.values)) == (["t4", "t3"], {"t3", "t4"})


def test_a_claim_names_the_capacity_types_it_can_be_had_in() -> None:
    """§3.12."""
    types = (also_spot(TYPES[0], 0.1),)
    for wanted, told in (
        (Requirements(), {labels.ON_DEMAND, labels.SPOT}),
        (only(labels.CAPACITY_TYPE, labels.SPOT), {labels.SPOT}),
    ):
        (claim,) = planned(world(waiting(1, shape(selector=wanted)), types=types)).claims
        said = claim.requirements.get(labels.CAPACITY_TYPE)
        assert said is not None
        assert said.values == told


def test_a_claim_carries_what_its_pods_demand_together() -> None:
    """§3.4, §3.12."""
    here, there = (shape(selector=only(labels.ZONE, *zones)) for zones in (("z1", "z2"), ("z2", "z3")))
    racked = shape(selector=only(RACK, "r1"))
    pods = (*waiting(1, here, "a"), *waiting(1, there, "b"), *waiting(1, racked, "c"))
    (claim,) = planned(world(pods, pool=pool_of("pool", is_in(RACK, "r1", "r2")))).claims
    assert (claim.requirements.value(labels.ZONE), claim.requirements.value(RACK)) == ("z2", "r1")


# ---- what if


def gone(problem: Problem, *nodes: str) -> Problem:
    return replace(problem, snapshot=problem.snapshot.without(*nodes))


def small_cluster() -> Problem:
    agent = replace(bound("n1", shape(asks(100)), "agent-1"), owner="DaemonSet")
    even = shape(spread=spread(skew=1))
    pods = (
        bound("n1", shape(LARGE), "a"),
        bound("n2", even, "b"),
        bound("n3", shape(apart=near(labels.HOSTNAME)), "c"),
    )
    nodes = (node("n1"), node("n2", "z2"), node("n3"))
    daemons = (DaemonSet("agent", shape(asks(100))),)
    return world(
        (*pods, agent, *waiting(2, even)), nodes, daemons=daemons, pool=pool_of(limits=Resources({"cpu": 24000}))
    )


@pytest.mark.parametrize("leaving", [(), ("n1",), ("n2",), ("n3",), ("n1", "n2"), ("n1", "n2", "n3")])
def test_a_what_if_is_the_plan_of_the_world_in_which_those_nodes_leave(leaving: tuple[str, ...]) -> None:
    """§2.3, §3.3: to the letter."""
    problem = small_cluster()
    plan = replan(Compiled(problem), without=leaving)
    assert dumped(plan) == dumped(solve(gone(problem, *leaving)))
    assert check(gone(problem, *leaving), plan) == ()


def test_what_ifs_leave_no_trace_in_what_they_share() -> None:
    compiled = Compiled(small_cluster())
    before = dumped(replan(compiled))
    for name in ("n1", "n2", "n3"):
        replan(compiled, without=[name])
    assert dumped(replan(compiled)) == before


def test_pods_of_a_node_that_would_leave_go_to_the_others_first() -> None:
    """§3.2."""
    problem = world((bound("n1", shape(LARGE)),), (node("n1"), labelled(node("n2"), rack="r1")))
    assert where(replan(Compiled(problem), without=["n1"])) == {"bound": "n2"}
    assert replan(Compiled(problem)).placed == ()


def test_pods_that_would_leave_no_longer_count_where_they_were() -> None:
    """§4.3: neither for a spread nor for those that keep away."""
    shy = shape(apart=near(labels.ZONE))
    problem = world((bound("n1", shy),), (node("n1"), node("n2"), node("n3", "z2", cpus=0)), types=())
    assert where(replan(Compiled(problem), without=["n1"])) == {"bound": "n2"}
    even = shape(spread=spread())
    problem = world(
        (bound("n1", even, "a"), bound("n2", even, "b")), (node("n1"), node("n2", "z2"), node("n3")), types=()
    )
    assert where(replan(Compiled(problem), without=["n1"])) == {"a": "n3"}
