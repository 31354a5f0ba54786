"""Formulas, read: a text becomes a function of its variables."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from dovetail.core.errors import BadInput, shown
from dovetail.core.expressions.operations import (
    ARITHMETIC,
    FUNCTIONS,
    METHODS,
    RELATIONS,
    BadEvaluation,
    Value,
    contained,
    inverted,
    negated,
    ranged,
    truth,
)

LONGEST: Final = 1024
_DEEPEST: Final = 40
#: So many names, numbers and signs at most: a chain of operators is as deep as it is long.
_MOST_TOKENS: Final = 300
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<double>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+)
    |(?P<hex>0[xX][0-9a-fA-F]+)
    |(?P<int>[0-9]+)
    |(?P<text>"[^"\\\n]*"|'[^'\\\n]*')
    |(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>&&|\|\||[=!<>]=|[-+*/%<>!?:().,\[\]]))""",
    re.VERBOSE | re.ASCII,
)


class BadFormula(BadInput):
    """A text that is no formula."""


# ---------------------------------------------------------------------------------------------- what a formula is

Node = Callable[[Mapping[str, Value]], Value]


@dataclass(frozen=True, slots=True)
class Formula:
    """A text that was read. Two with the same text are equal."""

    text: str

    @property
    def names(self) -> frozenset[str]:
        """The variables it mentions."""
        return _compiled(self.text)[1]

    def value(self, variables: Mapping[str, Value]) -> Value:
        """What it comes to. Raises BadEvaluation where it comes to nothing."""
        return _compiled(self.text)[0](variables)

    def __str__(self) -> str:
        return self.text


def parse(text: str, variables: Collection[str]) -> Formula:
    """Read a formula that may mention these variables. Raises BadFormula."""
    found = Formula(text)
    unknown = sorted(found.names - set(variables))
    if unknown:
        raise BadFormula(f"{unknown[0]} is no variable; there are {', '.join(sorted(variables))}")
    return found


@lru_cache(maxsize=256)
def _compiled(text: str) -> tuple[Node, frozenset[str]]:
    if len(text) > LONGEST:
        raise BadFormula(f"is longer than {LONGEST} characters")
    tokens = list(_tokens(text))
    if len(tokens) > _MOST_TOKENS:
        raise BadFormula(f"has {len(tokens)} names, numbers and signs; {_MOST_TOKENS} are the most")
    reader = _Reader(tokens)
    node = reader.whole()
    return node, frozenset(reader.names)


# ---------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            rest = text[at:].lstrip()
            raise BadFormula(f"{shown(rest[:12])} at character {len(text) - len(rest) + 1} cannot be read")
        yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        at = found.end()


