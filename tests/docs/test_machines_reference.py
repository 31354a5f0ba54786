"""docs/reference/cluster-api.md and handler.md say what Machines' loops and the handler tell: no event is missing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from dovetail.core.handler import marks
from dovetail.core.machines import names

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src/dovetail"
WORD = re.compile(r"`([A-Z][A-Za-z]+)`")


def calls(folder: str) -> Iterator[ast.Call]:
    for path in (SOURCE / folder).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield node


def words(expression: ast.expr) -> Iterator[str]:
    """Whatever a reason may come to: a word, a name of `names`, either side of a choice."""
    for node in ast.walk(expression):
        match node:
            case ast.Constant(value=str(value)):
                yield value
            case ast.Attribute(value=ast.Name(id="names"), attr=attr):
                yield getattr(names, attr)


def said(folder: str) -> Iterator[str]:
    """Words of events: handed to `Say` outright, or by way of a condition, a part of the end, or a failure."""
    places = {"Say": 1, "_Part": 0, "_failed": 4}
    for call in calls(folder):
        match call.func:
            case ast.Name(id=name) if name in places:
                yield from (word for one in call.args[places[name] : places[name] + 1] for word in words(one))


def test_every_event_of_machines_is_described() -> None:
    page = (ROOT / "docs/reference/cluster-api.md").read_text(encoding="utf-8")
    table = page.split("\n## Events\n")[1].split("\n## ")[0]
    told = {word for line in table.splitlines() if line.startswith("| `") for word in WORD.findall(line.split("|")[1])}
    by_variable = {
        "CloudNotAnswering",
        "InstanceDeletionFailed",
        "Evicted",
        "InstanceStopped",
        names.INVALID_CONFIGURATION,
    }
    source = (SOURCE / "core/machines/infra.py").read_text(encoding="utf-8")
    assert all(f'"{one}"' in source for one in by_variable - {names.INVALID_CONFIGURATION})
    of_requests = {
        "ExternalRemediationTemplateNotFound",
        "ExternalRemediationRequestCreationFailed",
        "ExternalRemediationRequestDeletionFailed",
    }
    source = (SOURCE / "core/machines/external.py").read_text(encoding="utf-8")
    assert all(f'"{one}"' in source for one in of_requests)
    assert told == {*said("core/machines"), *said("controllers/cluster_api")} | by_variable | of_requests


def test_every_condition_of_machines_is_described() -> None:
    page = (ROOT / "docs/reference/cluster-api.md").read_text(encoding="utf-8")
    source = (SOURCE / "core/machines/names.py").read_text(encoding="utf-8")
    types = re.findall(
        r'^[A-Z_]+: Final = "([A-Z]\w+)"$', source.split("\nREADY: ")[1].split("\n#: Why a machine failed")[0], re.M
    )
    assert len(types) > 15
    assert [one for one in types if f"`{one}`" not in page] == []


def test_every_event_of_the_handler_is_described() -> None:
    page = (ROOT / "docs/reference/handler.md").read_text(encoding="utf-8")
    told = set(WORD.findall(page.split("\nEvents on the Node: ")[1].split("\n\n")[0]))
    source = (SOURCE / "handler/acting.py").read_text(encoding="utf-8")
    handed = {word for call in calls("handler") if _is_say(call) for word in words(call.args[1])}
    named = set(re.findall(r'"([A-Z][A-Za-z]+)"', source.split("def _reason", 1)[1].split("\n\n", 1)[0]))
    assert told == handed | named | {marks.WITHDRAWN}


def _is_say(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "say" and len(call.args) > 2
