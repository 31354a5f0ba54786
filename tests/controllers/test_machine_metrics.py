"""What is counted of machines: calls to the cloud, purchases, refusals, failures, remediations (R14, R38, R39, R40)."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.core.machines import machine_world as world

from dovetail.api import kinds
from dovetail.clouds import port
from dovetail.clouds.machines import Sought, UserData
from dovetail.clouds.sim.machines import CREATE, Fault, SimMachines
from dovetail.controllers.cluster_api import gauges, measured
from dovetail.controllers.cluster_api.measured import MeasuredMachines
from dovetail.controllers.cluster_api.stores import MachineStores
from dovetail.controllers.metrics import Metrics
from dovetail.core.conditions import Condition, Status
from dovetail.core.machines import infra, names
from dovetail.core.machines.effects import SaveInfra, SaveMachine
from dovetail.core.machines.objects import Failure
from dovetail.kube.decoding import Stored

BOOT = UserData(b"x")


def measuring() -> tuple[SimMachines, MeasuredMachines, Metrics]:
    metrics = gauges.declare(Metrics())
    cloud = SimMachines("aws", lambda: 0.0)
    return cloud, MeasuredMachines(cloud, metrics, lambda: 0.0), metrics


def order() -> infra.Purchase:
    return infra.purchase(world.infra(wanted=world.spot()), world.machine(), world.cluster())


def test_a_purchase_is_counted_by_what_the_cloud_made_of_it():
    _, one, metrics = measuring()
    asyncio.run(one.create(order(), BOOT))
    assert metrics.value(measured.LAUNCHES, {"cloud": "aws", "capacity_type": "spot"}) == 1


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (port.NoCapacity("none"), "capacity"),
        (port.Misconfigured("bad"), "persistent"),
        (port.Throttled("busy", 1.0), "transient"),
    ],
)
def test_R38_a_refusal_is_counted_by_what_it_means(error: port.CloudError, reason: str):
    cloud, one, metrics = measuring()
    cloud.fail(Fault(CREATE, error))
    with pytest.raises(type(error)):
        asyncio.run(one.create(order(), BOOT))
    assert metrics.value(measured.REFUSALS, {"cloud": "aws", "reason": reason}) == 1
    assert metrics.value(measured.ERRORS, {"cloud": "aws", "call": "create", "error": type(error).__name__}) == 1
    assert metrics.value(measured.LAUNCHES, {"cloud": "aws", "capacity_type": "spot"}) == 0


def test_an_instance_that_is_not_there_is_no_error():
    _, one, metrics = measuring()
    with pytest.raises(port.NotFound):
        asyncio.run(one.find(Sought("n", "c", "t")))
    assert "machine_cloud_errors_total{" not in metrics.text()


def test_R39_a_failure_is_counted_once_and_by_its_reason():
    metrics = gauges.declare(Metrics())
    counting = gauges.Counting(metrics)
    before = world.infra()
    failed = replace(before, failure=Failure("CreateError", "no"))
    counting(SaveInfra(before, failed), False)
    counting(SaveInfra(before, failed), True)
    counting(SaveInfra(failed, replace(failed, state="gone")), True)
    assert metrics.value(gauges.FAILURES, {"kind": before.kind, "reason": "CreateError"}) == 1


def test_R40_a_machine_that_is_handed_over_is_counted_by_why():
    metrics = gauges.declare(Metrics())
    before = world.machine()
    held = (
        Condition(names.HEALTH_CHECK_SUCCEEDED, Status.FALSE, "NodeDeleted"),
        Condition(names.OWNER_REMEDIATED, Status.FALSE, "WaitingForRemediation"),
    )
    given = replace(before, conditions=held)
    counting = gauges.Counting(metrics)
    counting(SaveMachine(before, given), True)
    counting(SaveMachine(given, replace(given, phase=given.phase)), True)
    assert metrics.value(gauges.REMEDIATIONS, {"reason": "NodeDeleted"}) == 1


def test_a_machine_that_somebody_else_heals_is_counted_once_per_becoming_unhealthy():
    metrics = gauges.declare(Metrics())
    counting = gauges.Counting(metrics)
    well = world.machine()
    ill = Condition(names.HEALTH_CHECK_SUCCEEDED, Status.FALSE, "UnhealthyNode")
    reasons = ("RemediationTemplateNotFound", "WaitingForRemediation", "RemediationRequestCreationFailed")
    lost, waiting, refused = (
        replace(well, conditions=(ill, Condition(names.EXTERNALLY_REMEDIATED, Status.FALSE, one))) for one in reasons
    )
    for before, after in ((well, lost), (lost, waiting), (waiting, refused), (refused, waiting), (waiting, well)):
        counting(SaveMachine(before, after), True)
    assert metrics.value(gauges.REMEDIATIONS, {"reason": "UnhealthyNode"}) == 1
    counting(SaveMachine(well, waiting), True)
    assert metrics.value(gauges.REMEDIATIONS, {"reason": "UnhealthyNode"}) == 2


def test_machines_are_shown_by_phase_and_their_infrastructure_by_state():
    metrics = gauges.declare(Metrics())
    stores = MachineStores(kinds.INFRA_MACHINES, core=True)
    gauges.declare_gauges(metrics, stores)
    one, below = world.machine(), world.infra()
    stores.machines.put(Stored(("ns", one.name), "u", 1, one))
    stores.infra[kinds.AWS_MACHINES].put(Stored(("ns", below.name), "u", 1, below))
    page = metrics.text()
    phase = f'dovetail_machines{{namespace="ns",cluster="{one.cluster}",phase="{one.phase}"}} 1'
    assert phase in page
    assert 'dovetail_machine_infrastructure{kind="AWSMachine",state="' in page
