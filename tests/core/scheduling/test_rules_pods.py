"""Pods: who is planned, in which order, and what each gives up before it waits (spec §2, and §1 as pods meet it)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.scheduling.small import (
    DISK,
    LARGE,
    WEB,
    app,
    asks,
    bound,
    checked,
    labelled,
    market,
    near,
    node,
    only,
    planned,
    pool_of,
    refused,
    shape,
    spread,
    tally,
    waiting,
    where,
    world,
)

from dovetail.core import labels
from dovetail.core.pods import Affinity, HostPort, Pod, PodState, PodTerm, Preferred, Shape, Volumes
from dovetail.core.requirements import Requirement, Requirements, does_not_exist, exists, is_in, is_not_in, requirement
from dovetail.core.scheduling.problem import PreferencePolicy
from dovetail.core.taints import Effect, Taint

RACK, DISKS = "example.com/rack", "example.com/disks"
RELUCTANT = Taint("example.com/old", Effect.PREFER_NO_SCHEDULE)
DB = shape(labels=(("app", "db"),))


def wishing(*wishes: tuple[int, Requirements]) -> tuple[Preferred, ...]:
    return tuple(Preferred(weight, term) for weight, term in wishes)


def company(*wishes: tuple[int, str, str]) -> Affinity:
    """Preferred pod terms: the weight, the label, and whom it is about."""
    return Affinity(preferred=tuple(Preferred(weight, PodTerm(key, app(name))) for weight, key, name in wishes))


# ---- who is planned


def test_only_pods_that_wait_for_a_node_are_planned() -> None:
    """§2.1: neither gated nor preempting nor finished pods, and the finished ones take no room."""
    gated = Pod("gated", shape(), "gated", state=PodState.WAITING)
    done = replace(bound("n1", shape(asks(4000)), "done"), state=PodState.DONE)
    plan = planned(world((gated, done, *waiting(1, shape(LARGE))), (node("n1"),), types=()))
    assert where(plan) == {"pod-0": "n1"}


def test_a_pod_that_cannot_be_read_is_refused_and_harms_nobody() -> None:
    """§2.2."""
    broken = shape(problem="volume data: there is no claim of that name")
    plan = checked(world((*waiting(1, broken, "broken"), *waiting(1, shape()))))
    assert refused(plan) == {"broken-0"}
    assert plan.refused[0].reason == "volume data: there is no claim of that name"
    assert set(where(plan)) == {"pod-0"}


def test_pods_of_a_leaving_node_join_the_batch_without_its_daemons_and_mirrors() -> None:
    """§2.3."""
    daemon = replace(bound("n1", shape(), "daemon"), owner="DaemonSet")
    mirror = replace(bound("n1", shape(), "mirror"), owner="Node")
    pods = (bound("n1", shape(), "moving"), daemon, mirror)
    plan = planned(world(pods, (node("n1", leaving=True), node("n2")), types=()))
    assert where(plan) == {"moving": "n2"}


def going(to: str, of: Shape, name: str = "going", owner: str = "") -> Pod:
    return replace(bound(to, of, name), state=PodState.GOING, owner=owner)


def test_a_pod_that_is_going_holds_its_room_ports_and_volumes_until_it_is_gone() -> None:
    """§3.3, §4.3: it is bound still."""
    held = shape(asks(3000), ports=(HostPort(80),), volumes=Volumes(attached=((DISK, "default/data"),)))
    for wanted in (
        shape(asks(2000)),
        shape(ports=(HostPort(80),)),
        shape(volumes=Volumes(attached=((DISK, "default/other"),))),
    ):
        full = node("n1", volume_limits=((DISK, 1),))
        assert refused(checked(world((going("n1", held), *waiting(1, wanted)), (full,), types=()))) == {"pod-0"}


def test_a_pod_that_is_going_counts_for_nobody() -> None:
    """§4.3, §4.7: neither as company, nor as a crowd, nor as one that keeps others away."""
    zone = labels.ZONE
    apart = shape(apart=near(labels.HOSTNAME))
    pods = (going("n1", apart), *waiting(1, apart))
    assert where(planned(world(pods, (node("n1"),), types=()))) == {"pod-0": "n1"}
    crowd = tuple(going("n1", shape(), f"g{number}") for number in range(3))
    even = waiting(1, shape(spread=spread(zone)))
    assert where(planned(world((*crowd, *even), (node("n1"), node("n2", "z2")), types=()))) == {"pod-0": "n1"}
    company = shape(labels=(("app", "api"),), near=near(zone))
    assert refused(checked(world((going("n1", shape()), *waiting(1, company)), (node("n1"),), types=()))) == {"pod-0"}


def test_of_pods_that_are_going_from_a_leaving_node_only_a_stateful_set_s_need_another() -> None:
    """§2.3."""
    pods = (going("n1", shape(), "web"), going("n1", shape(), "db-0", "StatefulSet"))
    plan = planned(world(pods, (node("n1", leaving=True), node("n2")), types=()))
    assert where(plan) == {"db-0": "n2"}


# ---- the queue


def one_of(*shapes: Shape) -> str:
    """The pod that gets the one place there is."""
    pods = tuple(Pod(f"pod-{number}", one, f"pod-{number}") for number, one in enumerate(shapes))
    plan = checked(world(pods, (node("n1"),), types=()))
    (name,) = where(plan)
    return name


def test_the_higher_priority_is_planned_first() -> None:
    """§2.4; the peer leaves priority out."""
    assert one_of(shape(LARGE), shape(asks(2000), priority=1)) == "pod-1"


def test_the_larger_cpu_request_is_planned_first() -> None:
    """§2.4."""
    assert one_of(shape(asks(2500, 4)), shape(asks(3000, 1))) == "pod-1"


def test_at_equal_cpu_the_larger_memory_request_is_planned_first() -> None:
    """§2.4."""
    assert one_of(shape(asks(3000, 1)), shape(asks(3000, 2))) == "pod-1"


def test_at_equal_requests_the_older_pod_is_planned_first_and_then_the_lower_uid() -> None:
    """§2.4, among pods of one shape and of two."""
    other = shape(LARGE, labels=(("app", "db"),))
    for second in (shape(LARGE), other):
        for first_uid, created in (("b", 1.0), ("0", 2.0)):
            pods = (Pod("late", shape(LARGE), "a", 2.0), Pod("early", second, first_uid, created))
            plan = checked(world(pods, (node("n1"),), types=()))
            assert set(where(plan)) == {"early"}
            assert refused(plan) == {"late"}


def test_a_pod_whose_company_comes_later_in_the_queue_is_tried_again() -> None:
    """§2.4: as long as others succeed."""
    follower = shape(LARGE, near=near(labels.HOSTNAME, app("db")))
    plan = planned(world((*waiting(1, follower, "web"), *waiting(1, DB, "db"))))
    assert where(plan)["web-0"] == where(plan)["db-0"]


def test_a_pod_that_is_tried_again_has_all_its_wishes_again() -> None:
    """§2.4: what it would have given up the first time is not given up for good."""
    follower = shape(
        LARGE, near=near(labels.HOSTNAME, app("db")), preferred=wishing((1, only(labels.INSTANCE_TYPE, "m8")))
    )
    plan = planned(world((*waiting(1, follower, "web"), *waiting(1, DB, "db"))))
    assert [one.name for one in plan.claims[0].types] == ["m8"]


def test_each_pod_of_a_shape_begins_with_all_its_wishes() -> None:
    """§2.4: that the third had to give way does not loosen the others."""
    shy = shape(apart=company((1, labels.HOSTNAME, "web")))
    plan = planned(world(waiting(3, shy), (node("n1"), node("n2")), types=()))
    assert sorted(len(one.pods) for one in plan.placed) == [1, 2]


# ---- required terms


def test_any_one_of_the_required_terms_will_do_the_first_that_can_be_had() -> None:
    """§1.5, §2.6 step 1."""
    either = shape(terms=(only(labels.ZONE, "z9"), only(labels.ZONE, "z2"), only(labels.ZONE, "z1")))
    assert tally(planned(world(waiting(2, either)))) == {"z2": 2}


def test_the_last_required_term_is_never_given_up() -> None:
    """§2.6 step 1."""
    plan = checked(world(waiting(1, shape(terms=(only(labels.ZONE, "z8"), only(labels.ZONE, "z9"))))))
    assert refused(plan) == {"pod-0"}


def test_a_required_term_holds_together_with_the_selector() -> None:
    """§1.5."""
    picky = shape(selector=only(labels.ZONE, "z1"), terms=(only(labels.INSTANCE_TYPE, "m8"),))
    (claim,) = planned(world(waiting(1, picky))).claims
    assert claim.requirements.value(labels.ZONE) == "z1"
    assert [one.name for one in claim.types] == ["m8"]


def test_all_required_terms_are_tried_before_a_preference_is_given_up() -> None:
    """§2.6 step 1 before all others."""
    either = shape(
        terms=(only(labels.ZONE, "z1"), only(labels.ZONE, "z2")), preferred=wishing((1, only(DISKS, "fast")))
    )
    nodes = (node("n1", "z1"), labelled(node("n2", "z2"), disks="fast"))
    assert where(planned(world(waiting(1, either), nodes, types=()))) == {"pod-0": "n2"}


def test_the_first_required_term_is_tried_again_with_fewer_preferences() -> None:
    """§2.6; the peer does not come back to it."""
    either = shape(
        terms=(only(labels.ZONE, "z1"), only(labels.ZONE, "z2")), preferred=wishing((1, only(DISKS, "fast")))
    )
    nodes = (node("n2", "z1"), node("n1", "z2"))
    assert where(planned(world(waiting(1, either), nodes, types=()))) == {"pod-0": "n2"}


# ---- the order in which wishes are given up


def test_preferred_company_is_given_up_before_preferred_distance() -> None:
    """§2.6 steps 2 and 3."""
    torn = shape(near=company((1, labels.HOSTNAME, "db")), apart=company((100, labels.HOSTNAME, "db")))
    pods = (*waiting(1, torn), bound("n1", DB))
    assert where(planned(world(pods, (node("n1"), node("n2")), types=()))) == {"pod-0": "n2"}


def test_preferred_distance_is_given_up_before_preferred_labels() -> None:
    """§2.6 steps 3 and 4."""
    torn = shape(apart=company((100, labels.ZONE, "db")), preferred=wishing((1, only(labels.ZONE, "z2"))))
    pods = (*waiting(1, torn), bound("n2", DB))
    assert where(planned(world(pods, (node("n1"), node("n2", "z2")), types=()))) == {"pod-0": "n2"}


def test_preferred_labels_are_given_up_before_a_soft_spread() -> None:
    """§2.6 steps 4 and 5."""
    torn = shape(preferred=wishing((100, only(labels.ZONE, "z1"))), spread=spread(hard=False))
    pods = (*waiting(1, torn), bound("n1", shape()))
    assert where(planned(world(pods, (node("n1"), node("n2", "z2")), types=()))) == {"pod-0": "n2"}


def test_a_soft_spread_is_given_up_before_the_dislike_of_soft_taints() -> None:
    """§2.6 steps 5 and 6."""
    pods = (*waiting(1, shape(spread=spread(hard=False))), bound("n1", shape()))
    nodes = (node("n1"), node("n2", "z2", taints=(RELUCTANT,)))
    assert where(planned(world(pods, nodes, types=()))) == {"pod-0": "n1"}


def test_of_several_preferred_labels_the_heaviest_counts_and_then_the_next() -> None:
    """§1.5, §2.6 step 4: one at a time, so that two that contradict each other do no harm."""
    both = wishing((10, only(labels.ZONE, "z2")), (90, only(labels.ZONE, "z3")))
    nodes = (node("n1", "z1"), node("n2", "z2"))
    assert where(planned(world(waiting(1, shape(preferred=both)), nodes, types=()))) == {"pod-0": "n2"}
    more = (*nodes, node("n3", "z3"))
    assert where(planned(world(waiting(1, shape(preferred=both)), more, types=()))) == {"pod-0": "n3"}


@pytest.mark.parametrize("field", ["near", "apart"])
def test_of_several_preferred_pod_terms_the_heaviest_is_given_up_first(field: str) -> None:
    """§2.6 steps 2 and 3."""
    # Both terms cannot be had together: the lighter one alone leads to n2.
    if field == "near":
        wishes = company((90, labels.HOSTNAME, "nobody"), (10, labels.HOSTNAME, "db"))
        there = bound("n2", DB)
    else:
        wishes = company((90, labels.ARCH, "db"), (10, labels.HOSTNAME, "db"))
        there = bound("n1", DB)
    pods = (*waiting(1, replace(shape(), **{field: wishes})), there)  # type: ignore[arg-type]
    assert where(planned(world(pods, (node("n1"), node("n2")), types=()))) == {"pod-0": "n2"}


def test_of_several_soft_spreads_the_first_is_given_up_first() -> None:
    """§2.6 step 5."""
    soft = (*spread(hard=False), *spread(labels.HOSTNAME, hard=False))
    # The emptier zone has no room; the emptier host of the other zone does.
    nodes = (node("n1"), node("n2"), node("n3", "z2", cpus=0))
    pods = (*waiting(1, shape(spread=soft)), bound("n1", shape()))
    assert where(planned(world(pods, nodes, types=()))) == {"pod-0": "n2"}


def test_a_pod_gives_up_no_more_than_it_must() -> None:
    """§2.5: one step at a time, and the first that succeeds is kept."""
    picky = shape(near=company((1, labels.ZONE, "nobody")), preferred=wishing((1, only(labels.ZONE, "z2"))))
    assert tally(planned(world(waiting(1, picky)))) == {"z2": 1}


# ---- preferences as requirements, and not


def test_preferences_narrow_a_claim_as_demands_do() -> None:
    """§2.7, policy Respect."""
    wish = shape(preferred=wishing((1, only(labels.INSTANCE_TYPE, "m8"))))
    (claim,) = planned(world(waiting(1, wish))).claims
    assert [one.name for one in claim.types] == ["m8"]


def test_ignored_preferences_do_not_narrow_anything() -> None:
    """§2.7, policy Ignore: labels, company, distance and soft spreads."""
    wishes = (
        shape(preferred=wishing((1, only(labels.INSTANCE_TYPE, "m8")))),
        shape(near=company((1, labels.HOSTNAME, "nobody"))),
        shape(apart=company((1, labels.HOSTNAME, "web"))),
        shape(spread=spread(labels.HOSTNAME, hard=False)),
    )
    for one in wishes:
        (claim,) = planned(world(waiting(2, one), preferences=PreferencePolicy.IGNORE)).claims
        assert ([kind.name for kind in claim.types], len(claim.pods)) == (["m4", "m8"], 2)


def test_required_terms_are_alternatives_though_preferences_are_ignored() -> None:
    """§2.7, policy Ignore."""
    either = shape(terms=(only(labels.ZONE, "z9"), only(labels.ZONE, "z2")))
    assert tally(planned(world(waiting(1, either), preferences=PreferencePolicy.IGNORE))) == {"z2": 1}


@pytest.mark.parametrize("policy", list(PreferencePolicy))
def test_soft_taints_are_kept_off_until_nothing_else_is_left(policy: PreferencePolicy) -> None:
    """§2.6 step 6, §2.7: under both policies."""
    old, new = pool_of("old", taints=(RELUCTANT,), weight=9), pool_of("new")
    (claim,) = planned(market(waiting(1, shape()), old, new, preferences=policy)).claims
    assert claim.pool.name == "new"
    (claim,) = planned(market(waiting(1, shape()), old, preferences=policy)).claims
    assert claim.pool.name == "old"


def test_preferred_labels_take_no_domain_out_of_a_spread() -> None:
    """§2.7: the least count is over where the pod may be, not over where it would like to be."""
    even = shape(preferred=wishing((1, only(labels.ZONE, "z1"))), spread=spread())
    assert tally(planned(world(waiting(2, even)))) == {"z1": 1, "z2": 1}


# ---- labels a pod asks for


@pytest.mark.parametrize(
    ("wanted", "on_claims", "on_nodes"),
    [
        (is_in(RACK, "r1"), False, False),
        (exists(RACK), False, False),
        (requirement(RACK, "Gt", ["1"]), False, False),
        (is_not_in(RACK, "r1"), True, True),
        (does_not_exist(RACK), True, True),
        (is_in(labels.REGION, "here"), True, False),
        (exists(labels.REGION), True, False),
        (does_not_exist(labels.REGION), True, True),
    ],
    ids=str,
)
def test_a_label_nobody_defines_suits_claims_if_well_known_and_nodes_if_it_may_be_absent(
    wanted: Requirement, on_claims: bool, on_nodes: bool
) -> None:
    """§1.4."""
    pods = waiting(1, shape(selector=Requirements([wanted])))
    assert bool(checked(world(pods)).claims) is on_claims
    assert bool(checked(world(pods, (node("n1"),), types=())).placed) is on_nodes


@pytest.mark.parametrize(
    ("operator", "values", "fits"),
    [
        ("In", "7 9", True),
        ("In", "8", False),
        ("NotIn", "7", False),
        ("NotIn", "8", True),
        ("Exists", "", True),
        ("DoesNotExist", "", False),
        ("Gt", "6", True),
        ("Gt", "7", False),
        ("Lt", "8", True),
        ("Lt", "7", False),
    ],
)
def test_a_label_of_the_pool_is_compared_by_the_pod_s_operator(operator: str, values: str, fits: bool) -> None:
    """§1.4, on claims and on nodes."""
    picky = shape(selector=Requirements([requirement("example.com/generation", operator, values.split())]))
    seven = pool_of(labels=(("example.com/generation", "7"),))
    assert bool(checked(world(waiting(1, picky), pool=seven)).claims) is fits
    there = (labelled(node("n1"), generation="7"),)
    assert bool(checked(world(waiting(1, picky), there, types=())).placed) is fits


def test_old_spellings_of_a_label_are_the_same_label() -> None:
    """§1.2."""
    old = shape(selector=only("failure-domain.beta.kubernetes.io/zone", "z2"))
    assert tally(planned(world(waiting(1, old)))) == {"z2": 1}


def test_contradicting_demands_are_refused() -> None:
    """§1.4; the peer reads them as a wish for a node without the label."""
    torn = shape(selector=only(RACK, "r1"), terms=(only(RACK, "r2"),))
    plan = checked(world(waiting(1, torn), (node("n1"),)))
    assert refused(plan) == {"pod-0"}


def test_a_claim_says_nothing_of_its_hostname() -> None:
    """§2.8."""
    plan = planned(world(waiting(2, shape(spread=spread(labels.HOSTNAME, selector=WEB)))))
    assert len(plan.claims) == 2
    assert all(not one.requirements.mentions(labels.HOSTNAME) for one in plan.claims)


def test_a_node_without_a_hostname_label_is_a_host_by_its_name() -> None:
    """§2.8."""
    bare = node("n1", labels={labels.ZONE: "z1"})
    pods = (*waiting(1, shape(apart=near(labels.HOSTNAME))), bound("n1", shape()))
    assert where(planned(world(pods, (bare, node("n2")), types=()))) == {"pod-0": "n2"}
