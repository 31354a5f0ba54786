"""The tables of cli.md: every verb with its arguments and flags, as the parser has them.

Groups of flags that several verbs share have a section of their own; a verb's part names them. A variable of the
environment that sets the same stands in brackets at the end of a flag's help, and becomes a column.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Final

from dovetail.cli import verbs
from dovetail.cli.verbs import Verb

from .marks import Maker, in_code, table

#: Sections of the page, and the groups of flags each of them holds.
SHARED: Final[Mapping[str, tuple[str, ...]]] = {
    "Flags of every verb": ("settings",),
    "Which world": ("which world",),
    "Which cluster": ("which cluster",),
    "Which catalog": ("which catalogue",),
    "What to put on top": ("what to put on top", "how nodes are set up"),
    "How to plan": ("how to plan",),
}
#: Verbs that have a page of their own.
ELSEWHERE: Final = {"lint": "lint.md"}
_VARIABLE: Final = re.compile(r"(?:; | ?\()(?:also: )?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)\)$")
#: What argparse calls flags that belong to nothing in particular.
_PLAIN_TITLES: Final = ("", "options")
Row = tuple[str, str, str]


@cache
def groups(verb: Verb) -> dict[str, tuple[Row, ...]]:
    """The flags of a verb, by the title of their group; those that stand in none come first, under no title."""
    parser: argparse.ArgumentParser = verbs.parser_for(verb)
    for word in verb.words:
        (below,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
        parser = below.choices[word]
    found: dict[str, tuple[Row, ...]] = {"": ()}
    for group in parser._action_groups:
        title = "" if group in (parser._positionals, parser._optionals) else group.title or ""
        rows = tuple(_row(one) for one in group._group_actions if not isinstance(one, argparse._HelpAction))
        found[title] = found.get(title, ()) + rows
    return found


def _row(action: argparse.Action) -> Row:
    told = (action.help or "").replace("%%", "%").replace("|", "\\|")
    variable = _VARIABLE.search(told)
    if variable is not None:
        rest = told[: variable.start()]
        told = rest + (")" if rest.count("(") > rest.count(")") else "")
    return _shown(action), f"`{variable[1]}`" if variable is not None else "", told


def _shown(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ", ".join(in_code(one) for one in action.option_strings)
    value = "|".join(map(str, action.choices)) if action.choices is not None else str(action.metavar or action.dest)
    value += "…" if action.nargs in ("+", "*") else ""
    if not action.option_strings:
        return in_code(value)
    *short, last = action.option_strings
    return ", ".join([*map(in_code, short), in_code(f"{last} {value}")])


def _is_shared(title: str, verb: Verb) -> bool:
    """Whether a group of a verb is the one its section shows, but for how many values a flag takes at once."""
    known = any(title in titles for titles in SHARED.values())
    return known and _plain(groups(verb)[title]) == _plain(_first(title))


def _plain(rows: tuple[Row, ...]) -> list[Row]:
    return [(flag.replace("…", ""), *rest) for flag, *rest in rows]  # type: ignore[misc]


def _table(rows: list[Row]) -> str:
    if any(variable for _, variable, _ in rows):
        return table(("flag", "variable", "means"), [*rows])
    return table(("flag", "means"), [(flag, means) for flag, _, means in rows])


def of_verb(verb: Verb, page: str = "") -> str:
    """A verb's own flags, and where the others are, seen from its page."""
    own: dict[str, list[Row]] = {}
    for title, rows in groups(verb).items():
        if rows and not _is_shared(title, verb):
            own.setdefault("" if title in _PLAIN_TITLES else title, []).extend(rows)
    tables = [f"{_headed(title)}{_table(rows)}" for title, rows in own.items()]
    also = [name for name, titles in SHARED.items() if any(_has(verb, one) for one in titles)][1:]
    links = [f"[{name[0].lower()}{name[1:]}]({page}#{name.lower().replace(' ', '-')})" for name in also]
    others = f"{'and those of' if own else 'It takes the flags of'} {_listed(links)}.\n" if links else ""
    return "\n".join(filter(None, (*tables, others)))


def _headed(title: str) -> str:
    return f"{title[0].upper()}{title[1:]}:\n\n" if title else ""


def _has(verb: Verb, title: str) -> bool:
    return title in groups(verb) and _is_shared(title, verb)


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def of_section(name: str) -> str:
    """Flags that several verbs share, and whose they are."""
    found = dict.fromkeys(row for title in SHARED[name] for row in _first(title))
    if name == "Flags of every verb":
        return _table([("`-h`, `--help`", "", "what the verb takes, with examples"), *found])
    takers = [f"`{' '.join(one.words)}`" for one in verbs.VERBS if any(_has(one, title) for title in SHARED[name])]
    return f"Of {_listed(takers)}.\n\n{_table([*found])}"


def _first(title: str) -> tuple[Row, ...]:
    return next(groups(one)[title] for one in verbs.VERBS if title in groups(one))


def every_verb() -> str:
    rows = []
    for one in verbs.VERBS:
        name = " ".join(one.words)
        arguments = [flag.strip("`").replace("\\|", "|") for flag, *_ in groups(one)[""] if not flag.startswith("`-")]
        rows.append((f"[{in_code(' '.join([name, *arguments]))}]({_link(one)})", one.summary))
    return table(("verb", "does"), rows)


def _link(verb: Verb) -> str:
    name = " ".join(verb.words)
    return ELSEWHERE.get(name) or f"#{name.replace(' ', '-')}"


def _parts() -> Iterator[tuple[str, Maker]]:
    yield "verbs", every_verb
    for name in SHARED:
        yield name, partial(of_section, name)
    for verb in verbs.VERBS:
        if " ".join(verb.words) in ELSEWHERE:
            continue
        yield f"flags of {' '.join(verb.words)}", partial(of_verb, verb)


PARTS: Final[Mapping[str, Maker]] = dict(_parts())
LINT: Final = partial(of_verb, next(one for one in verbs.VERBS if one.words == ("lint",)), "cli.md")
