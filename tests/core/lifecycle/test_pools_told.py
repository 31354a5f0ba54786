"""§1.1, §2.7, §2.8: what a NodePool says of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.builders import pool
from tests.core.lifecycle.claims import START, amounts, claim, meta, node

from dovetail.core import conditions, resources
from dovetail.core.conditions import Condition, Status
from dovetail.core.effects import Health
from dovetail.core.lifecycle import pools
from dovetail.core.lifecycle.hashes import Template, pool_hash
from dovetail.core.lifecycle.health import Window
from dovetail.core.lifecycle.pools import (
    CLASS_READY,
    DISRUPTION_READ,
    REGISTRATION_HEALTHY,
    VALIDATED,
    ClassState,
    Held,
    PoolRecord,
)
from dovetail.core.nodeclaims import INITIALIZED, LAUNCHED, POOL_HASH, POOL_HASH_VERSION, REGISTERED
from dovetail.core.taints import Effect, Taint

READY = ClassState(Condition("Ready", Status.TRUE, "Ready"))


def record(**given: Any) -> PoolRecord:
    of = given.pop("of", pool("general"))
    return PoolRecord(meta(of.name), of, Template(of.node_class), **given)


def said(one: PoolRecord, type_: str) -> tuple[str, str]:
    found = conditions.found(one.conditions, type_)
    assert found is not None, f"nothing is said of {type_}"
    return str(found.status), found.reason


def test_a_pool_that_can_be_read_and_whose_class_is_ready_is_ready():
    judged = pools.judged(record(), READY, START)
    assert [one.type for one in judged.conditions] == [VALIDATED, CLASS_READY, "Ready"]
    assert all(one.status is Status.TRUE for one in judged.conditions)


def test_a_pool_that_cannot_be_read_says_why_and_is_not_ready():
    judged = pools.judged(record(problem="spec: limits: cpu: no quantity"), READY, START)
    found = conditions.found(judged.conditions, VALIDATED)
    assert found is not None
    assert (found.status, found.reason) == (Status.FALSE, "NodePoolValidationFailed")
    assert found.message == "spec: limits: cpu: no quantity"
    assert said(judged, "Ready")[0] == "False"


def test_one_taint_given_twice_makes_a_pool_invalid_also_if_one_is_a_startup_taint():
    taint = Taint("a", Effect.NO_SCHEDULE, "x")
    doubled = replace(pool("general"), taints=(taint,), startup_taints=(replace(taint, value="y"),))
    found = conditions.found(pools.judged(record(of=doubled), READY, START).conditions, VALIDATED)
    assert found is not None
    assert found.message == "spec: template: spec: taints: a:NoSchedule is given twice"


def test_one_key_with_two_effects_is_two_taints():
    both = replace(pool("general"), taints=(Taint("a", Effect.NO_SCHEDULE), Taint("a", Effect.NO_EXECUTE)))
    assert said(pools.judged(record(of=both), READY, START), VALIDATED)[0] == "True"


@pytest.mark.parametrize(
    ("node_class", "reason"),
    [
        (None, "NodeClassNotFound"),
        (replace(READY, deleting=True), "NodeClassTerminating"),
        (ClassState(), "NodeClassReadinessUnknown"),
        (ClassState(Condition("Ready", Status.UNKNOWN)), "NodeClassReadinessUnknown"),
        (ClassState(Condition("Ready", Status.FALSE, "NoSubnets", "no subnet was found")), "NoSubnets"),
    ],
)
def test_a_pool_is_not_ready_while_its_class_is_not(node_class: ClassState | None, reason: str):
    judged = pools.judged(record(), node_class, START)
    assert said(judged, CLASS_READY) == ("False", reason)
    assert said(judged, "Ready")[0] == "False"


def test_what_nobody_can_read_of_its_disruption_settings_is_said_until_it_can_be_read():
    before = pools.judged(record(), READY, START)
    told = pools.disruption_told(before, "budgets[0]: nodes: many", START + 1)
    assert said(told, DISRUPTION_READ) == ("False", "UnreadableSettings")
    assert said(told, "Ready")[0] == "True"
    assert told.conditions[-1].type == "Ready"
    assert pools.disruption_told(told, "", START + 2) == before


def test_a_pool_counts_what_its_nodes_have():
    counted = pools.counted(record(), Held(2, amounts(cpu="6", memory="8Gi", example_com="3")))
    assert counted.nodes == 2
    assert counted.resources == amounts(
        cpu="6", memory="8Gi", nodes="2", pods="0", ephemeral_storage="0", example_com="3"
    )


def test_a_pool_without_nodes_has_none_of_everything():
    assert pools.counted(record(), Held()).resources == pools.EMPTY


def test_what_just_reaches_a_limit_does_not_exceed_it():
    limited = record(of=replace(pool("general"), limits=amounts(cpu="6")))
    assert pools.exceeded(limited, Held(2, amounts(cpu="6"))) == ""
    over = pools.exceeded(limited, Held(2, amounts(cpu="6001m")))
    assert over == "cpu is limited to 6, and 6001m is there"


def test_a_limit_of_nodes_counts_nodes():
    limited = record(of=replace(pool("general"), limits=resources.Resources({"nodes": 1})))
    assert pools.exceeded(limited, Held(1, amounts(cpu="1"))) == ""
    assert pools.exceeded(limited, Held(2, amounts(cpu="2"))) == "nodes is limited to 1, and 2 is there"


def test_a_pool_without_limits_exceeds_nothing():
    assert pools.exceeded(record(), Held(1, amounts(cpu="1000"))) == ""


def test_the_drift_hash_is_written_beside_what_stands_there():
    held = record()
    noted = pools.hashed(replace(held, meta=replace(held.meta, annotations={"mine": "yes"})))
    assert noted.meta.annotations == {
        "mine": "yes",
        POOL_HASH: pool_hash(held.template),
        POOL_HASH_VERSION: "v3",
    }


# ---- whether machines come up

FAILED = Health("general", "uid", healthy=False, reason="LaunchFailed", message="no stock")
UP = Health("general", "uid", healthy=True)


def test_the_first_machine_that_comes_up_makes_a_pool_healthy():
    told, window = pools.health_told(record(), Window(), UP, START)
    assert said(told, REGISTRATION_HEALTHY) == ("True", REGISTRATION_HEALTHY)
    assert window == Window((True,))


def test_one_failure_says_nothing_and_a_second_says_what_failed():
    once, window = pools.health_told(record(), Window(), FAILED, START)
    assert once.conditions == ()
    twice, window = pools.health_told(once, window, FAILED, START)
    found = conditions.found(twice.conditions, REGISTRATION_HEALTHY)
    assert found is not None
    assert (found.status, found.reason, found.message) == (Status.FALSE, "LaunchFailed", "no stock")
    assert window == Window((False, False))


def test_a_failure_without_a_reason_is_a_registration_that_failed():
    bare = Health("general", "uid", healthy=False)
    told, _ = pools.health_told(record(), Window((False,)), bare, START)
    assert said(told, REGISTRATION_HEALTHY) == ("False", "RegistrationFailed")


def test_the_first_reason_why_a_pool_is_unhealthy_stays_while_it_is():
    told, window = pools.health_told(record(), Window((False,)), FAILED, START)
    later, _ = pools.health_told(told, window, replace(FAILED, reason="Other"), START + 60)
    assert said(later, REGISTRATION_HEALTHY) == ("False", "LaunchFailed")


def test_an_unhealthy_pool_is_healthy_again_when_three_of_the_last_four_came_up():
    told, window = pools.health_told(record(), Window((False,)), FAILED, START)
    for expected in ("False", "False", "True"):
        told, window = pools.health_told(told, window, UP, START)
        assert said(told, REGISTRATION_HEALTHY)[0] == expected


def test_a_restart_knows_what_the_pool_was_left_with():
    assert pools.seeded(record()) == Window()
    healthy, _ = pools.health_told(record(), Window(), UP, START)
    assert pools.seeded(healthy).healthy is True
    ill, _ = pools.health_told(record(), Window((False,)), FAILED, START)
    assert pools.seeded(ill).healthy is False


def test_what_happened_before_is_forgotten_when_the_pool_or_its_class_changes():
    assert pools.must_forget(record(), 0), "nothing was said yet"
    known = pools.forgotten(pools.judged(record(), READY, START), 7, START)
    assert said(known, REGISTRATION_HEALTHY) == ("Unknown", "AwaitingReconciliation")
    assert known.conditions[-1].type == "Ready"
    assert not pools.must_forget(known, 7)
    assert pools.must_forget(known, 8)
    assert pools.must_forget(replace(known, meta=replace(known.meta, generation=2)), 7)


# ---- what nodes have


def test_a_device_that_is_not_registered_yet_counts_against_the_limit_all_the_same():
    bought = claim(true=(LAUNCHED, REGISTERED), capacity=amounts(cpu="8", memory="16Gi", **{"nvidia.com/gpu": "4"}))
    fresh = node(capacity=amounts(cpu="7", memory="0", **{"nvidia.com/gpu": "0"}))
    assert pools.capacity(bought, None) == bought.capacity
    assert pools.capacity(bought, fresh) == amounts(cpu="7", memory="16Gi", **{"nvidia.com/gpu": "4"})
    up = claim(true=(LAUNCHED, REGISTERED, INITIALIZED), capacity=bought.capacity)
    assert pools.capacity(up, fresh) == fresh.capacity
