"""`dovetail dump`: a live cluster as one file that every command reads back."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from dovetail.api import anonymous, documents
from dovetail.api.anonymous import Names
from dovetail.cli import files, live
from dovetail.cli import flags as shared
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit

EXAMPLES: Final = (
    ("dovetail dump --context production --to world.json", "then: dovetail plan -f world.json"),
    (
        "dovetail dump --context production --anonymize --to world.json",
        "without names and images, fit to be sent to others",
    ),
)


def configure(parser: ArgumentParser) -> None:
    live.add_flags(parser)
    shared.add_output(parser, ("json",))
    shared.add_destination(parser)
    parser.add_argument(
        "--anonymize", action="store_true", help="without names, images, commands and addresses: fit to be sent to us"
    )


def run(flags: Namespace, console: Console) -> int:
    with console.doing("reading the cluster"):
        # Templates are full of their owner's own words, keys and addresses: nobody could take them all out.
        lists = live.read(flags, console, drawn_on=() if flags.anonymize else live.MACHINE_KINDS)
    names = Names(secrets.token_bytes(32)) if flags.anonymize else None
    if flags.to in (None, files.STDIN):
        for line in _lines(lists, names):
            console.write_part(line)
    else:
        files.write_whole(flags.to, _lines(lists, names), mode=0o600)
        console.note(f"wrote {flags.to}; read it back with: dovetail plan -f {flags.to}")
    return Exit.OK


def _lines(lists: Iterable[tuple[str, bytes]], names: Names | None) -> Iterator[str]:
    """One JSON List, an object a line."""
    yield '{"apiVersion":"v1","kind":"List","items":[\n'
    before = ""
    for _, text in lists:
        whole = msgspec.json.decode(text)
        for item in whole["items"]:
            one = documents.with_kind(item, whole["kind"], whole["apiVersion"])
            if not isinstance(one, dict):
                continue
            one.get("metadata", {}).pop("managedFields", None)
            shown = one if names is None else anonymous.anonymized(one, names)
            yield before + msgspec.json.encode(shown).decode()
            before = ",\n"
    yield "\n]}\n"
