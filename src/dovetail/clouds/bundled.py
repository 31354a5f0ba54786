"""Reading data files: gzipped JSON Lines, decoded into typed rows, where damage costs only what is damaged.

A line that cannot be read becomes a `BadField` that names the file, the object and the field; a file that was cut
short gives the lines before the cut and one problem for the rest. Answers of a live API go through the same types
with `convert_rows`, so a rule about a field is written once.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from dovetail.clouds.options import BUNDLED
from dovetail.core.errors import BadField, Place

T = TypeVar("T")
Problems = tuple[BadField, ...]

_GZIP: Final = 31  # zlib's number for "the largest window, in a gzip wrapper"
#: How much packed data is fed at once. What is lost at a damaged spot is at most what this unpacks to.
_BITE: Final = 64
#: Under which name the row types of all clouds say what they are about, for sentences about bad rows.
_NAMES: Final = ("InstanceType", "instanceType", "name", "ZoneName", "family", "region")
_AT: Final = re.compile(r" - at `(?P<root>key in )?\$(?P<path>[^`]*)`$")
_MISSING: Final = re.compile(r"^Object missing required field `(?P<field>[^`]+)`")
_SHOWN: Final = 80


class ManifestEntry(msgspec.Struct, frozen=True, rename="camel"):
    """Where one data file came from."""

    file: str
    rows: int
    source: str
    source_date: str
    license: str
    note: str = ""
    sha256: str = ""


class _Manifest(msgspec.Struct, frozen=True):
    files: list[ManifestEntry]


def manifest(root: Path = BUNDLED) -> Mapping[str, ManifestEntry]:
    """The origin of every file, by its path; empty where there is no manifest to read."""
    try:
        found = msgspec.json.decode((root / "manifest.json").read_bytes(), type=_Manifest)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return {entry.file: entry for entry in found.files}


def names_in(folder: str, root: Path = BUNDLED) -> tuple[str, ...]:
    """Which row files a folder has, without their suffix: the regions, where there is one file for each."""
    suffix = ".jsonl.gz"
    return tuple(sorted(path.name.removesuffix(suffix) for path in (root / folder).glob(f"*{suffix}")))


def read_rows(path: str, row: type[T], root: Path = BUNDLED) -> tuple[list[T], Problems]:
    """All rows of a file that can be read, and what is wrong with the others."""
    try:
        packed = (root / path).read_bytes()
    except OSError as problem:
        return [], (BadField(Place(path), f"cannot be read: {problem.strerror or problem}"),)
    return unpack_rows(packed, row, path)


def unpack_rows(packed: bytes, row: type[T], path: str) -> tuple[list[T], Problems]:
    lines, damage = _unpacked(packed)
    if damage is None:
        return decode_rows(lines, row, path)
    whole = lines[: lines.rfind(b"\n") + 1]  # the last line is cut; the damage speaks for it
    rows, problems = decode_rows(whole, row, path)
    first_lost = whole.count(b"\n") + 1
    return rows, (*problems, BadField(Place(path, f"line {first_lost} on"), damage))


def _unpacked(packed: bytes) -> tuple[bytes, str | None]:
    """All that can be had of a gzip file, and what is wrong with the rest of it."""
    if not packed:
        return b"", "the file is empty; fetch it again"
    parts: list[bytes] = []
    rest = packed
    while rest:
        stream, read = zlib.decompressobj(wbits=_GZIP), 0
        while read < len(rest) and not stream.eof:
            try:
                parts.append(stream.decompress(rest[read : read + _BITE]))
            except zlib.error:
                return b"".join(parts), "the rest of the file is damaged; fetch it again"
            read += _BITE
        if not stream.eof:
            return b"".join(parts), "the file ends too early; fetch it again"
        rest = stream.unused_data + rest[read:]
    return b"".join(parts), None


def decode_rows(lines: bytes, row: type[T], path: str) -> tuple[list[T], Problems]:
    """Decode JSON Lines: all at once where all are good, else one by one to tell the bad from the others."""
    decoder = msgspec.json.Decoder(row)
    try:
        return decoder.decode_lines(lines), ()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    rows: list[T] = []
    problems: list[BadField] = []
    for number, line in enumerate(lines.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            problems.append(_bad(problem, path, _name_in(line) or f"line {number}"))
    return rows, tuple(problems)


def convert_rows(objects: Iterable[object], row: type[T], path: str) -> tuple[list[T], Problems]:
    """The same for objects a client library has decoded already; `path` says who answered."""
    rows: list[T] = []
    problems: list[BadField] = []
    for number, one in enumerate(objects, 1):
        try:
            rows.append(msgspec.convert(one, row))
        except (msgspec.ValidationError, RecursionError) as problem:
            problems.append(_bad(problem, path, _name_of(one) or f"entry {number}"))
    return rows, tuple(problems)


def _bad(problem: Exception, path: str, name: str) -> BadField:
    text = str(problem)
    where = _AT.search(text)
    field = where["path"].lstrip(".") if where else ""
    if where:
        text = text[: where.start()]
    missing = _MISSING.match(text)
    if missing:
        field = f"{field}.{missing['field']}" if field else missing["field"]
        text = "is missing"
    elif isinstance(problem, msgspec.ValidationError):
        text = text.replace("`", "")
        text = text[:1].lower() + text[1:]
    elif isinstance(problem, RecursionError):
        text = "is nested too deeply"
    else:
        text = text.removeprefix("JSON is ")
        text = f"is not JSON: {text[:1].lower()}{text[1:]}"
    return BadField(Place(*(part for part in (path, name, field) if part)), text)


def _name_in(line: bytes) -> str | None:
    try:
        return _name_of(msgspec.json.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _name_of(one: object) -> str | None:
    if not isinstance(one, Mapping):
        return None
    found = (one.get(name) for name in _NAMES)
    return next((name[:_SHOWN] for name in found if isinstance(name, str) and name), None)
