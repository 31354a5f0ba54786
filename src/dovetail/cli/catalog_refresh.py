"""`dovetail catalog refresh`: ask a cloud what it sells now, and keep the answer as a catalogue file."""

from __future__ import annotations

import asyncio
import os
from argparse import ArgumentParser, Namespace

from dovetail.api import catalog_export
from dovetail.cli import files
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--cloud", choices=("aws",), default="aws", help="whom to ask (default aws)")
    parser.add_argument("--region", metavar="NAME", default="", help="which region (default: the one configured)")
    parser.add_argument(
        "--endpoint", metavar="URL", default="", help="ask here instead of AWS (also: AWS_ENDPOINT_URL)"
    )
    parser.add_argument(
        "--isolated-vpc", action="store_true", help="the Pricing service is out of reach: do not ask it"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="where to (default: the data directory)")


def run(found: Namespace, console: Console) -> int:
    from dovetail.clouds.aws.access import Access
    from dovetail.clouds.aws.discovery import Habits
    from dovetail.clouds.aws.refresh import refreshed

    with console.doing("asking AWS"):
        access = Access(found.region, found.endpoint)
        heard = asyncio.run(refreshed(access, console.note, Habits(isolated=found.isolated_vpc)))
    listing = heard.listing
    console.problems(heard.problems)
    name = found.output or path(listing.cloud, listing.region, console)
    if name == files.STDIN:
        for part in catalog_export.write(listing, {}):
            console.write(part)
        return Exit.OK
    files.write_whole(name, catalog_export.write(listing, {}))
    rows = sum(len(one) for one in listing.offerings.values())
    console.write(f"{listing.cloud} {listing.region}: {len(listing.hardware)} types, {rows} offerings: {name}")
    console.note(f"it took {heard.calls} calls; use it with --catalog {name}")
    return Exit.FAILED if heard.stale and not found.isolated_vpc else Exit.OK


def path(cloud: str, region: str, console: Console) -> str:
    return os.path.join(console.settings.data_dir, f"catalog-{cloud}-{region}.json")
