"""`explain type`: the sum that leads from a machine to what pods may use, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from dovetail.core.catalog.allocatable import Ledger, Stage, Term
from dovetail.core.resources import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, quantity_of
from dovetail.views import figures
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, Row, facts, render
from dovetail.views.type_list import offering_wire, price_wire
from dovetail.views.type_page import Page, commitment, heading, offerings

_FIRST: Final = (CPU, MEMORY, EPHEMERAL_STORAGE, PODS)
_ORDER: Final = tuple(Stage)


@dataclass(frozen=True, slots=True)
class Line:
    """A term and what is left after it."""

    term: Term
    total: int


@dataclass(frozen=True, slots=True)
class Sum:
    """The lines of one resource."""

    resource: str
    lines: tuple[Line, ...]

    @property
    def allocatable(self) -> int:
        return self.lines[-1].total if self.lines else 0


def sums(ledger: Ledger, overlaid: Iterable[Term] = ()) -> list[Sum]:
    """A ledger resource by resource; what overlays put in place of an amount comes last and starts the count anew."""
    by_resource: dict[str, list[Term]] = {}
    for term in ledger.terms:
        by_resource.setdefault(term.resource, []).append(term)
    replaced = {term.resource: term for term in overlaid}
    names = [*by_resource, *(name for name in replaced if name not in by_resource)]
    found = []
    for name in sorted(names, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)):
        terms = sorted(by_resource.get(name, []), key=lambda term: _ORDER.index(term.stage))
        lines = list(_running(terms))
        if name in replaced:
            term = replaced[name]
            lines.append(Line(term, term.amount if term.stage is Stage.CAPACITY else lines[-1].total - term.amount))
        found.append(Sum(name, tuple(lines)))
    return found


def _running(terms: Sequence[Term]) -> Iterator[Line]:
    total = 0
    for term in terms:
        total += term.sign * term.amount
        yield Line(term, total)


def text(page: Page, found: Sequence[Sum], today: date, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The whole explanation, for people."""
    parts = [paint(Style.NAME, page.type.name) + paint(Style.DIM, f"  {page.cloud} {page.region}") + "\n"]
    touched = [("touched by", one) for one in page.touched_by]
    parts.append(facts([*touched, *(("commitment", commitment(one)) for one in page.commitments)], paint, "  "))
    for one in found:
        parts += [heading(one.resource, paint), _table(one, width, paint)]
    parts += [heading("prices, an hour", paint), offerings(page.type.offerings, today, width, paint)]
    if not page.type.offerings and page.listed.list_price is not None:
        parts.append(f"  its list price is {figures.price(page.listed.list_price)}\n")
    return "".join(parts)


def _table(one: Sum, width: int | None, paint: Paint) -> str:
    columns = [
        Column("  TERM"),
        Column("AMOUNT", right=True),
        Column("LEAVES", right=True, rank=2),
        Column("RULE", prose=True),
        Column("SET BY", rank=1, prose=True),
    ]
    rows: list[Row] = [
        [
            f"  {line.term.stage}",
            ("" if line.term.sign > 0 else "−") + _exact(one.resource, line.term.amount),
            _exact(one.resource, line.total),
            line.term.rule,
            Cell(line.term.source.partition("; ")[0], Style.DIM),
        ]
        for line in one.lines
    ]
    short = figures.amount(one.resource, one.allocatable)
    exact = _exact(one.resource, one.allocatable)
    total = Cell(exact, Style.HEADING)
    rows.append([Cell("  allocatable", Style.HEADING), total, total, "" if short == exact else short, ""])
    return render(columns, rows, width, paint)


def _exact(resource: str, amount: int) -> str:
    return str(quantity_of(resource, amount))


def wire(page: Page, found: Sequence[Sum]) -> dict[str, object]:
    """The documented JSON."""
    return {
        "name": page.type.name,
        "cloud": page.cloud,
        "region": page.region,
        "capacity": page.type.capacity.quantities(),
        "allocatable": page.type.allocatable.quantities(),
        "terms": [term_wire(one.resource, line) for one in found for line in one.lines],
        "touchedBy": list(page.touched_by),
        "commitments": [commitment(one) for one in page.commitments],
        "listPrice": price_wire(page.listed.list_price),
        "offerings": [offering_wire(row) for row in page.type.offerings],
    }


def term_wire(resource: str, line: Line) -> dict[str, object]:
    return {
        "resource": resource,
        "stage": str(line.term.stage),
        "sign": line.term.sign,
        "amount": _exact(resource, line.term.amount),
        "leaves": _exact(resource, line.total),
        "rule": line.term.rule,
        "source": line.term.source,
    }
