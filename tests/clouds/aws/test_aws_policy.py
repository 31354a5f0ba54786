"""The IAM policy: everything the code calls is allowed, nothing else is, and what is not in use is left out."""

from __future__ import annotations

import ast
import json
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from botocore.loaders import create_loader
from tests.clouds.aws import orders
from tests.clouds.aws.classes import Desk, is_ready, node_class, sat
from tests.clouds.aws.shop import Shop, visited
from tools.aws_server import Account, AwsServer

import dovetail.clouds.aws
from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.aws.policy import ALWAYS, LONGEST, RIGHTS, Feature, Scope, features_of, parameters_of, policy

_TAGS = "TagSpecifications"
ROOM = Path(dovetail.clouds.aws.__file__).parent
#: Known, and made by nobody: who one is anybody may ask.
UNUSED = {calls.GET_IDENTITY}
EVERYTHING = Scope("prod", "eu-west-1", "123456789012", role="prod-nodes", queue="prod", features=frozenset(Feature))


def made() -> set[Call]:
    """Every call that is named anywhere but where they are defined and allowed."""
    found: set[Call] = set()
    for path in ROOM.rglob("*.py"):
        if path.name in ("calls.py", "policy.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "calls":
                value = getattr(calls, node.attr)
                found |= {value} if isinstance(value, Call) else set()
    return found


def statements(scope: Scope = EVERYTHING) -> list[dict[str, Any]]:
    return policy(scope)["Statement"]


def actions(scope: Scope = EVERYTHING) -> set[str]:
    return {action for one in statements(scope) for action in one["Action"]}


def test_what_the_code_calls_is_allowed_and_what_is_allowed_is_called() -> None:
    allowed = {call for right in RIGHTS for call in right.calls}
    assert allowed == made()
    assert set(calls.EVERY) - made() == UNUSED


def test_every_call_is_one_that_the_service_has() -> None:
    models = create_loader()
    for call in calls.EVERY:
        assert call.name in models.load_service_model(call.service, "service-2")["operations"], call


def test_batches_are_allowed_under_the_name_iam_knows() -> None:
    assert "sqs:DeleteMessage" in actions()
    assert not any("Batch" in one for one in actions())


def test_every_statement_has_a_name_of_its_own_and_says_why() -> None:
    names = [one["Sid"] for one in statements()]
    assert len(set(names)) == len(names)
    assert all(name.isalnum() for name in names)
    assert all(len(right.why.split()) >= 3 for right in RIGHTS)


def test_the_whole_policy_fits_into_one() -> None:
    longest = Scope("c" * 100, "ap-southeast-1", "1" * 12, "aws-us-gov", "r" * 64, "q" * 80, (), frozenset(Feature))
    assert len(json.dumps(policy(longest), separators=(",", ":"))) <= LONGEST


def test_whatever_changes_anything_is_bound_to_the_tag_of_the_cluster() -> None:
    for one in statements():
        changes = [each for each in one["Action"] if each.startswith("ec2:") and "Describe" not in each]
        if not changes or one["Sid"] == "LaunchFrom":
            continue
        told = {key.partition("/")[2]: value for key, value in one["Condition"]["StringEquals"].items()}
        assert told[tags.CLUSTER] == EVERYTHING.cluster, one["Sid"]


def test_only_reading_is_allowed_on_everything() -> None:
    for one in statements():
        if one["Resource"] == ["*"]:
            assert all("Describe" in each or each == "pricing:GetProducts" for each in one["Action"]), one["Sid"]


def test_profiles_of_other_clusters_are_out_of_reach() -> None:
    keep = next(one for one in statements() if one["Sid"] == "KeepProfiles")
    assert keep["Resource"] == ["arn:aws:iam::123456789012:instance-profile/karpenter/eu-west-1/prod/*"]


def test_no_region_means_no_condition_on_one() -> None:
    read = next(one for one in statements(Scope("prod")) if one["Sid"] == "Read")
    assert "Condition" not in read
    read = next(one for one in statements() if one["Sid"] == "Read")
    assert read["Condition"] == {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}


@pytest.mark.parametrize(
    ("feature", "action"),
    [
        (Feature.QUEUE, "sqs:ReceiveMessage"),
        (Feature.ROLES, "iam:CreateInstanceProfile"),
        (Feature.RESERVATIONS, "ec2:DescribeCapacityReservations"),
        (Feature.PRICES, "pricing:GetProducts"),
        (Feature.PLACEMENT_GROUPS, "ec2:DescribePlacementGroups"),
        (Feature.REBOOTS, "ec2:RebootInstances"),
        (Feature.ALIASES, "ssm:GetParameter"),
    ],
)
def test_what_is_not_in_use_is_not_asked_for(feature: Feature, action: str) -> None:
    assert action not in actions(Scope("prod"))
    assert action in actions(Scope("prod", features=ALWAYS | {feature}))


def test_reservations_are_launched_into_only_where_they_are_used() -> None:
    def launched_from(*features: Feature) -> list[str]:
        found = statements(Scope("prod", features=ALWAYS | {*features}))
        return next(one for one in found if one["Sid"] == "LaunchFrom")["Resource"]

    assert not any("capacity-reservation" in one for one in launched_from())
    assert any("capacity-reservation" in one for one in launched_from(Feature.RESERVATIONS))


def test_node_classes_say_what_they_need() -> None:
    plain = {"spec": {"instanceProfile": "nodes", "amiSelectorTerms": [{"id": "ami-1"}]}}
    assert features_of([plain]) == frozenset()
    rich = {
        "spec": {
            "role": "nodes",
            "amiSelectorTerms": [{"ssmParameter": "/golden/image"}, {"ssmParameter": "/aws/service/eks/x"}],
            "capacityReservationSelectorTerms": [{"id": "cr-1"}],
            "placementGroupSelector": {"name": "near"},
        }
    }
    wanted = {Feature.ROLES, Feature.ALIASES, Feature.RESERVATIONS, Feature.PLACEMENT_GROUPS}
    assert features_of([plain, rich]) == wanted
    assert parameters_of([rich]) == ("/golden/image",)
    found = statements(Scope("prod", parameters=("/golden/image",), features=ALWAYS | wanted))
    read = next(one for one in found if one["Sid"] == "ReadParametersOfImages")
    assert "arn:aws:ssm:*:*:parameter/golden/image" in read["Resource"]


@pytest.mark.parametrize("strange", [{}, {"spec": None}, {"spec": []}, {"spec": {"amiSelectorTerms": "all"}}])
def test_a_class_that_cannot_be_read_needs_nothing(strange: dict[str, Any]) -> None:
    assert features_of([strange]) == frozenset()


def test_a_machine_is_bought_tagged_and_ended_with_no_call_beyond_the_policy(
    aws_server: AwsServer, aws_account: Account
) -> None:
    async def scenario(shop: Shop) -> None:
        bought = await shop.launcher.launch(orders.order(), orders.resolved(aws_account))
        await shop.instances.tag(id_of(bought.provider_id), {tags.NAME: "node"})
        await shop.instances.terminate(id_of(bought.provider_id))
        allowed = actions(Scope("prod"))
        for name in shop.counts.calls:
            assert any(fnmatchcase(f"ec2:{name}", one) for one in allowed), name

    orders.price(aws_server.world, "m5.large")
    visited(aws_server, scenario)


def test_what_is_made_or_tried_carries_the_tag_that_the_policy_asks_for(
    aws_server: AwsServer, aws_account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []
    once = Aws._once

    async def heard(self: Aws, call: Call, request: dict[str, Any], end: float) -> dict[str, Any]:
        asked.append((call.name, request))
        return await once(self, call, request, end)

    async def looked(desk: Desk) -> None:
        assert is_ready(await desk.look(node_class(aws_account)))

    async def bought(shop: Shop) -> None:
        await shop.launcher.launch(orders.order(capacity=orders.ANY), orders.resolved(aws_account))

    monkeypatch.setattr(Aws, "_once", heard)
    orders.price(aws_server.world, "m5.large")
    sat(aws_server, looked)
    visited(aws_server, bought)
    made: dict[str, set[str]] = {}
    for name, request in asked:
        told = [*request.get("TagSpecifications", ()), *request.get("LaunchTemplateData", {}).get(_TAGS, ())]
        for one in told:
            assert tags.read(one["Tags"])[tags.CLUSTER] == aws_account.cluster, (name, one)
            made.setdefault(name, set()).add(one["ResourceType"])
    assert made == {
        "CreateLaunchTemplate": {"launch-template", "network-interface", "spot-instances-request"},
        "CreateFleet": {"instance", "volume", "fleet"},
        "RunInstances": {"instance", "volume"},
    }
