"""Label selectors as people type them: `kubernetes.io/arch in (arm64), karpenter.k8s.aws/instance-cpu>=4, !gpu`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dovetail.core import labels
from dovetail.core.errors import BadInput, BadValue
from dovetail.core.requirements import Operator, Requirement, Requirements, requirement

_TERM: Final = re.compile(
    r"\s*(?:"
    r"(?P<not>!)\s*(?P<absent>[^\s!=<>(),]+)"
    r"|(?P<set>[^\s!=<>(),]+)\s+(?P<in>in|notin)\s*\((?P<values>[^()]*)\)"
    r"|(?P<key>[^\s!=<>(),]+)\s*(?:(?P<op>==|!=|>=|<=|=|>|<)\s*(?P<value>[^\s!=<>(),]*))?"
    r")\s*(?P<end>,|$)"
)
_OPERATORS: Final = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    ">": Operator.GT,
    "<": Operator.LT,
    ">=": Operator.GTE,
    "<=": Operator.LTE,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
}


def parse(text: str) -> Requirements:
    """All terms of a selector; they all have to hold."""
    return Requirements(_terms(text))


def _terms(text: str) -> Iterator[Requirement]:
    at = 0
    while at < len(text):
        match = _TERM.match(text, at)
        if match is None:
            raise BadValue(
                f"{text[at : at + 60].strip()!r} is not a selector; write key=value, key!=value, key in (a, b), "
                "key notin (a), key, !key, or key>=4, joined by commas"
            )
        yield _term(match)
        at = match.end()
    if text.rstrip().endswith(","):
        raise BadValue("ends with a comma; another term is missing")


def _term(match: re.Match[str]) -> Requirement:
    key = match["absent"] or match["set"] or match["key"]
    labels.check_key(key)
    if match["not"]:
        return requirement(key, Operator.DOES_NOT_EXIST)
    if match["in"]:
        values = tuple(value.strip() for value in match["values"].split(",") if value.strip())
        if not values:
            raise BadValue(f"{key}: the list is empty")
        return _checked(key, _OPERATORS[match["in"]], values)
    if not match["op"]:
        return requirement(key, Operator.EXISTS)
    return _checked(key, _OPERATORS[match["op"]], (match["value"],))


def _checked(key: str, operator: Operator, values: tuple[str, ...]) -> Requirement:
    try:
        for value in values:
            labels.check_value(value)
        return requirement(key, operator, values)
    except BadInput as problem:
        raise BadValue(f"{key}: {problem}") from None
