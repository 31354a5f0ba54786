"""The packages dovetail needs to run, followed from `pyproject.toml` through what is installed here.

Markers are read for the Python and the platform this runs on; a package only another platform needs is not listed.
"""

from __future__ import annotations

import importlib.metadata
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]


class NotInstalled(LookupError):
    """A package that is needed is not here to be asked."""


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    version: str
    licence: str
    description: str
    always: tuple[str, ...]
    extras: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Package:
    """One that is needed: by everybody, or only with the extras named."""

    name: str
    version: str
    extras: tuple[str, ...]
    needs: tuple[str, ...]


def project(file: Path = ROOT / "pyproject.toml") -> Project:
    table = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
    extras = table.get("optional-dependencies", {})
    return Project(
        table["name"],
        table["version"],
        table["license"],
        table["description"],
        tuple(table["dependencies"]),
        tuple((name, tuple(extras[name])) for name in sorted(extras)),
    )


def dev_requirements(file: Path = ROOT / "pyproject.toml") -> tuple[str, ...]:
    """What the tests and tools need, dovetail with its extras among it."""
    return tuple(tomllib.loads(file.read_text(encoding="utf-8"))["dependency-groups"]["dev"])


def needed(of: Project) -> list[Package]:
    """Every package in the closure, by name."""
    always = _closure(of.always)
    wanted_by: dict[str, list[str]] = {name: [] for name in always}
    found = dict(always)
    for extra, requirements in of.extras:
        for name, needs in _closure(requirements).items():
            found[name] = found.get(name, frozenset()) | needs
            if name not in always:
                wanted_by.setdefault(name, []).append(extra)
    return [
        Package(name, _distribution(name).version, tuple(wanted_by[name]), tuple(sorted(found[name])))
        for name in sorted(found)
    ]


def direct(of: Project) -> list[str]:
    """The packages `pyproject.toml` names itself."""
    written = [*of.always, *(line for _, lines in of.extras for line in lines)]
    return sorted({canonicalize_name(one.name) for one in _applying(written, "")})


def _closure(lines: Iterable[str]) -> dict[str, frozenset[str]]:
    """What these requirements bring, and what each of them needs in turn."""
    needs: dict[str, frozenset[str]] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(canonicalize_name(one.name), extra) for one in _applying(lines, "") for extra in ("", *one.extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        following = list(_applying(_distribution(name).requires or (), extra))
        needs[name] = needs.get(name, frozenset()) | {canonicalize_name(one.name) for one in following}
        waiting += [(canonicalize_name(one.name), more) for one in following for more in ("", *one.extras)]
    return needs


def _applying(lines: Iterable[str], extra: str) -> Iterator[Requirement]:
    for line in lines:
        one = Requirement(line)
        if one.marker is None or one.marker.evaluate({"extra": extra}):
            yield one


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise NotInstalled(f"{name} is needed and not installed here; `make` sets everything up") from None
