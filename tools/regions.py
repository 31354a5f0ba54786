"""Parts of a page that a program writes: what stands between two lines, the rest being people's."""

from __future__ import annotations


class NoRegion(ValueError):
    """The page has no place for it."""


def begin(name: str, command: str) -> str:
    return f"<!-- {name}: made by {command} -->"


def end(name: str) -> str:
    return f"<!-- {name}: end -->"


def held(text: str, name: str, command: str) -> str:
    """What stands there now."""
    _, opened, rest = text.partition(begin(name, command))
    body, closed, _ = rest.partition(end(name))
    if not opened or not closed:
        raise NoRegion(f"there are no lines {begin(name, command)} and {end(name)}")
    return body.strip("\n")


def filled(text: str, name: str, command: str, body: str) -> str:
    """The page with that part made anew."""
    held(text, name, command)
    before, opened, rest = text.partition(begin(name, command))
    _, closed, after = rest.partition(end(name))
    return f"{before}{opened}\n{body.strip()}\n{closed}{after}"
