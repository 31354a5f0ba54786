"""Label and field selectors, as they stand in a request's query and inside objects.

A selector is a tuple of terms that all have to hold; the empty one selects everything. Terms know how to judge a
value that may be missing, which is all there is to matching.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from dovetail.apiserver.errors import bad_request


class Operator(Enum):
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER = ">"
    LESS = "<"


@dataclass(frozen=True, slots=True)
class Term:
    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def admits(self, value: str | None) -> bool:
        match self.operator:
            case Operator.IN:
                return value in self.values
            case Operator.NOT_IN:
                return value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER | Operator.LESS:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        (bound,) = self.values
        if value is None or not _INTEGER.fullmatch(value):
            return False
        return int(value) > int(bound) if self.operator is Operator.GREATER else int(value) < int(bound)


Labels = tuple[Term, ...]
Fields = tuple[Term, ...]
EVERYTHING: Final[tuple[Term, ...]] = ()

_INTEGER: Final = re.compile(r"-?[0-9]{1,19}")
_KEY: Final = r"[^\s!=<>(),]+"
_LABEL_TERM: Final = re.compile(
    rf"\s*(?:!\s*(?P<absent>{_KEY})"
    rf"|(?P<set>{_KEY})\s+(?P<in>in|notin)\s*\((?P<values>[^()]*)\)"
    rf"|(?P<key>{_KEY})\s*(?:(?P<op>==|!=|=|>|<)\s*(?P<value>[^\s!=<>(),]*))?"
    r")\s*(?P<end>,|$)"
)
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]")
_PREFIX: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def is_label_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (_PREFIX.fullmatch(prefix) and len(prefix) <= 253):
        return False
    return bool(_NAME.fullmatch(name))


def is_label_value(value: str) -> bool:
    return value == "" or bool(_NAME.fullmatch(value))


def parse_labels(text: str) -> Labels:
    """The terms of `app=web,tier in (a, b),!gone`; a bad one is the client's fault (400)."""
    found = []
    at = 0
    while at < len(text):
        match = _LABEL_TERM.match(text, at)
        if match is None:
            raise bad_request(f"unable to parse requirement: found '{text[at : at + 60]}', expected: identifier")
        found.append(_checked(_label_term(match)))
        at = match.end()
    return tuple(found)


def _label_term(match: re.Match[str]) -> Term:
    if match["absent"]:
        return Term(match["absent"], Operator.DOES_NOT_EXIST)
    if match["set"]:
        values = frozenset(value.strip() for value in match["values"].split(","))
        return Term(match["set"], Operator(match["in"]), values)
    match match["op"]:
        case None:
            return Term(match["key"], Operator.EXISTS)
        case "!=":
            return Term(match["key"], Operator.NOT_IN, frozenset({match["value"]}))
        case ">" | "<" as sign:
            return Term(match["key"], Operator(sign), frozenset({match["value"]}))
        case _:
            return Term(match["key"], Operator.IN, frozenset({match["value"]}))


def _checked(term: Term) -> Term:
    if not is_label_key(term.key):
        raise bad_request(f'unable to parse requirement: <nil>: Invalid value: "{term.key}": name part is not valid')
    if term.operator in (Operator.GREATER, Operator.LESS):
        if not all(_INTEGER.fullmatch(value) for value in term.values):
            raise bad_request("unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer")
        return term
    for value in term.values:
        if not is_label_value(value):
            raise bad_request(f'unable to parse requirement: values[0][{term.key}]: Invalid value: "{value}"')
    return term


def parse_fields(text: str) -> Fields:
    """The terms of `spec.nodeName=a,status.phase!=Running`."""
    found = []
    for part in text.split(","):
        if not part:
            continue
        key, sign, value = _split_field(part)
        if not sign:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        operator = Operator.NOT_IN if sign == "!=" else Operator.IN
        found.append(Term(key.strip(), operator, frozenset({value})))
    return tuple(found)


def _split_field(part: str) -> tuple[str, str, str]:
    for sign in ("!=", "==", "="):
        key, found, value = part.partition(sign)
        if found:
            return key, sign, value
    return part, "", ""


_EXPRESSIONS: Final = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def of_object(selector: Mapping[str, Any] | None) -> Labels | None:
    """A `LabelSelector` inside an object; None selects nothing."""
    if selector is None:
        return None
    terms = [
        Term(key, Operator.IN, frozenset({value})) for key, value in sorted((selector.get("matchLabels") or {}).items())
    ]
    terms += [
        Term(one["key"], _EXPRESSIONS[one["operator"]], frozenset(one.get("values") or ()))
        for one in selector.get("matchExpressions") or ()
    ]
    return tuple(terms)


def matches(terms: Sequence[Term], labels: Mapping[str, str]) -> bool:
    return all(term.admits(labels.get(term.key)) for term in terms)
