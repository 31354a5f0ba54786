"""Which conditions of a Node have its machine replaced, and which have it restarted."""

from __future__ import annotations

import pytest
from tests.clouds.aws.classes import HOME
from tests.clouds.aws.selling import region

from dovetail.clouds.aws.cloud import AwsCloud
from dovetail.clouds.aws.options import Options
from dovetail.clouds.aws.repairs import policies
from dovetail.controllers.disruption.assembly import repairs_of
from dovetail.core.conditions import Condition, Status
from dovetail.core.disruption.repair_policies import Action, Diagnosis, diagnosis

TEN_MINUTES, HALF_AN_HOUR = 600.0, 1800.0


def diagnosed(
    condition: str, reason: str, reboots: bool, after: float, status: Status = Status.FALSE
) -> Diagnosis | None:
    held = Condition(condition, status, reason, since=0.0)
    return diagnosis(repairs_of(policies(reboots)), [held], 0.0, after)


@pytest.mark.parametrize("reboots", [False, True])
@pytest.mark.parametrize(
    ("condition", "status", "after"),
    [
        ("Ready", Status.FALSE, HALF_AN_HOUR),
        ("Ready", Status.UNKNOWN, HALF_AN_HOUR),
        ("AcceleratedHardwareReady", Status.FALSE, TEN_MINUTES),
        ("StorageReady", Status.FALSE, HALF_AN_HOUR),
        ("NetworkingReady", Status.FALSE, HALF_AN_HOUR),
        ("KernelReady", Status.FALSE, HALF_AN_HOUR),
        ("ContainerRuntimeReady", Status.FALSE, HALF_AN_HOUR),
    ],
)
def test_a_node_that_stays_unhealthy_is_replaced(condition: str, status: Status, after: float, reboots: bool) -> None:
    assert diagnosed(condition, "Any", reboots, after - 1, status) is None
    found = diagnosed(condition, "Any", reboots, after, status)
    assert found is not None
    assert found.action is Action.REPLACE
    assert found.grace is None


@pytest.mark.parametrize("code", [13, 31, 48, 63, 64, 94, 95])
def test_what_eks_restarts_a_machine_for_is_restarted_where_that_is_allowed(code: int) -> None:
    reason = f"NvidiaXID{code}Error"
    replaced = diagnosed("AcceleratedHardwareReady", reason, False, TEN_MINUTES)
    restarted = diagnosed("AcceleratedHardwareReady", reason, True, TEN_MINUTES)
    assert replaced is not None
    assert replaced.action is Action.REPLACE
    assert restarted is not None
    assert restarted.action is Action.REBOOT
    assert restarted.grace is not None, "a drain without an end would keep a broken machine for ever"
    assert diagnosed("AcceleratedHardwareReady", reason, True, TEN_MINUTES - 1) is None


@pytest.mark.parametrize(
    "reason",
    [
        *(f"NvidiaXID{code}Error" for code in (74, 79, 119, 120, 121, 140, 130, 313)),
        "NvidiaNVLinkError",
        "NeuronDMAError",
    ],
)
def test_what_a_restart_does_not_cure_is_replaced_all_the_same(reason: str) -> None:
    found = diagnosed("AcceleratedHardwareReady", reason, True, TEN_MINUTES)
    assert found is not None
    assert found.action is Action.REPLACE


def test_the_cloud_restarts_where_it_was_told_to() -> None:
    def actions(reboots: bool) -> set[str]:
        options = Options(HOME, lambda: "1.35", reboots=reboots)
        cloud = AwsCloud(None, region(), options)  # type: ignore[arg-type]
        return {one.action for one in cloud.repair_policies}

    assert actions(reboots=False) == {"ReplaceNode"}
    assert actions(reboots=True) == {"ReplaceNode", "RebootNode"}
