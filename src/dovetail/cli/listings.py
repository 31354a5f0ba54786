"""Which listing a verb's flags name: a bundled region, a file of ours, or a types file of the kwok provider."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace

from dovetail.api import catalog_file, documents
from dovetail.cli import files
from dovetail.cli.console import Console
from dovetail.cli.flags import CLOUDS, DEFAULT_CLOUD
from dovetail.clouds import load as clouds
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.density import ByInterface
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.errors import BadField, BadInput, Place


def named(flags: Namespace, console: Console) -> Listing:
    """The listing of --cloud and --region, or of --catalog, with the node settings of flags and environment."""
    if flags.catalog is not None:
        if flags.cloud is not None or flags.region is not None:
            raise BadInput("--catalog: a file says itself what it is of; leave out --cloud and --region")
        listing = from_file(flags.catalog, console)
    else:
        listing = clouds.load(flags.cloud or DEFAULT_CLOUD, flags.region)
        console.problems(listing.problems)
    return replace(listing, rules=_with_settings(listing.rules, flags, console))


def of_word(word: str, console: Console) -> Listing:
    """A catalogue named in one word: `aws`, `aws:eu-west-1`, or a file."""
    cloud, colon, region = word.partition(":")
    if cloud in CLOUDS:
        listing = clouds.load(cloud, region if colon else None)
        console.problems(listing.problems)
        return listing
    return from_file(word, console)


def from_file(name: str, console: Console) -> Listing:
    text = files.read_text(name, console)
    shown = "stdin" if name == files.STDIN else name
    if catalog_file.is_one(text):
        listing = catalog_file.read(text, shown)
        if listing.cloud not in CLOUDS:
            raise BadField(Place(shown, "cloud"), f"{listing.cloud[:40]!r} is none of {', '.join(CLOUDS)}")
    else:
        listing = kwok_types(text, shown)
    console.problems(listing.problems)
    return listing


def kwok_types(text: str, filename: str) -> Listing:
    """A types file. Keys given twice and a missing end are found here; the types around them are read."""
    from dovetail.clouds.kwok.types_file import parse_types_file

    try:
        entries = documents.parse_json(text)
        problems: list[BadField] = []
    except BadInput as problem:
        before, bracket, rest = text.partition("[")
        entries = documents.salvage(rest) if bracket and not before.strip() else []
        lost = f"{problem}; the {len(entries)} types before that were read" if entries else str(problem)
        problems = [BadField(Place(filename), lost)]
    if isinstance(entries, list):
        sound = []
        for at, entry in enumerate(entries):
            found = documents.checked(documents.Document((filename, f"[{at}]"), entry))
            if isinstance(found, BadField):
                problems.append(found)
            else:
                sound.append(entry)
        text = json.dumps(sound) if problems else text
    listing = parse_types_file(text, filename)
    return replace(listing, problems=(*problems, *listing.problems))


def _with_settings(rules: NodeRules, flags: Namespace, console: Console) -> NodeRules:
    share = console.settings.vm_memory_overhead
    if share is not None:
        rules = replace(rules, vm_overhead=FlatOverhead(share))
    if getattr(flags, "prefix_delegation", False):
        if isinstance(rules.density, ByInterface):
            return replace(rules, density=replace(rules.density, prefix_delegation=True))
        console.note("--prefix-delegation means nothing here: pods are not counted by network interfaces")
    return rules


def elsewhere(name: str, listing: Listing) -> tuple[str, ...]:
    """The other clouds that sell a type of this name; asked only where somebody did not find one."""
    others = (cloud for cloud in CLOUDS if cloud != listing.cloud)
    return tuple(cloud for cloud in others if any(one.name == name for one in clouds.load(cloud).hardware))


def spelled(name: str, known: Mapping[str, object]) -> str | None:
    """The type a person means: by its own name, or in another case."""
    if name in known:
        return name
    return next((one for one in known if one.lower() == name.lower()), None)
