"""What a claim says of itself: Drifted and Consolidatable (S3.11)."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from tests.core.disruption.clusters import HOUR, NOW, RESERVATION, TYPES, Member, kind, member, policy, reserved

from dovetail.core import conditions, labels
from dovetail.core.catalog.layers import Catalog
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.drift_checks import AGAIN_SECONDS, as_settled, drift_reason, judged
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.effects import SaveClaim
from dovetail.core.nodeclaims import CONSOLIDATABLE, DRIFTED, NodeClaim
from dovetail.core.requirements import Requirement, does_not_exist, exists, is_in, requirement


def catalog(*types: object) -> Catalog:
    return Catalog(MappingProxyType({one.name: one for one in types}))  # type: ignore[attr-defined]


ALL = catalog(*TYPES)


def claim_of(one: Member) -> NodeClaim:
    assert one.machine.claim is not None
    return one.machine.claim


def reason(one: Member, of: PoolPolicy | None = None, types: Catalog = ALL, cloud: str = "") -> str | None:
    return drift_reason(claim_of(one), of or policy(), types, cloud, NOW)


def test_a_claim_as_its_pool_wants_it_has_not_drifted() -> None:
    assert reason(member("a")) is None


def test_another_template_hash_is_drift_and_is_named_first() -> None:
    assert reason(member("a"), policy(template_hash="2"), cloud="ImageDrift") == "NodePoolDrifted"


def test_hashes_of_another_version_or_none_at_all_are_not_compared() -> None:
    assert reason(member("a"), policy(template_hash="2", hash_version="v4")) is None
    assert reason(member("a", claim_annotations={"karpenter.sh/nodepool-hash": ""}), policy(template_hash="2")) is None


@pytest.mark.parametrize(
    ("wanted", "drifted"),
    [
        (is_in(labels.ZONE, "z2"), True),
        (is_in(labels.ZONE, "z1", "z2"), False),
        (exists(labels.ZONE), False),
        (is_in("example.com/team", "red"), True),
        (does_not_exist(labels.ZONE), True),
        (requirement("example.com/cpu", "Gt", ["10"]), True),
        (requirement("example.com/cpu", "Gt", ["2"]), False),
    ],
)
def test_labels_outside_what_the_pool_requires_are_drift(wanted: Requirement, drifted: bool) -> None:
    one = member("a", labels={"example.com/cpu": "5"})
    assert reason(one, policy("pool", wanted)) == ("RequirementsDrifted" if drifted else None)


def test_a_type_that_is_no_longer_sold_is_drift_after_an_hour() -> None:
    assert reason(member("a", "gone")) == "InstanceTypeNotFound"
    assert reason(member("a", "gone", created=NOW - HOUR / 2)) is None
    assert reason(member("a", zone="z9")) == "InstanceTypeNotFound"


def test_a_reserved_node_is_sold_as_long_as_its_type_is_at_the_market_S3_11() -> None:
    one = member("a", capacity_type=labels.RESERVED, labels={RESERVATION: "cr-gone"})
    assert reason(one) is None
    assert reason(one, types=catalog(reserved(TYPES[1], 1))) is None


def test_a_pool_that_demands_reserved_capacity_lets_a_fallback_node_drift_S3_11() -> None:
    fallback = member("a", capacity_type=labels.ON_DEMAND)
    assert reason(fallback, policy("pool", is_in(labels.CAPACITY_TYPE, labels.RESERVED))) == "RequirementsDrifted"
    both = is_in(labels.CAPACITY_TYPE, labels.RESERVED, labels.ON_DEMAND)
    assert reason(fallback, policy("pool", both)) is None, "not churned because a reservation went away"


def test_the_clouds_reason_is_asked_last() -> None:
    assert reason(member("a"), cloud="AMIDrift") == "AMIDrift"
    assert reason(member("a", "gone"), cloud="AMIDrift") == "InstanceTypeNotFound"


# ---- the conditions


def after(one: Member, of: PoolPolicy | None = None, cloud: str = "", now: float = NOW) -> NodeClaim | None:
    step = judged(claim_of(one), of or policy(), ALL, cloud, now)
    if not step.effects:
        return None
    (effect,) = step.effects
    assert isinstance(effect, SaveClaim)
    assert effect.locked
    return effect.after


def test_drift_is_written_with_its_reason_and_taken_back() -> None:
    drifted = after(member("a"), cloud="AMIDrift")
    assert drifted is not None
    found = conditions.found(drifted.conditions, DRIFTED)
    assert found == Condition(DRIFTED, Status.TRUE, "AMIDrift", "AMIDrift", NOW, 1)
    again = judged(drifted, policy(), ALL, "AMIDrift", NOW + 60)
    assert again.effects == ()
    (undone,) = judged(drifted, policy(), ALL, "", NOW + 60).effects
    assert isinstance(undone, SaveClaim)
    assert not undone.after.is_true(DRIFTED)


def test_nothing_is_said_of_a_claim_that_was_not_launched() -> None:
    assert after(member("a", true=()), cloud="AMIDrift") is None


def test_a_claim_is_consolidatable_when_no_pod_came_or_went_for_long_enough() -> None:
    fresh = member("a", last_pod_event=NOW - 30)
    step = judged(claim_of(fresh), policy(consolidate_after=60.0), ALL, "", NOW)
    (effect,) = step.effects
    assert isinstance(effect, SaveClaim)
    assert not effect.after.is_true(CONSOLIDATABLE)
    assert step.again == 30.0
    later = judged(effect.after, policy(consolidate_after=60.0), ALL, "", NOW + 30)
    assert isinstance(later.effects[0], SaveClaim)
    assert later.effects[0].after.is_true(CONSOLIDATABLE)


def test_a_claim_that_settles_anew_does_not_say_that_it_may_be_consolidated_though_nobody_wrote_that() -> None:
    calm = claim_of(member("a", last_pod_event=NOW - 90))
    assert calm.is_true(CONSOLIDATABLE)
    one = policy(consolidate_after=60.0)
    assert as_settled(calm, one, NOW) is calm
    stirred = replace(calm, last_pod_event=NOW - 1)
    assert not as_settled(stirred, one, NOW).is_true(CONSOLIDATABLE)
    assert as_settled(stirred, policy(consolidate_after=0.0), NOW) is stirred


def test_never_and_static_pools_are_not_consolidatable() -> None:
    gone = after(member("a"), policy(consolidate_after=None))
    assert gone is not None
    assert not gone.is_true(CONSOLIDATABLE)
    assert after(member("a"), policy(pool={"replicas": 1})) is None


def test_claims_that_go_and_pools_that_go_are_left_as_they_are() -> None:
    one = member("a")
    claim = claim_of(one)
    going = one.but(claim=replace(claim, meta=replace(claim.meta, deleting=NOW)))
    assert after(going, cloud="AMIDrift") is None
    assert after(one, policy(deleting=True), cloud="AMIDrift") is None


def test_a_claim_is_looked_at_again_after_five_minutes() -> None:
    assert judged(claim_of(member("a")), policy(), catalog(kind("m4", 4, 0.2)), "", NOW).again == AGAIN_SECONDS
