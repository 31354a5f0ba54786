"""What a machine of Cluster API costs: the catalogue of the cloud and region it stands in, with the user's own prices.

Where it stands, its zone says, then its cluster, then `--region`; failing all of them it is priced in the region the
bundled catalogue begins with, and that is said. A catalogue is opened when the first machine of its region is met.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from dovetail.cli import listings, opened
from dovetail.cli.console import Console
from dovetail.cli.opened import Opened
from dovetail.clouds import load as clouds
from dovetail.core.catalog.listing import Listing
from dovetail.core.catalog.pricebook import PriceBook
from dovetail.core.errors import BadInput
from dovetail.core.machines import pricing
from dovetail.core.machines.pricing import Group, Rates
from dovetail.core.nodepools import NodePool

#: Whose infrastructure machines can be read.
CLOUDS: Final = ("aws", "azure", "gcp")
_AZURE: Final = "azure"


class UnknownType(BadInput):
    """A type that the region does not sell, or that nobody does."""


class PriceLists:
    """Catalogues by cloud and region."""

    def __init__(self, flags: Namespace, console: Console) -> None:
        self._flags = flags
        self._console = console
        self._opened: dict[tuple[str, str], Opened] = {}
        self._told: set[str] = set()

    @cached_property
    def own(self) -> Listing | None:
        """The catalogue a flag names, in place of its cloud's."""
        return None if self._flags.catalog is None else listings.from_file(self._flags.catalog, self._console)

    @cached_property
    def _book(self) -> PriceBook:
        return opened.book_for(self._flags, self._console)

    def placed(self, group: Group) -> Group:
        """The group with its region and zones as the catalogue calls them."""
        if group.wanted is None:
            return group
        region, zones = self.stands(group.wanted.cloud, group.region, group.zones)
        return replace(group, region=region, zones=zones)

    def stands(self, cloud: str, said: str, zones: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """Region and zones as the catalogue calls them; zones of Azure are numbers within their region."""
        region = self.region(cloud, said, zones)
        return region, tuple(f"{region}-{one}" if cloud == _AZURE and one.isdigit() else one for one in zones)

    def region(self, cloud: str, said: str, zones: tuple[str, ...] = ()) -> str:
        """Where a machine stands: what its zone, its cluster, the flag or the catalogue says, in this order."""
        if self.own is not None and self.own.cloud == cloud:
            return self.own.region
        known = clouds.regions(cloud)
        of_zone = max((one for one in known if zones and zones[0].startswith(one)), key=len, default="")
        if of_zone or said:
            return of_zone or said
        if self._flags.region in known:
            return str(self._flags.region)
        found = clouds.default_region(cloud)
        if cloud not in self._told:
            self._told.add(cloud)
            self._console.note(f"nothing says where machines of {cloud} stand; priced in {found}, or with --region")
        return found

    def rates(self, group: Group) -> Rates:
        """What a machine of a placed group costs. Raises BadInput if the region is not known, and UnknownType if
        nothing is sold under that name."""
        wanted = group.wanted
        if wanted is None:
            return pricing.UNKNOWN
        sold = self.catalogue(wanted.cloud, group.region)
        name = wanted.instance_type
        kind = sold.catalog.types.get(name)
        listed = sold.listing.list_prices.get(name)
        if kind is None and listed is None:
            near = get_close_matches(name, sold.catalog.types, 1, 0.6)
            fix = f"; did you mean {near[0]}?" if near else ""
            raise UnknownType(f"{wanted.cloud} {group.region} sells no type {name[:60]!r}{fix}")
        return pricing.rates(() if kind is None else kind.offerings, group.zones, listed)

    def catalogue(self, cloud: str, region: str) -> Opened:
        known = self._opened.get((cloud, region))
        if known is None:
            pool = NodePool("machines", opened.NODE_CLASSES[cloud])
            known = opened.joined(self.listing(cloud, region), pool, self._book, self._console)
            self._opened[cloud, region] = known
        return known

    def listing(self, cloud: str, region: str) -> Listing:
        """What a region sells, with the settings of flags and environment. Raises BadInput if it is not known."""
        own = self.own
        given = {"catalog": self._flags.catalog, "cloud": None, "region": None}
        if own is None or own.cloud != cloud:
            given = {"catalog": None, "cloud": cloud, "region": region}
        return listings.named(Namespace(**{**vars(self._flags), **given}), self._console)
