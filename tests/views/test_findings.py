"""Findings for programs: what a rule says of itself, and that nothing is found that a rule never finds."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.cli.lint_rules import RULES
from dovetail.views import findings
from dovetail.views.findings import Finding, Level, Rule

RULE = Rule("DV900", "odd-thing", "An odd thing", (Level.WARNING,), "a thing that is odd, and why that matters")


def test_sarif_describes_a_rule_in_short_and_in_full():
    wire: Any = findings.sarif([], [RULE], "1.0")
    (told,) = wire["runs"][0]["tool"]["driver"]["rules"]
    assert told["shortDescription"] == {"text": "An odd thing"}
    assert told["fullDescription"] == {"text": "A thing that is odd, and why that matters."}


def test_a_finding_is_as_bad_as_its_rule_may_be():
    Finding(RULE, Level.WARNING, "Pod a", "", "odd", "even it out")
    with pytest.raises(AssertionError, match="DV900 is never error"):
        Finding(RULE, Level.ERROR, "Pod a", "", "odd", "even it out")


def test_codes_and_names_of_rules_are_their_own():
    assert len({one.code for one in RULES}) == len({one.name for one in RULES}) == len(RULES)
    assert [one.code for one in sorted(RULES, key=lambda one: one.code)] == [
        f"DV{n:03}" for n in range(1, len(RULES) + 1)
    ]
