"""The structs read what a server stores and write what it accepts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import yaml
from tests.contract.crds.type_rows import TYPES

from dovetail.api import manifests
from dovetail.api.crds.ec2_node_class import Ec2NodeClass
from dovetail.api.crds.instance_type import InstanceType, InstanceTypeSpec
from dovetail.api.crds.kwok_node_class import KwokNodeClass
from dovetail.api.crds.metadata import Metadata, OwnerReference
from dovetail.api.crds.node_claim import NodeClaim, NodeClaimSpec
from dovetail.api.crds.node_pool import NodePool
from dovetail.api.crds.parts import ClaimCondition, NodeClassRef, Taint
from dovetail.api.crds.requirements import ClaimRequirement


def on_the_wire(value: object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "general", "uid": "u", "creationTimestamp": "2026-01-02T03:04:05Z", "managedFields": []},
    "spec": {
        "template": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
                "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"], "minValues": 1}],
                "expireAfter": "Never",
            },
        },
        "limits": {"cpu": 100, "memory": "1Ti"},
        "weight": 7,
    },
}


def test_a_pool_is_read_with_what_a_server_would_have_filled_in():
    pool = msgspec.convert(POOL, NodePool)
    assert pool.metadata.creation_timestamp == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert pool.spec.template.spec.expire_after == "Never"
    assert pool.spec.limits == {"cpu": 100, "memory": "1Ti"}
    assert pool.spec.disruption.consolidate_after == "0s"
    assert pool.spec.disruption.consolidation_policy == "WhenEmptyOrUnderutilized"
    assert [budget.nodes for budget in pool.spec.disruption.budgets] == ["10%"]
    assert pool.spec.replicas is None
    assert pool.status.nodes == 0


def test_fields_nobody_knows_are_passed_over():
    wire = {**POOL, "spec": {**POOL["spec"], "ofTomorrow": {"a": 1}}}
    assert msgspec.convert(wire, NodePool).spec == msgspec.convert(POOL, NodePool).spec


def test_a_value_the_rules_would_refuse_today_is_still_read():
    wire = {**POOL, "spec": {**POOL["spec"], "weight": 5000}}
    assert msgspec.convert(wire, NodePool).spec.weight == 5000


def test_a_claim_is_written_as_the_wire_wants_it():
    owner = OwnerReference(
        api_version="karpenter.sh/v1", kind="NodePool", name="general", uid="u", block_owner_deletion=True
    )
    claim = NodeClaim(
        metadata=Metadata(generate_name="general-", owner_references=(owner,)),
        spec=NodeClaimSpec(
            node_class_ref=NodeClassRef(group="g", kind="K", name="n"),
            requirements=(ClaimRequirement(key="a", operator="Exists"),),
            taints=(Taint(key="a/b", effect="NoSchedule"),),
        ),
    )
    wire = on_the_wire(claim)
    assert (wire["apiVersion"], wire["kind"]) == ("karpenter.sh/v1", "NodeClaim")
    assert wire["metadata"] == {
        "generateName": "general-",
        "ownerReferences": [
            {
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodePool",
                "name": "general",
                "uid": "u",
                "blockOwnerDeletion": True,
            }
        ],
    }
    assert wire["spec"]["nodeClassRef"] == {"group": "g", "kind": "K", "name": "n"}
    assert wire["spec"]["requirements"] == [{"key": "a", "operator": "Exists"}]
    assert wire["spec"]["taints"] == [{"key": "a/b", "effect": "NoSchedule"}]


def test_a_claims_status_uses_the_names_of_the_wire():
    condition = ClaimCondition(type="Ready", status="True", last_transition_time=datetime(2026, 1, 1, tzinfo=UTC))
    wire = {"providerID": "kwok://a", "imageID": "i", "conditions": [on_the_wire(condition)]}
    claim = msgspec.convert(
        {
            "metadata": {},
            "spec": {"nodeClassRef": {"group": "g", "kind": "k", "name": "n"}, "requirements": []},
            "status": wire,
        },
        NodeClaim,
    )
    assert (claim.status.provider_id, claim.status.image_id) == ("kwok://a", "i")
    assert claim.status.conditions == (condition,)
    assert on_the_wire(claim.status) == wire
    assert on_the_wire(condition)["lastTransitionTime"] == "2026-01-01T00:00:00Z"


@pytest.mark.parametrize("kind", [NodePool, NodeClaim, InstanceType])
def test_an_object_without_a_spec_cannot_be_read_where_one_is_needed(kind):
    with pytest.raises(msgspec.ValidationError, match="spec"):
        msgspec.convert({"metadata": {"name": "a"}}, kind)


def test_a_simulated_class_without_a_status_is_ready():
    found = msgspec.convert({"metadata": {"name": "default"}}, KwokNodeClass)
    assert [(one.type, one.status) for one in found.status.conditions] == [("Ready", "True")]


def test_no_offerings_and_an_empty_list_of_offerings_are_not_the_same():
    assert msgspec.convert({}, InstanceTypeSpec).offerings is None
    assert msgspec.convert({"offerings": []}, InstanceTypeSpec).offerings == ()
    assert on_the_wire(InstanceTypeSpec(offerings=())) == {"offerings": []}


def test_an_ec2_class_may_be_empty():
    assert msgspec.convert({"metadata": {"name": "a"}}, Ec2NodeClass).spec is None


def read(wire: dict[str, Any]) -> manifests.Manifests:
    return manifests.read([("types.yaml", yaml.safe_dump(wire))])


ACCEPTED = [row for row in TYPES.rows if not row.refused and not row.status]


@pytest.mark.parametrize("row", ACCEPTED, ids=str)
def test_an_instance_type_a_server_accepts_is_one_we_can_read(row):
    assert read(row.wire).problems == ()


def test_a_type_no_object_can_be_called_after_is_named_in_its_spec():
    wire = {"apiVersion": "karpenter.sh/v1alpha1", "kind": "InstanceType", "metadata": {"name": "d4s"}}
    found = read(wire | {"spec": {"instanceType": "Standard_D4s_v5", "overhead": {"memory": "1Gi"}}})
    assert [one.name for one in found.overrides] == ["Standard_D4s_v5"]
    (problem,) = read(wire | {"spec": {"instanceType": "a b"}}).problems
    assert "instanceType: 'a b' is not a label value" in str(problem)
