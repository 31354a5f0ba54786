"""docs/reference/controller.md says what the controller does: no event or condition is missing or made up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from dovetail.controllers import provisioning, shifting
from dovetail.core import nodeclaims
from dovetail.core.disruption import drift_checks, rebooting
from dovetail.core.disruption.reasons import Reason
from dovetail.core.disruption.refusals import Code, Refusal
from dovetail.core.lifecycle import buffers, declared, interruption, pools

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/controller.md").read_text(encoding="utf-8")
FOLDERS = ("core/lifecycle", "core/disruption", "controllers", "controllers/disruption")
SOURCES = tuple(path for folder in FOLDERS for path in ROOT.glob(f"src/dovetail/{folder}/*.py"))
WORD = re.compile(r"`([A-Z][A-Za-z]+)`")


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.M)[0]


def column(title: str, *numbers: int) -> set[str]:
    """Words in code type of some columns of a section's tables."""
    rows = [line.split("|")[1:-1] for line in section(title).splitlines() if line.startswith("| ")]
    return {word for row in rows for number in numbers if number < len(row) for word in WORD.findall(row[number])}


def literals(node: ast.expr) -> Iterator[str]:
    """Strings an expression may come to: itself, or either side of an `or`."""
    for one in node.values if isinstance(node, ast.BoolOp) else (node,):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def calls(name: str, place: int) -> set[str]:
    """The literal strings that are handed to every call of this name, at this place."""
    found: set[str] = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                found.update(*(literals(one) for one in node.args[place : place + 1]))
    return found


def test_every_event_is_described_and_none_is_made_up():
    told = calls("Say", 1) | {event for event, _ in interruption.EVENTS.values()} | {rebooting.FAILED}
    told |= {event for code in Code if (event := Refusal(code, "").event) is not None}
    told |= {shifting.ACTIVE, shifting.CLEARED, provisioning.NOTHING_LEFT}
    assert column("Events", 0) == told | {"TerminatingOnInterruption", "Finalized"}


def test_every_condition_and_reason_is_described():
    types = {
        *(nodeclaims.LAUNCHED, nodeclaims.REGISTERED, nodeclaims.INITIALIZED, nodeclaims.CONSISTENT),
        *(nodeclaims.DRAINED, nodeclaims.VOLUMES_DETACHED, nodeclaims.INSTANCE_TERMINATING),
        *(nodeclaims.CONSOLIDATABLE, nodeclaims.DRIFTED, nodeclaims.DISRUPTION_REASON, nodeclaims.REBOOTING),
        *(pools.VALIDATED, pools.CLASS_READY, pools.REGISTRATION_HEALTHY, pools.DISRUPTION_READ),
        *(buffers.READY, buffers.PROVISIONING),
    }
    assert column("Conditions", 0) == types
    named = {buffers.RESOLVED, buffers.NO_TEMPLATE, buffers.NO_WORKLOAD, buffers.FAILED, declared.INVALID}
    obstacles = {"NodeNotReady", "StartupTaintsExist", "KnownEphemeralTaintsExist", "ResourceNotRegistered"}
    drifted = {drift_checks.POOL_DRIFTED, drift_checks.REQUIREMENTS_DRIFTED, drift_checks.TYPE_NOT_FOUND}
    reboots = {rebooting.REQUESTED, rebooting.ISSUED, rebooting.SUCCEEDED, rebooting.FAILED}
    disrupted = drifted | reboots | {str(one) for one in Reason}
    written = calls("Condition", 2) | named | obstacles | disrupted | {declared.CONFLICT}
    assert column("Conditions", 1, 2) - {"Ready"} == written
    source = (ROOT / "src/dovetail/core/lifecycle/registration.py").read_text(encoding="utf-8")
    assert all(f'return "{one}"' in source for one in obstacles)
