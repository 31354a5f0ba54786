"""What CreateFleet is asked, and what its answers mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dovetail.clouds.aws import tags
from dovetail.clouds.aws.fleet import Fleet, Miss, Pool, outcome, refusal, request, shortages, token_of
from dovetail.clouds.port import Misconfigured
from dovetail.core.catalog.shortages import Shortage

A = Pool("m5.large", "us-east-1a", "subnet-a", "ami-1", "karpenter.k8s.aws/t1", 0.096)
B = Pool("c5.large", "us-east-1b", "subnet-b", "ami-1", "karpenter.k8s.aws/t1", 0.085)
HELD = Pool("m5.large", "us-east-1a", "subnet-a", "ami-1", "karpenter.k8s.aws/t2", 0.0001, "cr-1")


def fleet(*pools: Pool, capacity_type: str = "on-demand", **more: Any) -> Fleet:
    return Fleet(capacity_type, pools or (A, B), (("team", "a"),), **more)


def entry(pool: Pool, **more: Any) -> dict[str, Any]:
    overrides = {"InstanceType": pool.instance_type, "SubnetId": pool.subnet_id, "AvailabilityZone": pool.zone}
    return {"LaunchTemplateAndOverrides": {"Overrides": overrides}, **more}


def test_a_fleet_is_instant_and_one_machine_for_each_claim() -> None:
    body = request(fleet(), ["one", "two"], "token")
    assert (body["Type"], body["ClientToken"]) == ("instant", "token")
    assert body["TargetCapacitySpecification"] == {
        "TotalTargetCapacity": 2,
        "DefaultTargetCapacityType": "on-demand",
    }
    (config,) = body["LaunchTemplateConfigs"]
    assert config["LaunchTemplateSpecification"] == {"LaunchTemplateName": A.template, "Version": "$Latest"}
    assert config["Overrides"][0] == {
        "InstanceType": "m5.large",
        "SubnetId": "subnet-a",
        "ImageId": "ami-1",
        "AvailabilityZone": "us-east-1a",
        "Priority": 0.096,
    }


def test_machines_say_for_whom_they_were_bought_and_volumes_do_not() -> None:
    body = request(fleet(), ["one"], "token")
    told = {one["ResourceType"]: tags.read(one["Tags"]) for one in body["TagSpecifications"]}
    assert told["instance"] == {"team": "a", "karpenter.sh/nodeclaim": "one"}
    assert told["volume"] == told["fleet"] == {"team": "a"}


@pytest.mark.parametrize(
    ("asked", "target", "options"),
    [
        (fleet(), "on-demand", {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}}),
        (fleet(own_prices=True), "on-demand", {"OnDemandOptions": {"AllocationStrategy": "prioritized"}}),
        (
            fleet(capacity_type="spot"),
            "spot",
            {"SpotOptions": {"AllocationStrategy": "price-capacity-optimized"}},
        ),
        (
            fleet(capacity_type="spot", own_prices=True),
            "spot",
            {"SpotOptions": {"AllocationStrategy": "capacity-optimized-prioritized"}},
        ),
        (
            fleet(HELD, capacity_type="reserved"),
            "on-demand",
            {"OnDemandOptions": {"AllocationStrategy": "lowest-price"}},
        ),
        (fleet(HELD, capacity_type="reserved", market="capacity-block"), "capacity-block", {}),
        (
            fleet(HELD, capacity_type="reserved", market="interruptible-capacity-reservation"),
            "reserved-capacity",
            {"ReservedCapacityOptions": {"ReservationTypes": ["interruptible-capacity-reservation"]}},
        ),
    ],
)
def test_each_kind_of_capacity_is_asked_for_in_its_own_way(asked: Fleet, target: str, options: dict[str, Any]) -> None:
    body = request(asked, ["one"], "token")
    assert body["TargetCapacitySpecification"]["DefaultTargetCapacityType"] == target
    assert {key: value for key, value in body.items() if key.endswith("Options")} == options


def test_a_context_is_passed_on() -> None:
    assert request(fleet(context="arn:x"), ["one"], "token")["Context"] == "arn:x"
    assert "Context" not in request(fleet(), ["one"], "token")


def test_a_token_is_the_claims_and_how_often_they_were_answered() -> None:
    one = token_of("c", {"a/1": 0, "b/2": 0})
    assert one == token_of("c", {"b/2": 0, "a/1": 0})
    others = [token_of("d", {"a/1": 0, "b/2": 0}), token_of("c", {"a/1": 1, "b/2": 0}), token_of("c", {"a/1": 0})]
    assert len({one, *others}) == 4
    assert len(one) <= 64


def test_machines_and_errors_may_stand_side_by_side() -> None:
    answer = {
        "Instances": [entry(B, InstanceIds=["i-2", "i-1"], InstanceType="c5.large")],
        "Errors": [entry(A, ErrorCode="InsufficientInstanceCapacity", ErrorMessage="none")],
    }
    found = outcome(fleet(), answer)
    assert [(one.instance_id, one.pool) for one in found.bought] == [("i-1", B), ("i-2", B)]
    assert found.missed == (Miss(A, "InsufficientInstanceCapacity", "none"),)


def test_an_error_that_names_no_zone_is_known_by_its_subnet() -> None:
    told = {"LaunchTemplateAndOverrides": {"Overrides": {"InstanceType": "m5.large", "SubnetId": "subnet-a"}}}
    found = outcome(fleet(), {"Errors": [{**told, "ErrorCode": "Unsupported", "ErrorMessage": ""}]})
    assert [one.pool for one in found.missed] == [A]


def test_an_error_that_names_no_pool_is_everybodys() -> None:
    found = outcome(fleet(), {"Errors": [{"ErrorCode": "UnfulfillableCapacity", "ErrorMessage": ""}]})
    assert [one.pool for one in found.missed] == [A, B]


def test_a_machine_of_which_the_answer_does_not_say_where_it_is_is_not_forgotten() -> None:
    found = outcome(fleet(), {"Instances": [{"InstanceIds": ["i-1"], "InstanceType": "m5.large"}]})
    assert (found.bought, found.unplaced) == ((), ("i-1",))


IN_GROUP = (("karpenter.k8s.aws/placement-group-id", "pg-1"),)


def test_a_full_placement_group_says_nothing_of_machines_outside_it() -> None:
    """S0.3: only the rows it names."""
    asked = fleet(A, B, within=IN_GROUP)
    assert shortages(asked, [Miss(A, "InsufficientInstanceCapacity", "none")]) == (
        Shortage("m5.large", "us-east-1a", "on-demand", within=IN_GROUP),
    )
    quota = shortages(asked, [Miss(A, "VcpuLimitExceeded", "quota")])
    assert quota == (Shortage("m5.large", "us-east-1a", "on-demand"),)


def test_a_group_that_spreads_and_is_full_takes_no_type_in_that_zone() -> None:
    other = replace(A, instance_type="c5.large")
    asked = fleet(A, other, B, within=IN_GROUP)
    told = "You have reached the limit of 7 instances per Availability Zone of a spread placement group"
    assert shortages(asked, [Miss(A, "InsufficientInstanceCapacity", told)]) == (
        Shortage("m5.large", "us-east-1a", "on-demand", within=IN_GROUP),
        Shortage("c5.large", "us-east-1a", "on-demand", within=IN_GROUP),
    )


def test_an_empty_answer_is_nothing() -> None:
    assert outcome(fleet(), {}).bought == ()


@pytest.mark.parametrize(
    ("asked", "code", "expected"),
    [
        (fleet(A), "InsufficientInstanceCapacity", Shortage("m5.large", "us-east-1a", "on-demand")),
        (fleet(A, capacity_type="spot"), "UnfulfillableCapacity", Shortage("m5.large", "us-east-1a", "spot")),
        (
            fleet(HELD, capacity_type="reserved"),
            "ReservationCapacityExceeded",
            Shortage("m5.large", "us-east-1a", "reserved", "cr-1"),
        ),
        (
            fleet(A, capacity_type="spot"),
            "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
            Shortage(capacity_type="spot"),
        ),
    ],
)
def test_a_miss_is_a_shortage_of_what_it_names(asked: Fleet, code: str, expected: Shortage) -> None:
    assert shortages(asked, [Miss(asked.pools[0], code, "")]) == (expected,)


def test_a_bad_request_is_no_shortage() -> None:
    bad = Miss(A, "InvalidAMIID.NotFound", "The image id '[ami-1]' does not exist")
    assert shortages(fleet(), [bad]) == ()
    problem = refusal([Miss(B, "InsufficientInstanceCapacity", ""), bad])
    assert isinstance(problem, Misconfigured)
    assert problem.reason == "AMINotFound"
    assert refusal([Miss(B, "InsufficientInstanceCapacity", "")]) is None