class _Reader:
    """One pass over the tokens, an operator binding the looser the earlier its method stands."""

    def __init__(self, tokens: Sequence[_Token]) -> None:
        self._tokens, self._next, self._depth = tokens, 0, 0
        self.names: set[str] = set()

    def whole(self) -> Node:
        node = self._choice()
        if self._next < len(self._tokens):
            raise self._wrong()
        return node

    def _choice(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BadFormula(f"is nested more than {_DEEPEST} deep")
        condition = self._either()
        if self._took("?"):
            yes = self._either()
            self._must(":")
            condition = _chosen(condition, yes, self._choice())
        self._depth -= 1
        return condition

    def _either(self) -> Node:
        node = self._both()
        while self._took("||"):
            node = _logic(node, self._both(), "||")
        return node

    def _both(self) -> Node:
        node = self._relation()
        while self._took("&&"):
            node = _logic(node, self._relation(), "&&")
        return node

    def _relation(self) -> Node:
        node = self._sum()
        while sign := self._took(*RELATIONS, "in"):
            node = _applied(contained if sign == "in" else RELATIONS[sign], node, self._sum())
        return node

    def _sum(self) -> Node:
        node = self._product()
        while sign := self._took("+", "-"):
            node = _applied(ARITHMETIC[sign], node, self._product())
        return node

    def _product(self) -> Node:
        node = self._unary()
        while sign := self._took("*", "/", "%"):
            node = _applied(ARITHMETIC[sign], node, self._unary())
        return node

    def _unary(self) -> Node:
        signs: list[str] = []
        while sign := self._took("-", "!"):
            signs.append(sign)
        node = self._member()
        for sign in reversed(signs):
            node = _applied(negated if sign == "-" else inverted, node)
        return node

    def _member(self) -> Node:
        node = self._primary()
        while self._took("."):
            method = self._name()
            if method not in METHODS:
                raise BadFormula(f"{method} is no function of a text; there are {', '.join(METHODS)}")
            self._must("(")
            node = _applied(METHODS[method], node, *self._list(")", method, 1))
        return node

    def _primary(self) -> Node:
        if self._next >= len(self._tokens):
            raise BadFormula("ends too early" if self._tokens else "is empty")
        token = self._tokens[self._next]
        self._next += 1
        match token.kind:
            case "int" | "hex":
                return _constant(_whole(token))
            case "double":
                return _constant(float(token.text))
            case "text":
                return _constant(token.text[1:-1])
            case "name":
                return self._named(token.text)
        if token.text == "(":
            node = self._choice()
            self._must(")")
            return node
        if token.text == "[":
            return _listed(self._list("]"))
        self._next -= 1
        raise self._wrong()

    def _named(self, name: str) -> Node:
        if name in ("true", "false"):
            return _constant(name == "true")
        if not self._took("("):
            self.names.add(name)
            return _variable(name)
        if name not in FUNCTIONS:
            raise BadFormula(f"{name} is no function; there are {', '.join((*FUNCTIONS, *METHODS))}")
        function, count = FUNCTIONS[name]
        return _applied(function, *self._list(")", name, count))

    def _list(self, end: str, name: str = "", count: int = 0) -> list[Node]:
        """What stands between here and `end`; of a function's arguments there must be `count`, or any number for 0."""
        found: list[Node] = []
        while not self._took(end):
            if found:
                self._must(",")
            found.append(self._choice())
        if name and (len(found) != count if count else not found):
            raise BadFormula(f"{name} takes {count or 'one or more'} arguments, not {len(found)}")
        return found

    def _took(self, *signs: str) -> str:
        """The next token if it is one of these, else ""."""
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.text not in signs or token.kind not in ("sign", "name"):
            return ""
        self._next += 1
        return token.text

    def _name(self) -> str:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        if token is None or token.kind != "name":
            raise self._wrong()
        self._next += 1
        return token.text

    def _must(self, sign: str) -> None:
        if not self._took(sign):
            raise self._wrong(f"; {sign} is expected")

    def _wrong(self, told: str = "") -> BadFormula:
        if self._next >= len(self._tokens):
            return BadFormula(f"ends too early{told}")
        token = self._tokens[self._next]
        return BadFormula(f"{shown(token.text)} at character {token.at + 1} is not understood there{told}")


# ---------------------------------------------------------------------------------------------- parts of a formula


def _whole(token: _Token) -> int:
    try:
        return ranged(int(token.text, 16 if token.kind == "hex" else 10))
    except BadEvaluation as large:
        raise BadFormula(f"at character {token.at + 1} {large}") from None


def _constant(value: Value) -> Node:
    return lambda variables: value


def _variable(name: str) -> Node:
    def value(variables: Mapping[str, Value]) -> Value:
        try:
            return variables[name]
        except KeyError:
            raise BadEvaluation(f"{name} is not known here") from None

    return value


def _listed(parts: Sequence[Node]) -> Node:
    return lambda variables: tuple(one(variables) for one in parts)


def _applied(function: Callable[..., Value], *parts: Node) -> Node:
    return lambda variables: function(*[one(variables) for one in parts])


def _chosen(condition: Node, yes: Node, no: Node) -> Node:
    return lambda variables: (yes if truth(condition(variables), "?") else no)(variables)


def _logic(left: Node, right: Node, sign: str) -> Node:
    def value(variables: Mapping[str, Value]) -> Value:
        first = truth(left(variables), sign)
        return first if first is (sign == "||") else truth(right(variables), sign)

    return value
