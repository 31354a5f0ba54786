"""What the operators and functions of formulas do, as CEL has it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dovetail.core.errors import BadInput, shown

#: What a formula works with. A bool is an int to Python and not to us: look for it first.
Value = bool | int | float | str | tuple["Value", ...]
Binary = Callable[[Value, Value], Value]
_LEAST, _MOST = -(2**63), 2**63 - 1


class BadEvaluation(BadInput):
    """A formula that has no value here."""


def kind_of(value: Value) -> str:
    """What CEL calls its type."""
    for kind, name in ((bool, "bool"), (int, "int"), (float, "double"), (str, "string")):
        if isinstance(value, kind):
            return name
    return "list"


def truth(value: Value, sign: str) -> bool:
    if not isinstance(value, bool):
        raise BadEvaluation(f"{sign} wants a bool, and is given {kind_of(value)}")
    return value


def ranged(value: int) -> int:
    if not _LEAST <= value <= _MOST:
        raise BadEvaluation("a whole number is larger than 64 bits hold")
    return value


def _unlike(sign: str, left: Value, right: Value) -> BadEvaluation:
    kinds = (kind_of(left), kind_of(right))
    told = f"; write double(…) around the {kinds[kinds.index('int')]}" if set(kinds) == {"int", "double"} else ""
    return BadEvaluation(f"{kinds[0]} {sign} {kinds[1]} is not defined{told}")


def _arithmetic(sign: str, whole: Callable[[int, int], int], broken: Callable[[float, float], float]) -> Binary:
    def value(left: Value, right: Value) -> Value:
        if sign == "+" and isinstance(left, str) and isinstance(right, str):
            return left + right
        kinds = {kind_of(left), kind_of(right)}
        if kinds == {"int"}:
            return ranged(whole(left, right))  # type: ignore[arg-type]
        if kinds == {"double"} and sign != "%":
            return broken(left, right)  # type: ignore[arg-type]
        raise _unlike(sign, left, right)

    return value


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise BadEvaluation("something is divided by zero")
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _remainder(left: int, right: int) -> int:
    return left - right * _quotient(left, right)


def _divided(left: float, right: float) -> float:
    """As IEEE 754 has it; whoever wants a number from this refuses infinity."""
    if right:
        return left / right
    return float("nan") if left == 0 or left != left else float("inf") if left > 0 else float("-inf")


ARITHMETIC: Final[Mapping[str, Binary]] = {
    "+": _arithmetic("+", operator.add, operator.add),
    "-": _arithmetic("-", operator.sub, operator.sub),
    "*": _arithmetic("*", operator.mul, operator.mul),
    "/": _arithmetic("/", _quotient, _divided),
    "%": _arithmetic("%", _remainder, _divided),
}


def _related(sign: str, holds: Callable[..., bool]) -> Binary:
    def value(left: Value, right: Value) -> Value:
        kinds = (kind_of(left), kind_of(right))
        same = kinds[0] == kinds[1] and kinds[0] != "list"
        if not (same or set(kinds) == {"int", "double"}):
            raise _unlike(sign, left, right)
        return holds(left, right)

    return value


RELATIONS: Final[Mapping[str, Binary]] = {
    "==": _related("==", operator.eq),
    "!=": _related("!=", operator.ne),
    "<": _related("<", operator.lt),
    "<=": _related("<=", operator.le),
    ">": _related(">", operator.gt),
    ">=": _related(">=", operator.ge),
}


def contained(left: Value, right: Value) -> Value:
    if not isinstance(right, tuple):
        raise BadEvaluation(f"in wants a list on its right, and is given {kind_of(right)}")
    return any(kind_of(left) == kind_of(one) and left == one for one in right)


def negated(value: Value) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadEvaluation(f"- wants a number, and is given {kind_of(value)}")
    return -value if isinstance(value, float) else ranged(-value)


def inverted(value: Value) -> Value:
    return not truth(value, "!")


def _extreme(name: str, of: Callable[..., int | float]) -> Callable[..., Value]:
    def value(*values: Value) -> Value:
        given: Sequence[Value] = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        for one in given:
            if isinstance(one, bool) or not isinstance(one, int | float):
                raise BadEvaluation(f"{name} wants numbers, and is given {kind_of(one)}")
        if not given:
            raise BadEvaluation(f"{name} is given nothing")
        found = of(given)
        return float(found) if any(isinstance(one, float) for one in given) else found

    return value


def _to_int(value: Value) -> Value:
    if isinstance(value, float):
        if value != value or not _LEAST <= value <= _MOST:
            raise BadEvaluation(f"int({value:g}) is not a whole number of 64 bits")
        return int(value)
    return int(_to_number(value, "int", int))


def _to_double(value: Value) -> Value:
    return float(_to_number(value, "double", float))


def _to_number(value: Value, name: str, read: Callable[[str], int | float]) -> int | float:
    if isinstance(value, bool | tuple):
        raise BadEvaluation(f"{name}({kind_of(value)}) is not defined")
    if not isinstance(value, str):
        return value
    try:
        return read(value) if value.isascii() and len(value) < 40 and "_" not in value else read("")
    except ValueError:
        raise BadEvaluation(f"{name}({shown(value)}) is not a number") from None


def _to_text(value: Value) -> Value:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value:g}"
        case tuple():
            raise BadEvaluation("string(list) is not defined")
    return str(value)


def _size(value: Value) -> Value:
    if not isinstance(value, str | tuple):
        raise BadEvaluation(f"size({kind_of(value)}) is not defined")
    return len(value)


def _method(name: str, holds: Callable[[str, str], bool]) -> Binary:
    def value(text: Value, part: Value) -> Value:
        if not (isinstance(text, str) and isinstance(part, str)):
            raise BadEvaluation(f"{name} is a function of two texts, not of {kind_of(text)} and {kind_of(part)}")
        return holds(text, part)

    return value


METHODS: Final[Mapping[str, Binary]] = {
    "startsWith": _method("startsWith", str.startswith),
    "endsWith": _method("endsWith", str.endswith),
    "contains": _method("contains", operator.contains),
}
#: Functions, and how many arguments each takes; 0 for any number.
FUNCTIONS: Final[Mapping[str, tuple[Callable[..., Value], int]]] = {
    "min": (_extreme("min", min), 0),
    "max": (_extreme("max", max), 0),
    "int": (_to_int, 1),
    "double": (_to_double, 1),
    "string": (_to_text, 1),
    "size": (_size, 1),
}
