"""How NodePools want their nodes to be treated, as `spec.disruption` and annotations say it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.objects import Json, pool

from dovetail.api.disruption import pools
from dovetail.api.disruption.pools import PoolRead
from dovetail.api.fields import fields
from dovetail.core.disruption import budgets
from dovetail.core.disruption.budgets import Budget
from dovetail.core.disruption.policies import PAYBACK, Thresholds
from dovetail.core.disruption.reasons import ConsolidationPolicy, Reason

NOON = 1_800_014_400.0


def read(disruption: Any = None, notes: Json | None = None, **more: Any) -> PoolRead:
    wire = pool(spec=None if disruption is None else {"disruption": disruption}, **more)
    wire["metadata"] |= {"annotations": notes} if notes else {}
    return pools.read(fields(wire))


def told(found: PoolRead) -> list[str]:
    return [str(one) for one in found.problems]


def test_a_pool_that_says_nothing_is_treated_as_the_api_server_would_fill_it_in() -> None:
    found = read()
    assert not found.problems
    assert found.sentence == ""
    policy = found.policy
    assert (policy.name, policy.consolidate_after) == ("general", 0.0)
    assert policy.policy is ConsolidationPolicy.WHEN_UNDERUTILIZED
    assert policy.budgets == budgets.DEFAULT
    assert policy.thresholds == Thresholds()
    assert (policy.healthy, policy.deleting, policy.hash_version) == (None, False, "v3")
    assert policy.template_hash.isdigit()


def test_everything_a_pool_can_say_is_read() -> None:
    window = {"nodes": "5", "reasons": ["Drifted"], "schedule": "0 9 * * 1-5", "duration": "8h"}
    found = read(
        {"consolidateAfter": "1h30m", "consolidationPolicy": "Balanced", "budgets": [{"nodes": "20%"}, window]},
        {PAYBACK: "2h"},
    )
    assert not found.problems
    assert found.policy.consolidate_after == 5400.0
    assert found.policy.policy is ConsolidationPolicy.BALANCED
    drifted = Budget("5", frozenset({Reason.DRIFTED}), "0 9 * * 1-5", 8 * 3600.0)
    assert found.policy.budgets == (Budget("20%"), drifted)
    assert found.policy.thresholds.payback == 7200.0


def test_never_is_never_and_no_budgets_limit_nothing() -> None:
    found = read({"consolidateAfter": "Never", "budgets": []})
    assert found.policy.consolidate_after is None
    assert found.policy.budgets == ()


@pytest.mark.parametrize(
    ("budget", "field", "why"),
    [
        ({"nodes": "ten"}, "spec: disruption: budgets[1]", "neither a number nor a percentage"),
        ({"nodes": "101%"}, "spec: disruption: budgets[1]", "neither a number nor a percentage"),
        ({"nodes": 5}, "spec: disruption: budgets[1]: nodes", "put it in quotes"),
        ({"nodes": "1", "schedule": "@daily"}, "spec: disruption: budgets[1]", "a schedule needs a duration"),
        ({"nodes": "1", "duration": "8h"}, "spec: disruption: budgets[1]", "a schedule needs a duration"),
        ({"nodes": "1", "schedule": "noon", "duration": "8h"}, "spec: disruption: budgets[1]", "is no schedule"),
        ({"nodes": "1", "schedule": "0 0 30 2 *", "duration": "8h"}, "spec: disruption: budgets[1]", "never comes"),
        ({"nodes": "1", "schedule": "@daily", "duration": "8"}, "budgets[1]: duration", "is not a duration"),
        ({"nodes": "1", "reasons": ["Drift"]}, "budgets[1]: reasons", "did you mean Drifted?"),
        ({"nodes": "1", "reasons": "Drifted"}, "budgets[1]: reasons", "expected a list, got text"),
        ({"nodes": "1", "reasons": [7]}, "budgets[1]: reasons", "7 is no reason"),
        ({"node": "1"}, "budgets[1]: node", "did you mean nodes?"),
        ("10%", "spec: disruption: budgets[1]", "expected a map, got text"),
    ],
)
def test_a_budget_that_cannot_be_read_is_named_and_allows_nothing(budget: Any, field: str, why: str) -> None:
    found = read({"budgets": [{"nodes": "50%"}, budget]})
    assert len(found.problems) == 1
    assert field in told(found)[0]
    assert why in told(found)[0]
    assert "budgets[1]" in found.sentence
    good, bad = found.policy.budgets
    assert budgets.problem_of(good) is None
    assert budgets.problem_of(bad) is not None
    shut = budgets.allowance(found.policy.budgets, Reason.EMPTY, 100, NOON)
    assert (shut.count, shut.number) == (0, 1)


def test_a_bad_budget_for_one_reason_leaves_the_others_as_they_are() -> None:
    found = read({"budgets": [{"nodes": "half", "reasons": ["Drifted"]}, {"nodes": "50%"}]})
    assert budgets.allowance(found.policy.budgets, Reason.DRIFTED, 10, NOON).count == 0
    assert budgets.allowance(found.policy.budgets, Reason.EMPTY, 10, NOON).count == 5


def test_settings_that_cannot_be_read_become_those_that_do_least() -> None:
    found = read({"consolidateAfter": "soon", "consolidationPolicy": "WhenUnderutilized", "expireAfter": "1h"})
    assert found.policy.consolidate_after is None
    assert found.policy.policy is ConsolidationPolicy.WHEN_EMPTY
    assert "did you mean WhenEmptyOrUnderutilized?" in " ".join(told(found))
    assert [one.place.parts[-1] for one in found.problems] == ["expireAfter", "consolidateAfter", "consolidationPolicy"]


@pytest.mark.parametrize("wrong", ["often", ["10%"], 7])
def test_a_disruption_block_that_is_none_stops_everything_and_says_so(wrong: object) -> None:
    found = read(wrong)
    assert "expected a map" in told(found)[0]
    assert budgets.allowance(found.policy.budgets, Reason.DRIFTED, 100, NOON).count == 0


def test_annotations_that_cannot_be_read_are_named_and_leave_what_holds_by_default() -> None:
    found = read(None, {PAYBACK: "half an hour"})
    assert found.policy.thresholds == Thresholds()
    assert told(found) == [
        "metadata: annotations: dovetail.dev/payback: 'half an hour' is not a duration; write it as 1h30m"
    ]


def test_a_pool_says_whether_its_machines_come_up_and_whether_it_goes() -> None:
    held = {"type": "NodeRegistrationHealthy", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    assert read(status={"conditions": [held]}).policy.healthy is False
    assert read(status={"conditions": [{**held, "status": "True"}]}).policy.healthy is True
    wire = pool()
    wire["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert pools.read(fields(wire)).policy.deleting


def test_a_pool_that_cannot_be_read_still_has_its_budgets() -> None:
    wire = pool(spec={"disruption": {"budgets": [{"nodes": "3"}]}, "weight": "heavy"})
    found = pools.read(fields(wire)).policy
    assert found.pool.problem is not None
    assert found.budgets == (Budget("3"),)
    assert found.template_hash == ""
