"""JSONPath as printer columns and scale paths use it.

.spec.replicas   .metadata.labels['app']   .items[0]   .items[*].name   .status.conditions[?(@.type=="Ready")].status
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

Step = Callable[[Any], Iterator[Any]]

_STEP: Final = re.compile(
    r"\.?(?:"
    r"(?P<name>[A-Za-z0-9_$/-]+(?:\\\.[A-Za-z0-9_$/-]+)*)"
    r"|\[(?P<index>-?[0-9]+)\]"
    r"|(?P<all>\[\*\]|\*)"
    r"|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]"
    r"|\[\?\(\s*@\.(?P<field>[A-Za-z0-9_.\\/-]+)\s*(?P<sign>==|!=)\s*"
    r"(?:(?P<mark>['\"])(?P<text>.*?)(?P=mark)|(?P<bare>[A-Za-z0-9_.-]+))\s*\)\]"
    r")"
)


def find(path: str, obj: Any) -> list[Any]:
    """Everything a path leads to; nothing for a path that cannot be read."""
    found = [obj]
    for step in _steps(path):
        found = [one for value in found for one in step(value)]
    return found


def first(path: str, obj: Any) -> Any:
    found = find(path, obj)
    return found[0] if found else None


@lru_cache(maxsize=512)
def _steps(path: str) -> tuple[Step, ...]:
    text = path.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    steps = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        if match is None or match.end() == at:
            return (lambda value: iter(()),)
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    if match["index"] is not None:
        number = int(match["index"])
        return lambda value: iter(value[number : number + 1 or None] if isinstance(value, list) else ())
    if match["all"]:
        return _everything
    if match["field"]:
        wanted = match["text"] if match["mark"] else match["bare"]
        return _filter(match["field"], wanted, equal=match["sign"] == "==")
    key = match["key"] if match["quote"] else match["name"].replace("\\.", ".")
    return lambda value: iter((value[key],) if isinstance(value, dict) and key in value else ())


def _everything(value: Any) -> Iterator[Any]:
    return iter(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())


def _filter(field: str, wanted: str, *, equal: bool) -> Step:
    def step(value: Any) -> Iterator[Any]:
        for one in _everything(value):
            actual = first(f".{field}", one)
            shown = {True: "true", False: "false"}.get(actual, actual) if isinstance(actual, bool) else actual
            if (str(shown) == wanted) is equal:
                yield one

    return step
