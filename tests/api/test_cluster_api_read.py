"""Cluster API's objects, in both versions and in every state of disrepair, as core values; and as patches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.api import kinds
from dovetail.api.cluster_api import infra_reading, reading, writing
from dovetail.api.crds.cluster_api.gcp import NO_BIDS
from dovetail.api.fields import fields
from dovetail.core.conditions import Condition, Status
from dovetail.core.errors import BadInput
from dovetail.core.machines import prices
from dovetail.core.machines.infra_objects import Market
from dovetail.core.machines.objects import EndTimes, Failure, Failures, Order, Phase, Sign, Timeouts

ABOUT = {"metadata": {"name": "m", "namespace": "default", "uid": "u", "creationTimestamp": "2027-01-15T08:00:00Z"}}
REF = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AWSMachine", "name": "m"}
OLD_REF = {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AWSMachine", "name": "m"}
SPEC = {"clusterName": "c", "bootstrap": {"dataSecretName": "s"}, "infrastructureRef": REF}


def machine(spec: dict[str, Any] | None = None, status: dict[str, Any] | None = None) -> Any:
    return reading.machine(fields({**ABOUT, "spec": SPEC | (spec or {}), "status": status or {}}))


def infra(kind: kinds.Kind, spec: dict[str, Any], status: dict[str, Any] | None = None) -> Any:
    return infra_reading.infra_machine(kind, fields({**ABOUT, "spec": spec, "status": status or {}}))


# ------------------------------------------------------------------------------------------------ two versions


def test_both_versions_of_a_machine_say_the_same():
    new = machine(
        {"deletion": {"nodeDrainTimeoutSeconds": 600, "nodeDeletionTimeoutSeconds": 0}},
        {
            "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
            "deprecated": {"v1beta1": {"failureReason": "CreateError", "failureMessage": "x"}},
            "nodeRef": {"name": "n"},
            "phase": "Failed",
        },
    )
    old = machine(
        {"nodeDrainTimeout": "10m", "nodeDeletionTimeout": "0s", "infrastructureRef": OLD_REF},
        {
            "infrastructureReady": True,
            "bootstrapReady": True,
            "failureReason": "CreateError",
            "failureMessage": "x",
            "nodeRef": {"kind": "Node", "name": "n"},
            "phase": "Failed",
        },
    )
    assert new == old
    assert (new.timeouts, new.failure) == (Timeouts(600.0, 0.0, 0.0), Failure("CreateError", "x"))
    assert (new.provisioned, new.bootstrapped, new.node, new.phase) == (True, True, "n", Phase.FAILED)


def check(spec: dict[str, Any], status: dict[str, Any] | None = None) -> Any:
    wanted = {"clusterName": "c", "selector": {"matchLabels": {"a": "b"}}} | spec
    return reading.health_check(fields({**ABOUT, "spec": wanted, "status": status or {}}))


def test_both_versions_of_a_health_check_say_the_same():
    new = check(
        {
            "checks": {
                "nodeStartupTimeoutSeconds": 300,
                "unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 90}],
            },
            "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%", "unhealthyInRange": "[1-3]"}},
        }
    )
    old = check(
        {
            "nodeStartupTimeout": "5m",
            "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "90s"}],
            "maxUnhealthy": "40%",
            "unhealthyRange": "[1-3]",
        }
    )
    assert new == old
    assert (new.startup, new.node_signs, new.span) == (300.0, (Sign("Ready", "Unknown", 90.0),), (1, 3))


def test_a_bound_of_nothing_is_a_bound():
    trigger = {"remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 0}}}
    assert check(trigger).most == "0"
    assert check({}).most == "100%"


def test_a_checks_row_of_failures_is_read_back():
    found = check({}, {"backoff": {"failures": 3, "last": "2027-01-15T08:00:00Z"}})
    assert found.failures == Failures(3, 1_800_000_000.0)


@pytest.mark.parametrize("spec", [{"deletion": {"order": "Oldest"}}, {"deletePolicy": "Oldest"}])
def test_both_versions_of_a_set_say_who_goes_first(spec: dict[str, Any]):
    wanted = {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": SPEC}, "replicas": 3} | spec
    found = reading.machine_set(fields({**ABOUT, "spec": wanted}))
    assert (found.order, found.replicas, found.selector.matches({"a": "b"})) == (Order.OLDEST, 3, True)


@pytest.mark.parametrize(
    "status",
    [
        {
            "initialization": {"infrastructureProvisioned": True, "controlPlaneInitialized": True},
            "failureDomains": [{"name": "a"}],
        },
        {"infrastructureReady": True, "controlPlaneReady": True, "failureDomains": {"a": {"controlPlane": True}}},
    ],
)
def test_both_versions_of_a_cluster_say_whether_it_is_up(status: dict[str, Any]):
    found = reading.cluster(fields({**ABOUT, "spec": {}, "status": status}))
    assert (found.infrastructure, found.control_plane, found.zones) == (1_800_000_000.0, 1_800_000_000.0, ("a",))


def test_a_condition_goes_before_what_was_true_once():
    down = {"type": "InfrastructureReady", "status": "False", "lastTransitionTime": "2027-01-15T09:00:00Z"}
    status = {"initialization": {"infrastructureProvisioned": True}, "conditions": [down]}
    assert reading.cluster(fields({**ABOUT, "status": status})).infrastructure is None


# ------------------------------------------------------------------------------------------------ ways to ask for spot


AWS, GCP, AZURE = kinds.AWS_MACHINES, kinds.GCP_MACHINES, kinds.AZURE_MACHINES
SPOT = [
    (AWS, {"instanceType": "m5.large"}, Market.ON_DEMAND),
    (AWS, {"instanceType": "m5.large", "spotMarketOptions": {}}, Market.SPOT),
    (AWS, {"instanceType": "m5.large", "marketType": "Spot"}, Market.SPOT),
    (AWS, {"instanceType": "m5.large", "marketType": "OnDemand"}, Market.ON_DEMAND),
    (GCP, {"instanceType": "n2"}, Market.ON_DEMAND),
    (GCP, {"instanceType": "n2", "preemptible": True}, Market.PREEMPTIBLE),
    (GCP, {"instanceType": "n2", "provisioningModel": "Spot"}, Market.SPOT),
    (GCP, {"instanceType": "n2", "preemptible": True, "provisioningModel": "Spot"}, Market.SPOT),
    (GCP, {"instanceType": "n2", "preemptible": True, "provisioningModel": "Standard"}, Market.PREEMPTIBLE),
    (AZURE, {"vmSize": "D4"}, Market.ON_DEMAND),
    (AZURE, {"vmSize": "D4", "spotVMOptions": {}}, Market.SPOT),
]


@pytest.mark.parametrize(("kind", "spec", "market"), SPOT)
def test_R15_R22_R26_R32_every_way_to_ask_for_spot_is_understood(
    kind: kinds.Kind, spec: dict[str, Any], market: Market
):
    found = infra(kind, spec)
    assert found.wanted.market is market
    assert found.finalizer == f"{kind.name.lower()}.infrastructure.cluster.x-k8s.io"


def test_R24_a_preemptible_machine_has_a_day_and_spot_has_not():
    assert infra(GCP, {"instanceType": "n2", "preemptible": True}).wanted.lifetime == 86400.0
    assert infra(GCP, {"instanceType": "n2", "provisioningModel": "Spot"}).wanted.lifetime is None
    limited = {"instanceType": "n2", "provisioningModel": "Spot", "maxRunDuration": "12h"}
    assert infra(GCP, limited).wanted.lifetime == 43200.0


@pytest.mark.parametrize(("written", "text"), [("40m", "0.04"), (-1, "-1"), ("-1", "-1"), ("0.04", "0.04"), ("x", "x")])
def test_R28_azures_price_is_a_quantity(written: Any, text: str):
    assert infra(AZURE, {"vmSize": "D4", "spotVMOptions": {"maxPrice": written}}).wanted.max_price == text


def test_R23_a_price_on_gcp_is_kept_to_be_refused():
    wanted = infra(GCP, {"instanceType": "n2", "preemptible": True, "maxPrice": "1"}).wanted
    with pytest.raises(BadInput) as told:
        prices.max_price(wanted)
    assert str(told.value) == NO_BIDS["maxPrice"]


# ------------------------------------------------------------------------------------------------ what is written


def test_what_is_written_is_read_back():
    before = machine()
    after = replace(
        before,
        provider_id="x:///y",
        node="n",
        phase=Phase.RUNNING,
        provisioned=True,
        bootstrapped=True,
        failure=Failure("UpdateError", "gone"),
        ends=EndTimes(drain=1_800_000_060.0),
        conditions=(Condition("Ready", Status.FALSE, "NotReady", "x", 1_800_000_000.0, 1),),
    )
    patches = writing.machine(before, after, 1_800_000_000.0)
    assert machine(patches.whole["spec"], patches.status) == after


def test_nothing_changed_is_nothing_written():
    held = machine()
    assert writing.machine(held, held, 0.0) == writing.Patches({}, {})
    one = infra(AWS, {"instanceType": "m5.large"})
    assert writing.infra(AWS, one, one) == writing.Patches({}, {})


@pytest.mark.parametrize("kind", [AWS, GCP, AZURE])
def test_R32_R39_what_the_core_reads_is_written_in_both_versions_of_the_contract(kind: kinds.Kind):
    spec = {"instanceType": "m5.large", "vmSize": "D4"}
    before = infra(kind, spec)
    after = replace(
        before, provider_id="x", ready=True, provisioned=True, interruptible=True, state="running", zone="a",
        failure=Failure("UpdateError", "gone"),
    )  # fmt: skip
    patches = writing.infra(kind, before, after)
    assert patches.status["ready"] is True
    assert patches.status["initialization"] == {"provisioned": True}
    assert infra(kind, spec | patches.whole["spec"], patches.status) == after


# ------------------------------------------------------------------------------------------------ anything at all


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = (
    "spec", "status", "metadata", "name", "conditions", "type", "template", "infrastructureRef", "bootstrap", "checks",
    "selector", "deletion", "initialization", "failureDomains", "spotMarketOptions", "maxPrice", "ownerReferences",
)  # fmt: skip
OBJECTS = st.dictionaries(
    st.sampled_from(NAMES), st.dictionaries(st.sampled_from(NAMES), JSON, max_size=4) | JSON, max_size=4
)
READERS = [
    reading.cluster,
    reading.machine,
    reading.machine_set,
    reading.health_check,
    *(lambda whole, kind=kind: infra_reading.infra_machine(kind, whole) for kind in (AWS, GCP, AZURE)),
]


@pytest.mark.parametrize("read", READERS)
def test_whatever_an_object_is_it_is_read_or_refused_with_a_sentence(read: Any):
    @given(wire=OBJECTS)
    def tried(wire: dict[str, Any]) -> None:
        try:
            read(fields({**ABOUT, **wire}))
        except BadInput as bad:
            told = str(bad)
        else:
            told = "read"
        assert told

    tried()
