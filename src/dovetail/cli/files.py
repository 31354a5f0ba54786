"""A user's files: read with a limit, found in directories, and written whole or not at all."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from dovetail.api.documents import MAX_BYTES
from dovetail.cli.console import Console
from dovetail.core.errors import BadField, Place

STDIN: Final = "-"
_MANIFESTS: Final = (".yaml", ".yml", ".json")
_MAX_BYTES: Final = 256 * 2**20
Buffer = bytes | mmap.mmap


def read_text(name: str, console: Console) -> str:
    """A file's text, or stdin's for `-`."""
    if name == STDIN:
        return console.read_stdin()
    try:
        if os.path.getsize(name) > _MAX_BYTES:
            raise BadField(Place(name), f"is larger than {_MAX_BYTES // 2**20} MiB")
        return Path(name).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadField(Place(name), f"is not UTF-8 text: byte {problem.start} is {problem.reason}") from None
    except OSError as problem:
        raise cannot("be read", name, problem) from None


def manifests(names: Iterable[str], console: Console) -> Iterator[tuple[str, str]]:
    """Every manifest the names mean, with its text; directories are searched. What cannot be read is a problem."""
    for name in names:
        for path in _under(name, console):
            try:
                yield ("stdin" if path == STDIN else path), read_text(path, console)
            except BadField as problem:
                console.problems([problem])


def world(names: Iterable[str], console: Console) -> Iterator[tuple[str, str | Buffer]]:
    """The same, but a large JSON file comes as mapped memory, so that its objects can be read one at a time.

    A file that is named twice, by itself and by its directory, is read once. Where not one could be read, that is the
    answer: nobody wants to be told what an empty world would need.
    """
    read: set[str] = set()
    held: BadField | None = None
    for name in names:
        for path in _under(name, console):
            if os.path.realpath(path) in read:
                continue
            read.add(os.path.realpath(path))
            try:
                mapped = _mapped(path)
                if mapped is not None:
                    yield path, mapped
                    continue
                text = read_text(path, console)
            except BadField as problem:
                console.problems([problem])
                read.discard(os.path.realpath(path))
                held = problem
                continue
            shown = "stdin" if path == STDIN else path
            yield shown, text.encode() if len(text) > MAX_BYTES and text[:1] in "{[" else text
    if held is not None and not read:
        raise held


def _mapped(path: str) -> Buffer | None:
    try:
        if path == STDIN or not os.path.isfile(path) or os.path.getsize(path) <= MAX_BYTES:
            return None
        with Path(path).open("rb") as file:
            found = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as problem:
        raise BadField(Place(path), f"cannot be read: {str(problem).lower()}") from None
    return found if found[:1] in (b"{", b"[") else None


def _under(name: str, console: Console) -> list[str]:
    if name == STDIN or not os.path.isdir(name):
        return [name]
    found = sorted(str(path) for path in Path(name).rglob("*") if path.suffix in _MANIFESTS and path.is_file())
    if not found:
        console.note(f"{name}: there is no YAML or JSON file in it")
    return found


def write_whole(name: str, parts: Iterable[str], mode: int = 0o666) -> None:
    """Write a file so that nobody ever sees half of it, and an interrupted write leaves the old one.

    A device or a pipe cannot be replaced, and is written to as it is.
    """
    path = Path(name)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists() and not path.is_file():
            with path.open("w", encoding="utf-8") as out:
                out.writelines(parts)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.writelines(parts)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    except OSError as problem:
        raise cannot("be written", name, problem) from None
    finally:
        with suppress(OSError):
            temporary.unlink()


def cannot(what: str, name: str, problem: OSError) -> BadField:
    hint = _near(name) if isinstance(problem, FileNotFoundError) else ""
    return BadField(Place(name), f"cannot {what}: {(problem.strerror or str(problem)).lower()}{hint}")


def _near(name: str) -> str:
    """What somebody may have meant who named a file that is not there."""
    from difflib import get_close_matches  # only who mistyped waits for it

    path = Path(name)
    with suppress(OSError):
        beside = [one.name for one in path.parent.iterdir()]
        if found := get_close_matches(path.name, beside, 1, 0.6):
            return f"; did you mean {path.with_name(found[0])}?"
    return "; name a file or directory that is there, or - for stdin"
