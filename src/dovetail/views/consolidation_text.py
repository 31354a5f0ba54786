"""`consolidate --plan` for people: commands in their order, then why everything else stays, then the sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isinf
from typing import Final

from dovetail.core import labels
from dovetail.core.disruption.candidates import Candidate
from dovetail.core.disruption.commands import Command
from dovetail.core.disruption.passes import Decided
from dovetail.core.disruption.refusals import counted, listed
from dovetail.views import figures
from dovetail.views.consolidation import Compared, Names, Page, causes, totals
from dovetail.views.paint import PLAIN, Paint, Style
from dovetail.views.table import Cell, Column, Row, render

_SHOWN_NODES: Final = 4


def text(page: Page, width: int | None = None, paint: Paint = PLAIN) -> str:
    """The decision for people."""
    parts = [_commands_text(page.decided.commands, width, paint)]
    if page.staying:
        parts += [_heading(f"{counted(len(page.staying), 'node')} {_stay(len(page.staying))}", paint)]
        parts += [_staying_text(page, width, paint)]
    if causes(page.decided):
        parts += [_heading("what keeps them", paint), _causes_text(page.decided, width, paint)]
    if page.rollouts:
        parts += [_heading("roll-outs", paint), *(f"  {one}\n" for one in page.rollouts)]
    if page.compared:
        parts += [_heading("if moves had to pay back within", paint), _compared_text(page.compared, width, paint)]
    parts += [_heading("in all", paint), f"  {summary(page)}\n"]
    return "".join(parts).lstrip("\n")


def _stay(count: int) -> str:
    return "stays" if count == 1 else "stay"


def _heading(title: str, paint: Paint) -> str:
    return f"\n{paint(Style.HEADING, title)}\n"


def summary(page: Page) -> str:
    """One line: nodes, evictions, money."""
    found = totals(page.decided)
    if not found.commands:
        text = "nothing to do now"
    else:
        comes = f", {found.replacements} {'comes' if found.replacements == 1 else 'come'}" if found.replacements else ""
        goes = "goes" if found.nodes == 1 else "go"
        text = f"{counted(found.nodes, 'node')} {goes}{comes}; {counted(found.evictions, 'pod')} evicted; "
        text += _worth(found.saved)
    if found.blocked:
        text += f"; {figures.money(found.blocked)} an hour more stays blocked"
    return text + (f"; {counted(page.alien, 'node')} of others not looked at" if page.alien else "")


def _commands_text(commands: Sequence[Command], width: int | None, paint: Paint) -> str:
    if not commands:
        return ""
    parts, names = [_heading(f"{counted(len(commands), 'command')} now, in this order", paint)], Names()
    for number, one in enumerate(commands, 1):
        title = f"{number}. {one.reason}: {one.decision}"
        parts.append(f"  {paint(Style.NAME, title)}  {command_line(one)}\n")
        parts.append(_nodes_text(one, names, width, paint))
    return "".join(parts)


def command_line(command: Command) -> str:
    """What a command is worth."""
    text = f"{_worth(command.saved)}, evicts {counted(len(command.evicted), 'pod')}"
    if command.payback and not isinf(command.payback):
        text += f", pays back in {figures.duration(command.payback)}"
    return text


def _worth(saved: int) -> str:
    if not saved:
        return "costs the same"
    verb, more = ("saves", "") if saved > 0 else ("costs", " more")
    return f"{verb} {figures.money(abs(saved))} an hour{more} ({figures.month(abs(saved))} a month)"


def _nodes_text(command: Command, names: Names, width: int | None, paint: Paint) -> str:
    columns = [
        Column("     "),
        Column("NODE"),
        Column("POOL", rank=2),
        Column("TYPE", rank=1),
        Column("ZONE", rank=1),
        Column("CAPACITY TYPE", rank=3),
        Column("$/H", right=True),
        Column("PODS", right=True),
    ]
    rows: list[Row] = [[Cell("     goes", Style.BAD), *_node_cells(one)] for one in command.candidates]
    for claim in command.replacements:
        row = claim.choice.offering
        kind, place = claim.choice.instance_type.name, row.zone or claim.requirements.value(labels.ZONE) or "any"
        cells = [names.of(claim), claim.pool.name, kind, place, row.capacity_type or "any", figures.price(row.price)]
        rows.append([Cell("     comes", Style.GOOD), *cells, str(len(claim.pods))])
    if command.templates:
        pool = command.candidates[0].pool
        rows.append([Cell("     comes", Style.GOOD), f"{command.templates} of the template", pool, "", "", "", "", ""])
    text = render(columns, rows, width, paint)
    taken = [f"{one.node.name} ({len(one.pods)})" for one in command.group.placed if one.pods]
    if taken:
        shown, also = ", ".join(taken[:_SHOWN_NODES]), "also " if command.replacements else ""
        more = f" and {len(taken) - _SHOWN_NODES} more" if len(taken) > _SHOWN_NODES else ""
        text += paint(Style.DIM, f"     pods {also}move to {shown}{more}") + "\n"
    return text


def _node_cells(one: Candidate) -> list[str]:
    pairs = one.node.labels
    return [
        one.name,
        one.pool,
        pairs.get(labels.INSTANCE_TYPE, figures.NOTHING),
        pairs.get(labels.ZONE, figures.NOTHING),
        one.capacity_type or figures.NOTHING,
        figures.UNPRICED if one.price is None else figures.money(one.price),
        str(len(one.pods)),
    ]


def _staying_text(page: Page, width: int | None, paint: Paint) -> str:
    columns = [
        Column("  NODE"),
        Column("TYPE", rank=2),
        Column("$/H", right=True, rank=1),
        Column("BLOCKED $/H", right=True),
        Column("WHY", prose=True),
    ]
    return render(columns, _staying_rows(page), width, paint)


def _staying_rows(page: Page) -> Iterable[Row]:
    """Nodes with the same sentence are one line."""
    alike: dict[tuple[str, int | None, int, str], list[str]] = {}
    for name, one in page.staying:
        node = page.nodes.get(name)
        kind = "" if node is None else node.labels.get(labels.INSTANCE_TYPE, "")
        also = page.decided.method_refusals.get(name)
        told = str(one) if also is None else f"{one}; {also}"
        looks = (kind, None if node is None else node.nanodollars, one.nanodollars, told)
        alike.setdefault(looks, []).append(name)
    for (kind, price, blocked, told), names in alike.items():
        yield [
            f"  {listed(names)}",
            kind or figures.NOTHING,
            figures.UNPRICED if price is None else figures.money(price),
            Cell(figures.money(blocked), Style.NOTABLE) if blocked else figures.NOTHING,
            told,
        ]


def _causes_text(decided: Decided, width: int | None, paint: Paint) -> str:
    columns = [
        Column("  CAUSE"),
        Column("NODES", right=True),
        Column("BLOCKED $/H", right=True),
        Column("$/MONTH", right=True, rank=1),
    ]
    found = causes(decided)
    rows: list[Row] = [_cause_row(str(one.code), one.nodes, one.nanodollars) for one in found]
    if len(found) > 1:
        every = sum(one.nodes for one in found), sum(one.nanodollars for one in found)
        rows.append([Cell(str(cell), Style.HEADING) for cell in _cause_row("all", *every)])
    return render(columns, rows, width, paint)


def _cause_row(name: str, nodes: int, nanodollars: int) -> list[str]:
    money = (figures.money(nanodollars), figures.month(nanodollars)) if nanodollars else (figures.NOTHING,) * 2
    return [f"  {name}", str(nodes), *money]


def _compared_text(compared: Iterable[Compared], width: int | None, paint: Paint) -> str:
    """What each payback time would have done."""
    columns = [
        Column("  PAYBACK"),
        Column("COMMANDS", right=True),
        Column("NODES", right=True),
        Column("EVICTIONS", right=True, rank=1),
        Column("SAVED $/H", right=True),
        Column("$/MONTH", right=True, rank=1),
    ]
    rows: list[Row] = []
    for one in compared:
        found = totals(one.decided)
        name = figures.duration(one.payback) if one.payback else "no rule"
        counts = (found.commands, found.nodes, found.evictions)
        rows.append([f"  {name}", *map(str, counts), figures.money(found.saved), figures.month(found.saved)])
    return render(columns, rows, width, paint)
