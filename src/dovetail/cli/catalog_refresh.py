"""`dovetail catalog refresh`: ask a cloud what it sells now, and keep the answer as a catalogue file."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser, Namespace
from typing import Final

from dovetail.api import catalog_export
from dovetail.cli import files, flags, output
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit

EXAMPLES: Final = (
    ("dovetail catalog refresh --region eu-west-1", "ask with the credentials of your environment"),
    ("dovetail catalog refresh --region eu-west-1 --to eu.json -o json", "into a file of your choice"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--cloud", choices=("aws",), default="aws", help="whom to ask (default aws)")
    parser.add_argument("--region", metavar="NAME", default="", help="which region (default: the one configured)")
    parser.add_argument(
        "--cloud-endpoint", metavar="URL", default="", help="ask here instead of the cloud (also: AWS_ENDPOINT_URL)"
    )
    parser.add_argument(
        "--isolated-vpc", action="store_true", help="the Pricing service is out of reach: do not ask it"
    )
    flags.add_output(parser, ("text", "json"))
    flags.add_destination(parser, "the data directory")


def run(found: Namespace, console: Console) -> int:
    from dovetail.clouds.aws.access import Access
    from dovetail.clouds.aws.discovery import Habits
    from dovetail.clouds.aws.refresh import refreshed

    with console.doing("asking AWS"):
        access = Access(found.region, found.cloud_endpoint)
        heard = asyncio.run(refreshed(access, console.note, Habits(isolated=found.isolated_vpc)))
    listing = heard.listing
    console.problems(heard.problems)
    name = found.to or path(listing.cloud, listing.region, console)
    if name == files.STDIN:
        for part in catalog_export.write(listing, {}):
            console.write(part)
        return Exit.OK
    files.write_whole(name, catalog_export.write(listing, {}))
    rows = sum(len(one) for one in listing.offerings.values())
    if found.output == "json":
        told = {"cloud": listing.cloud, "region": listing.region, "types": len(listing.hardware), "offerings": rows}
        output.structured(told | {"path": name, "calls": heard.calls}, "json", console)
    else:
        console.write(f"{listing.cloud} {listing.region}: {len(listing.hardware)} types, {rows} offerings: {name}")
    console.note(f"it took {heard.calls} calls; use it with --catalog {name}")
    return Exit.FAILED if heard.stale and not found.isolated_vpc else Exit.OK


def path(cloud: str, region: str, console: Console) -> str:
    return os.path.join(console.settings.data_dir, f"catalog-{cloud}-{region}.json")
