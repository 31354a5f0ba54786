"""Documents in a file: JSON or YAML, one or many, every one checked before anybody reads it.

Nothing a file can hold may cost more than an error with its place: not a key given twice (YAML and JSON parsers
keep the last and say nothing), nor nesting without end, nor aliases that unfold to gigabytes. A document that
is bad costs itself; those beside it are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.api.fields import kind_of
from dovetail.core.errors import BadField, BadInput, Place

MAX_BYTES: Final = 16 * 2**20
MAX_DEPTH: Final = 64
MAX_NODES: Final = 500_000
_BETWEEN: Final = re.compile(r"[\s,]*")
_SPACE: Final = re.compile(r"\s*")
_LIST: Final = "List"


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file, and where it stands."""

    place: tuple[str, ...]
    value: object


class Repeated(dict[str, object]):
    """A map in which a key was given twice; it stands in until the path to it is known."""

    __slots__ = ("key",)

    def __init__(self, pairs: Mapping[str, object], key: str) -> None:
        super().__init__(pairs)
        self.key = key


def read(text: str, filename: str) -> Iterator[Document | BadField]:
    """Every document of a file, the items of a List each for themselves."""
    if len(text) > MAX_BYTES:
        yield BadField(Place(filename), f"is larger than {MAX_BYTES // 2**20} MiB; split it, or write JSON")
        return
    for document in _parsed(text.removeprefix("\ufeff"), filename):
        if isinstance(document, BadField):
            yield document
            continue
        yield from _items(document)


def read_one(text: str, filename: str) -> object:
    """The only document of a file, checked."""
    found = list(_parsed(text.removeprefix("\ufeff"), filename))
    for one in found:
        if isinstance(one, BadField):
            raise one
    if len(found) > 1:
        raise BadField(Place(filename), f"holds {len(found)} documents; one is expected")
    if not found:
        raise BadField(Place(filename), "is empty")
    (only,) = found
    assert isinstance(only, Document)
    check(only.value, only.place)
    return only.value


def _parsed(text: str, filename: str) -> Iterator[Document | BadField]:
    if text.lstrip()[:1] in ("{", "["):
        try:
            several = parse_several(text)
            for at, value in enumerate(several):
                yield Document((filename,) if len(several) == 1 else (filename, f"document {at + 1}"), value)
            return
        except BadInput as problem:
            # Flow-style YAML also begins with a bracket; if it is not that either, the JSON error is the one to tell.
            as_json = problem
        from dovetail.api import yaml_documents

        found = list(yaml_documents.read(text, filename))
        if any(isinstance(one, BadField) for one in found):
            yield BadField(Place(filename), str(as_json))
        else:
            yield from found
        return
    from dovetail.api import yaml_documents

    yield from yaml_documents.read(text, filename)


