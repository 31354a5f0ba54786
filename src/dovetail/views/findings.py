"""`lint`: what was found, for people, for programs, and as SARIF for code-review tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dovetail.views.paint import PLAIN, Paint, Style

_PLACE: Final = re.compile(r"(?P<file>.*?)(?:, document \d+ \(line (?P<line>\d+)\))?", re.DOTALL)
_SARIF: Final = "https://json.schemastore.org/sarif-2.1.0.json"


class Level(StrEnum):
    """How bad it is; the words are SARIF's."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing lint looks for: in a few words, how bad it may be, and in full."""

    code: str
    name: str
    summary: str
    levels: tuple[Level, ...]
    about: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something somebody should look at: which object and field, what is wrong, and what to do."""

    rule: Rule
    level: Level
    object: str
    path: str
    message: str
    fix: str
    file: str = ""

    def __post_init__(self) -> None:
        assert self.level in self.rule.levels, f"{self.rule.code} is never {self.level}"

    @property
    def order(self) -> tuple[str, ...]:
        return (str(list(Level).index(self.level)), self.rule.code, self.file, self.object, self.path, self.message)

    @property
    def uri(self) -> str:
        match = _PLACE.fullmatch(self.file)
        return match["file"] if match else self.file

    @property
    def line(self) -> int | None:
        match = _PLACE.fullmatch(self.file)
        return int(match["line"]) if match and match["line"] else None


_STYLES: Final[Mapping[Level, Style]] = {
    Level.ERROR: Style.BAD,
    Level.WARNING: Style.NOTABLE,
    Level.NOTE: Style.DIM,
}


def text(findings: Sequence[Finding], paint: Paint = PLAIN) -> str:
    """The findings for people, the worst first."""
    if not findings:
        return "nothing to complain about\n"
    parts = []
    for one in findings:
        where = ": ".join(part for part in (one.file, one.object, one.path) if part)
        parts.append(f"{paint(_STYLES[one.level], f'{one.level} {one.rule.code}')}  {paint(Style.NAME, where)}\n")
        parts.append(f"    {one.message}\n    {paint(Style.DIM, 'fix:')} {one.fix}\n")
    counts = ", ".join(
        f"{count} {level}{'s' if count > 1 else ''}"
        for level in Level
        if (count := sum(one.level is level for one in findings))
    )
    return "".join(parts) + f"\n{counts}\n"


def wire(findings: Sequence[Finding]) -> list[dict[str, object]]:
    """The documented JSON."""
    return [
        {
            "code": one.rule.code,
            "rule": one.rule.name,
            "level": str(one.level),
            "file": one.uri,
            "line": one.line,
            "object": one.object,
            "path": one.path,
            "message": one.message,
            "fix": one.fix,
        }
        for one in findings
    ]


def sarif(findings: Sequence[Finding], rules: Sequence[Rule], version: str) -> dict[str, object]:
    """SARIF 2.1.0."""
    driver = {
        "name": "dovetail",
        "version": version,
        "rules": [_described(one) for one in rules],
    }
    return {
        "$schema": _SARIF,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(one) for one in findings]}],
    }


def _described(one: Rule) -> dict[str, object]:
    return {
        "id": one.code,
        "name": one.name,
        "shortDescription": {"text": one.summary},
        "fullDescription": {"text": f"{one.about[0].upper()}{one.about[1:]}."},
    }


def _result(one: Finding) -> dict[str, object]:
    physical: dict[str, object] = {"artifactLocation": {"uri": one.uri or "unknown"}}
    if one.line is not None:
        physical["region"] = {"startLine": one.line}
    logical = {"fullyQualifiedName": f"{one.object}: {one.path}" if one.path else one.object}
    return {
        "ruleId": one.rule.code,
        "level": str(one.level),
        "message": {"text": f"{one.message}. Fix: {one.fix}"},
        "locations": [{"physicalLocation": physical, "logicalLocations": [logical]}],
    }
