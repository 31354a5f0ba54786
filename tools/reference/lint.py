"""The table of lint.md: every rule, as the code declares it."""

from __future__ import annotations

from dovetail.cli.lint_rules import RULES

from .marks import table


def rules() -> str:
    rows = [(one.code, one.name, ", ".join(one.levels), one.about) for one in sorted(RULES, key=lambda one: one.code)]
    return table(("code", "name", "level", "finds"), rows)
