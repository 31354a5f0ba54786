"""Amounts of resources, as whole numbers with one unit per name.

cpu is counted in thousandths of a core; everything else in its own unit (bytes, pods, devices). A fraction of the
unit is rounded up when it is read, so a request never shrinks and sums stay exact.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Final

from dovetail.core import quantity
from dovetail.core.errors import BadInput, BadValue, shown
from dovetail.core.quantity import Quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
CORE: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE, PODS})
HUGEPAGES: Final = "hugepages-"
_BYTES: Final = (MEMORY, EPHEMERAL_STORAGE)

MIB: Final = 2**20
GIB: Final = 2**30


def amount_of(name: str, value: Quantity) -> int:
    """A quantity in the unit its resource is counted in."""
    return value.millis if name == CPU else value.units


def quantity_of(name: str, amount: int) -> Quantity:
    """The quantity to print or to send for an amount."""
    if name == CPU:
        return quantity.of_millis(amount)
    if name in _BYTES or name.startswith(HUGEPAGES):
        return quantity.of_bytes(amount)
    return quantity.of_units(amount)


class Resources(Mapping[str, int]):
    """An immutable map from resource name to amount; a name that is not there counts as zero when asked with `of`."""

    __slots__ = ("_amounts", "_hash")
    _amounts: dict[str, int]
    _hash: int | None

    def __init__(self, amounts: Mapping[str, int] | Iterable[tuple[str, int]] = ()) -> None:
        self._amounts = dict(amounts)
        self._hash = None

    def __getitem__(self, name: str) -> int:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def items(self) -> ItemsView[str, int]:
        return self._amounts.items()  # the mixin's would look every name up again

    def values(self) -> ValuesView[int]:
        return self._amounts.values()

    def of(self, name: str) -> int:
        return self._amounts.get(name, 0)

    @property
    def cpu_millis(self) -> int:
        return self._amounts.get(CPU, 0)

    @property
    def memory_bytes(self) -> int:
        return self._amounts.get(MEMORY, 0)

    def __add__(self, other: Resources) -> Resources:
        if not other._amounts:
            return self
        total = dict(self._amounts)
        for name, amount in other._amounts.items():
            total[name] = total.get(name, 0) + amount
        return Resources(total)

    def __sub__(self, other: Resources) -> Resources:
        """May go below zero; an allocatable below zero fits nothing."""
        if not other._amounts:
            return self
        left = dict(self._amounts)
        for name, amount in other._amounts.items():
            left[name] = left.get(name, 0) - amount
        return Resources(left)

    def merged(self, over: Mapping[str, int]) -> Resources:
        """These amounts, with those of `over` in place of ours where both have one."""
        return Resources({**self._amounts, **over}) if over else self

    def fits_in(self, available: Resources) -> bool:
        """Whether this much can be taken; nothing can be taken where anything is overdrawn already."""
        room = available._amounts
        if any(amount < 0 for amount in room.values()):
            return False
        return all(amount <= room.get(name, 0) for name, amount in self._amounts.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self._amounts == other._amounts

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._amounts.items()))
        return self._hash

    def __str__(self) -> str:
        return ", ".join(f"{name} {text}" for name, text in self.quantities().items()) or "nothing"

    def __repr__(self) -> str:
        return f"Resources({self})"

    def quantities(self) -> dict[str, str]:
        """The wire form, by name."""
        return {name: str(quantity_of(name, self._amounts[name])) for name in sorted(self._amounts)}


NOTHING: Final = Resources()


def largest_of(some: Iterable[Resources]) -> dict[str, int]:
    """The most of each resource that any of these has."""
    found: dict[str, int] = {}
    for one in some:
        for name, amount in one.items():
            if amount > found.get(name, -1):
                found[name] = amount
    return found


def columns_of(some: Iterable[Resources]) -> dict[str, list[int]]:
    """By name, how much of it each of these has, one after the other."""
    rows = [one._amounts for one in some]
    names: set[str] = set()
    for row in rows:
        names.update(row)
    return {name: [row.get(name, 0) for row in rows] for name in sorted(names)}


def parse(wire: object, *path: str, allow_negative: bool = False) -> Resources:
    """Read a Kubernetes resource list; an error names the resource that is wrong."""
    if wire is None:
        return NOTHING
    if not isinstance(wire, Mapping):
        raise BadValue(f"expected a map of resources, got {type(wire).__name__}").at(*path)
    amounts: dict[str, int] = {}
    for name, raw in wire.items():
        if not isinstance(name, str) or not name:
            raise BadValue(f"{shown(name)} is not the name of a resource").at(*path)
        try:
            value = quantity.parse(raw)
        except BadInput as problem:
            raise BadValue(str(problem)).at(*path, name) from None
        if value.nanos < 0 and not allow_negative:
            raise BadValue(f"{shown(raw)} is negative; a resource is 0 or more").at(*path, name)
        amounts[name] = amount_of(name, value)
    return Resources(amounts)
