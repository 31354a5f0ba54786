"""Claims and Nodes as a watch delivers them, and the patches that change them."""

from __future__ import annotations

import msgspec
import pytest
from tests.core.lifecycle.claims import amounts, claim, node

from dovetail.api.live import claims, nodes
from dovetail.api.live.claims import ClaimReader
from dovetail.api.live.nodes import NodeReader
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import LAUNCHED, NodeClaim, NodeObject
from dovetail.core.taints import Effect, Taint

CLAIM = {
    "metadata": {
        "name": "general-x7",
        "uid": "u1",
        "resourceVersion": "41",
        "generation": 1,
        "creationTimestamp": "2026-11-15T12:00:00Z",
        "labels": {"karpenter.sh/nodepool": "general"},
        "finalizers": ["karpenter.sh/termination"],
        "ownerReferences": [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "general", "uid": "p1"}],
    },
    "spec": {
        "nodeClassRef": {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"},
        "requirements": [
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["b", "a"], "minValues": 2},
            {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        ],
        "resources": {"requests": {"cpu": "1500m"}},
        "expireAfter": "720h0m0s",
        "terminationGracePeriod": "1h30m",
    },
    "status": {
        "providerID": "kwok://n1",
        "conditions": [
            {"type": "Launched", "status": "True", "reason": "Launched", "lastTransitionTime": "2026-11-15T12:00:05Z"}
        ],
    },
}


def read_claim(body: object) -> NodeClaim:
    return ClaimReader().read(msgspec.json.encode(body))


def test_a_claim_is_read_whole():
    held = read_claim(CLAIM)
    assert held.pool == "general"
    assert held.is_true(LAUNCHED)
    assert held.requests.cpu_millis == 1500
    assert (held.expire_after, held.grace) == (2592000.0, 5400.0)
    assert held.meta.owners[0].uid == "p1"
    wanted = held.requirements.get("node.kubernetes.io/instance-type")
    assert wanted is not None
    assert (wanted.values, wanted.min_values) == (frozenset({"a", "b"}), 2)


