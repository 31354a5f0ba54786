"""Kubeconfig files: found, merged, and the part that a context names taken out.

Several files make one: of two entries with the same name the first file's counts, whole. Paths inside a file are
relative to it. Only what the chosen context needs is read closely, so that somebody else's broken entry stands in
nobody's way.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dovetail.api import documents
from dovetail.api.fields import Fields, dotted, fields, near
from dovetail.core.errors import BadField, BadInput, Place

#: The lists of a kubeconfig, and under which key the content of an entry stands.
_LISTS: Final = {"clusters": "cluster", "users": "user", "contexts": "context"}


@dataclass(frozen=True, slots=True)
class Entry:
    """The content of one named entry, and the file it stands in."""

    content: Fields
    file: Path

    @contextmanager
    def located(self) -> Iterator[Fields]:
        """The content; what is found wrong in it is told with the file and the path as one would write it."""
        try:
            yield self.content
        except BadField as problem:
            raise dotted(problem, str(self.file)) from None

    def beside(self, written: str) -> Path:
        """A path as written in the file, seen from here."""
        return self.file.parent / Path(written).expanduser()


@dataclass(slots=True)
class Merged:
    """All files as one."""

    files: list[Path] = field(default_factory=list)
    current: str = ""
    entries: dict[str, dict[str, Entry]] = field(default_factory=lambda: {name: {} for name in _LISTS})


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one context names."""

    context: str
    namespace: str
    cluster: Entry
    user: Entry


def files_of(path: str | None, environment: Mapping[str, str]) -> list[Path]:
    """The kubeconfig files to read; none where none is named and there is none in the home directory."""
    if path is not None:
        return [_existing(Path(path).expanduser(), "there is no such file")]
    named = [Path(one).expanduser() for one in environment.get("KUBECONFIG", "").split(os.pathsep) if one]
    if named:
        there = [one for one in named if one.exists()]
        if not there:
            raise BadInput(f"KUBECONFIG names {', '.join(map(str, named))}: no such file")
        return there
    home = environment.get("HOME", "")
    usual = Path(home) / ".kube" / "config" if home else Path.home() / ".kube" / "config"
    return [usual] if usual.is_file() else []


def _existing(path: Path, otherwise: str) -> Path:
    if not path.exists():
        raise BadField(Place(str(path)), otherwise)
    return path


def merged(files: Sequence[Path]) -> Merged:
    found = Merged()
    for file in files:
        add(found, _document(file), file)
    return found


def _document(file: Path) -> object:
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise BadField(Place(str(file)), "is not text in UTF-8") from None
    except OSError as problem:
        raise BadField(Place(str(file)), f"cannot be read: {problem.strerror or problem}") from None
    return documents.read_one(text, str(file)) if text.strip() else {}


def add(found: Merged, document: object, file: Path) -> None:
    """Merge one file in; what is there already stays."""
    found.files.append(file)
    try:
        top = fields(document or {})
        found.current = found.current or top.text("current-context") or ""
        for plural, singular in _LISTS.items():
            for item in top.items(plural):
                name = item.required("name")
                found.entries[plural].setdefault(name, Entry(item.map(singular), file))
    except BadField as problem:
        raise dotted(problem, str(file)) from None


def chosen(found: Merged, context: str | None) -> Chosen:
    """The cluster and the user that a context names, the current one where none is given."""
    where = ", ".join(map(str, found.files))
    contexts = found.entries["contexts"]
    name = context or found.current
    if not name:
        choice = f"name one of {', '.join(sorted(contexts))}" if contexts else "there is none to choose either"
        raise BadField(Place(where, "current-context"), f"no context is set; {choice}")
    if name not in contexts:
        hint = near(name, contexts) if contexts else "there are no contexts"
        raise BadField(Place(where, "contexts"), f"there is no context {name}; {hint}")
    entry = contexts[name]
    with entry.located() as content:
        return Chosen(
            context=name,
            namespace=content.text("namespace") or "default",
            cluster=_named(found, "clusters", entry, "cluster"),
            user=_named(found, "users", entry, "user"),
        )


def _named(found: Merged, plural: str, context: Entry, singular: str) -> Entry:
    name = context.content.text(singular) or ""
    if not name and singular == "user":
        return Entry(Fields({}), context.file)
    if name not in found.entries[plural]:
        known = found.entries[plural]
        hint = near(name, known) if known else f"there are no {plural}"
        problem = f"there is no {singular} {name}; {hint}" if name else "is missing"
        raise context.content.bad(singular, problem)
    return found.entries[plural][name]
