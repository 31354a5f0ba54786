"""Finding one type by name, and everything of the user's that touched it."""

from __future__ import annotations

from dovetail.cli import listings
from dovetail.cli.opened import Opened
from dovetail.core.catalog.allocatable import NO_SETTINGS, Ledger, Stage, Term
from dovetail.core.catalog.overlays import NodeOverlay, match
from dovetail.core.catalog.pricebook import Scope
from dovetail.core.catalog.prices import Adjustment, dollars
from dovetail.core.errors import BadInput
from dovetail.core.resources import HUGEPAGES, MEMORY
from dovetail.views.type_page import Page


def page(shelf: Opened, wanted: str) -> Page:
    """The type's page; a name nobody sells gets the nearest one that is sold."""
    name = listings.spelled(wanted, shelf.catalog.types)
    if name is None:
        raise BadInput(_unknown(wanted, shelf))
    return Page(
        listed=shelf.listed(name),
        cloud=shelf.listing.cloud,
        region=shelf.listing.region,
        touched_by=tuple(_touched(shelf, name)),
        commitments=tuple(one for one in shelf.book.commitments if _covers(shelf, one.scope, name)),
    )


def _covers(shelf: Opened, scope: Scope, name: str) -> bool:
    """Whether some row of the type is within a scope."""
    rows = shelf.catalog.types[name].offerings
    return any(scope.covers(name, row.capacity_type, row.zone, shelf.listing.region) for row in rows)


def _unknown(wanted: str, shelf: Opened) -> str:
    from difflib import get_close_matches

    where = f"{shelf.listing.cloud} {shelf.listing.region}".strip()
    told = f"{where} has no type {wanted[:60]!r}"
    sold = listings.elsewhere(wanted, shelf.listing)
    if sold:
        return f"{told}; {sold[0]} has one: add --cloud {sold[0]}"
    near = get_close_matches(wanted, list(shelf.catalog.types), 1, 0.6)
    return f"{told}; did you mean {near[0]}?" if near else f"{told}; `dovetail catalog list` shows those it has"


def _touched(shelf: Opened, name: str) -> list[str]:
    override = shelf.overrides.get(name)
    found = []
    if override is not None:
        parts = (
            ("resources", bool(override.resources)),
            ("overhead", override.overhead is not None),
            ("offerings", override.rows is not None),
        )
        said = ", ".join(part for part, there in parts if there)
        found.append(f"InstanceType {name}: {said or 'nothing'}")
    for overlay in touching(shelf, name):
        changes = [] if overlay.adjustment is None else [f"price {_adjusted(overlay.adjustment)}"]
        found.append(f"NodeOverlay {overlay.name}: {', '.join([*changes, *overlay.capacity]) or 'nothing'}")
    return found


def _adjusted(one: Adjustment) -> str:
    if one.replace_nanodollars is not None:
        return dollars(one.replace_nanodollars)
    if one.percent:
        return f"{float(one.percent):+g}%"
    return ("+" if one.add_nanodollars >= 0 else "") + dollars(one.add_nanodollars)


def touching(shelf: Opened, name: str) -> list[NodeOverlay]:
    """The overlays in force that match a row of the type, the one that wins first."""
    pool_labels, row = shelf.pool.label_requirements, shelf.catalog.types[name]
    return [one for one in shelf.overlays if match(one, pool_labels, (row,))]


def ledger(shelf: Opened, name: str) -> Ledger:
    """The sum behind a type's allocatable, as the catalogue worked it out."""
    override = shelf.overrides.get(name)
    settings = NO_SETTINGS if override is None else override.settings
    return shelf.rules.ledger_of(shelf.catalog.types[name].spec.hardware, settings)


def overlaid_terms(shelf: Opened, name: str) -> list[Term]:
    """The capacity overlays put in place; per resource the first one wins. Huge pages come out of the memory."""
    found: dict[str, Term] = {}
    for overlay in touching(shelf, name):
        for resource, amount in overlay.capacity.items():
            term = Term(resource, Stage.CAPACITY, amount, f"spec.capacity.{resource}", f"NodeOverlay {overlay.name}")
            found.setdefault(resource, term)
    pages = [term for term in found.values() if term.resource.startswith(HUGEPAGES)]
    if pages:
        taken = ledger(shelf, name).allocatable.memory_bytes - shelf.catalog.types[name].allocatable.memory_bytes
        rule = f"set aside as {', '.join(term.resource for term in pages)}"
        found[MEMORY] = Term(MEMORY, Stage.HUGE_PAGES, taken, rule, pages[0].source)
    return list(found.values())