def test_a_claim_that_never_expires_has_no_expiry():
    assert read_claim({**CLAIM, "spec": {**CLAIM["spec"], "expireAfter": "Never"}}).expire_after is None


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ({"requirements": [{"key": "a", "operator": "Near"}]}, "spec: requirements[0]"),
        ({"terminationGracePeriod": "soon"}, "spec: terminationGracePeriod"),
        ({"resources": {"requests": {"cpu": "lots"}}}, "spec: resources: requests: cpu"),
        ({"taints": [{"key": "a", "effect": "Sometimes"}]}, "spec: taints[0]: effect"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_field(spec: dict[str, object], place: str):
    with pytest.raises(BadInput) as caught:
        read_claim({**CLAIM, "spec": {**CLAIM["spec"], **spec}})
    assert str(caught.value).startswith(place)


def test_claims_with_equal_type_lists_share_them():
    reader = ClaimReader()
    first, second = (reader.read(msgspec.json.encode(CLAIM)) for _ in range(2))
    key = "node.kubernetes.io/instance-type"
    assert first.requirements.get(key) is second.requirements.get(key)


def test_of_a_claim_that_is_known_only_what_became_of_it_is_read_again():
    reader, body = ClaimReader(), {**CLAIM, "metadata": {**CLAIM["metadata"], "uid": "u1", "generation": 1}}
    before = reader.read(msgspec.json.encode(body))
    status = {"providerID": "sim://2", "nodeName": "n2", "capacity": {"cpu": "8"}}
    wire = msgspec.convert({**body, "status": status}, claims.ClaimWire)
    after = reader.of(wire, before)
    assert after == reader.of(wire)
    assert after.requirements is before.requirements
    assert (after.provider_id, after.node_name, after.conditions) == ("sim://2", "n2", ())


@pytest.mark.parametrize("other", [{"uid": "u2"}, {"generation": 2}])
def test_a_claim_of_another_life_or_with_another_spec_is_read_whole(other: dict[str, object]):
    reader, about = ClaimReader(), {**CLAIM["metadata"], "uid": "u1", "generation": 1}
    before = reader.read(msgspec.json.encode({**CLAIM, "metadata": about}))
    body = {**CLAIM, "metadata": {**about, **other}, "spec": {**CLAIM["spec"], "expireAfter": "1h"}}
    after = reader.of(msgspec.convert(body, claims.ClaimWire), before)
    assert before.expire_after != 3600.0
    assert after.expire_after == 3600.0


def test_labels_that_say_the_same_are_kept_once():
    first, second = (read_claim({**CLAIM, "metadata": {"name": "c", "labels": {"zone": "a" * 40}}}) for _ in range(2))
    assert first.meta.labels["zone"] is second.meta.labels["zone"]


def test_a_new_claim_lists_its_types_cheapest_first_and_reads_back_the_same():
    held = read_claim(CLAIM)
    body = claims.new_body(held, types=("b", "a"))
    by_key = {one["key"]: one for one in body["spec"]["requirements"]}
    assert by_key["node.kubernetes.io/instance-type"]["values"] == ["b", "a"]
    again = read_claim({**body, "metadata": {**body["metadata"], "uid": "u2"}})
    assert again.requirements == held.requirements
    assert (again.requests, again.grace, again.expire_after) == (held.requests, held.grace, held.expire_after)


def test_a_status_patch_names_only_what_changed():
    before = claim()
    assert claims.status_patch(before, before) is None
    after = claim(true=(LAUNCHED,), capacity=amounts(cpu="4"))
    patch = claims.status_patch(before, after)
    assert patch is not None
    assert set(patch["status"]) == {"providerID", "capacity", "conditions"}
    assert patch["status"]["capacity"] == {"cpu": "4"}


def test_a_metadata_patch_takes_away_what_is_gone_and_locks_only_for_finalizers():
    before, after = claim(labels={"a": "1", "b": "2"}), claim(labels={"a": "1"})
    assert claims.metadata_patch(before, after) == {"metadata": {"labels": {"b": None}}}
    freed = claims.metadata_patch(claim(), claim(finalizers=()))
    assert freed == {"metadata": {"finalizers": [], "resourceVersion": "1"}}


def applied(before: NodeObject, after: NodeObject) -> list[tuple[str, str]]:
    return [(one["op"], one["path"]) for one in nodes.patch_operations(before, after)]


def test_a_node_patch_insists_on_the_taints_it_replaces_and_on_nothing_else():
    old = Taint("a", Effect.NO_EXECUTE, "v", "2026-11-15T12:00:00Z")
    before, after = node(taints=(old,), labels={"x": "1"}), node(taints=(), labels={"x": "1", "karpenter.sh/y": "2"})
    operations = nodes.patch_operations(before, after)
    assert applied(before, after) == [
        ("add", "/metadata/labels/karpenter.sh~1y"),
        ("test", "/spec/taints"),
        ("replace", "/spec/taints"),
    ]
    assert operations[1]["value"] == [
        {"key": "a", "effect": "NoExecute", "value": "v", "timeAdded": "2026-11-15T12:00:00Z"}
    ]


def test_a_node_without_finalizers_gets_a_list_of_them():
    assert applied(node(), node(finalizers=("f",))) == [("add", "/metadata/finalizers")]


def test_a_node_is_read_with_its_taints_as_they_were_written():
    wire = {
        "metadata": {"name": "n1", "labels": {"a": "b"}},
        "spec": {
            "providerID": "kwok://n1",
            "taints": [{"key": "t", "effect": "NoExecute", "timeAdded": "2026-11-15T12:00:00Z"}],
        },
        "status": {
            "capacity": {"cpu": "4"},
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-15T12:00:00Z"}],
            "images": [{"names": ["x"]}],
            "nodeInfo": {"bootID": "b1"},
        },
    }
    held = NodeReader().read(msgspec.json.encode(wire))
    assert held.is_ready
    assert held.boot_id == "b1"
    assert held.allocatable == held.capacity
    assert held.taints[0].added == "2026-11-15T12:00:00Z"