def parse_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_mapping)
    except json.JSONDecodeError as problem:
        ends = problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated string")
        why = "the file ends too early" if ends else problem.msg[:1].lower() + problem.msg[1:]
        raise BadInput(f"line {problem.lineno}: not JSON: {why}") from None
    except RecursionError:
        raise BadInput(f"is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as problem:  # a number of thousands of digits
        raise BadInput(f"not JSON: {problem}") from None


def parse_several(text: str) -> list[object]:
    """JSON values one after another, as two calls of kubectl into one file leave them."""
    try:
        return [parse_json(text)]
    except BadInput as problem:
        if "extra data" not in str(problem):
            raise
        found = salvage(text)
        # Nothing may be left over: what cannot be read to its end is told as the error it is.
        if not found or not _reads_to_its_end(text, len(found)):
            raise
        return found


def _reads_to_its_end(text: str, count: int) -> bool:
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(count):
        between = _SPACE.match(text, at)
        assert between is not None
        try:
            _, at = decoder.raw_decode(text, between.end())
        except (ValueError, RecursionError):
            return False
    return not text[at:].strip()


def salvage(text: str) -> list[object]:
    """The leading elements of a JSON list whose end is missing or damaged; `text` begins after its bracket."""
    decoder = json.JSONDecoder(object_pairs_hook=_mapping)
    found: list[object] = []
    at = 0
    while True:
        between = _BETWEEN.match(text, at)
        assert between is not None
        try:
            value, at = decoder.raw_decode(text, between.end())
        except (ValueError, RecursionError):
            return found
        found.append(value)


def _mapping(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return Repeated(found, twice)


def _items(document: Document) -> Iterator[Document | BadField]:
    """The objects of a document; a document of nothing holds none."""
    value = document.value
    if value is None:
        return
    kind, version = "", ""
    entries: object = value
    if isinstance(value, Mapping) and _is_list(value):
        kind, version, entries = str(value["kind"]), str(value.get("apiVersion", "")), value["items"]
    if not isinstance(entries, list):
        yield checked(document)
        return
    for at, one in enumerate(entries):
        place = (*document.place, f"{'items' if kind else ''}[{at}]")
        yield checked(Document(place, with_kind(one, kind, version)))


def _is_list(value: Mapping[str, object]) -> bool:
    kind = value.get("kind")
    return isinstance(kind, str) and kind.endswith(_LIST) and isinstance(value.get("items"), list)


def with_kind(item: object, list_kind: str, version: str) -> object:
    """An item of a PodList, which the API server sends without a kind of its own, with that kind."""
    kind = list_kind.removesuffix(_LIST)
    if not kind or not isinstance(item, dict) or "kind" in item:
        return item
    return {"apiVersion": version, **item, "kind": kind}


def checked(document: Document) -> Document | BadField:
    try:
        check(document.value, (*document.place, name_of(document.value)))
    except BadField as problem:
        return problem
    return document


def name_of(value: object) -> str:
    """What an object calls itself, for errors: `InstanceType m5.large`."""
    if not isinstance(value, Mapping):
        return ""
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else value.get("name")
    parts = [part[:80] for part in (value.get("kind"), name) if isinstance(part, str) and part]
    return " ".join(parts)


_LEAVES: Final = frozenset({str, int, bool, float, type(None)})
#: So far below zero that no count of values makes up for it.
_FAULTY: Final = -(2**62)
#: The way to a value: the way to what holds it, and the step from there. Written out only where something is wrong.
_Way = tuple["_Way", str | int] | tuple[()]


def check(value: object, place: tuple[str, ...]) -> None:
    """Refuse what no JSON value may be, or no reader should have to think of."""
    if not 0 <= _counted(value, 0) <= MAX_NODES:
        _find_fault(value, place)


def _counted(value: object, depth: int) -> int:
    """How many values there are in one that is in order; some number below zero where it may not be."""
    kind = type(value)
    if kind in _LEAVES:
        return 1
    if depth > MAX_DEPTH or (depth == MAX_DEPTH and value):
        return _FAULTY
    total = 1
    if kind is dict:
        for key, inner in value.items():  # type: ignore[attr-defined]
            if type(key) is not str:
                return _FAULTY
            total += 1 if type(inner) in _LEAVES else _counted(inner, depth + 1)
    elif kind is list:
        for inner in value:  # type: ignore[attr-defined]
            total += 1 if type(inner) in _LEAVES else _counted(inner, depth + 1)
    else:
        return _FAULTY
    return total


def _find_fault(value: object, place: tuple[str, ...]) -> None:
    """Look at every value on its way, and tell the first that is out of order."""
    outer = tuple(part for part in place if part)
    waiting: list[tuple[object, _Way, int]] = [(value, (), 0)]
    nodes = 0
    while waiting:
        one, way, depth = waiting.pop()
        nodes += 1
        if nodes > MAX_NODES or depth > MAX_DEPTH:
            raise _at(outer, way, f"is too large: at most {MAX_DEPTH} levels and {MAX_NODES:,} values")
        if isinstance(one, Repeated):
            raise _at(outer, (way, one.key), "the key is given twice; keep one")
        if isinstance(one, dict):
            for key, inner in reversed(one.items()):
                if not isinstance(key, str):
                    raise _at(outer, way, f"the key {key!r} is {kind_of(key)}; put it in quotes")
                waiting.append((inner, (way, key), depth + 1))
        elif isinstance(one, list):
            waiting.extend((inner, (way, at), depth + 1) for at, inner in reversed(list(enumerate(one))))
        elif one is not None and not isinstance(one, str | bool | int | float):
            raise _at(outer, way, f"{type(one).__name__} is nothing a manifest can hold")


def _at(outer: tuple[str, ...], way: _Way, problem: str) -> BadField:
    """A problem at the end of a way: `spec.offerings[0].price`."""
    steps: list[str | int] = []
    while way:
        way, step = way
        steps.append(step)
    path = ""
    for step in reversed(steps):
        path += f"[{step}]" if isinstance(step, int) else f".{step[:100]}" if path else step[:100]
    return BadField(Place(*outer, *((path,) if path else ())), problem)
