"""How much memory the hypervisor and the kernel keep before the node reports any.

A peer takes a flat 7.5 % off every type; field measurements lie between 1.7 % on large machines and 5.3 % on small
ones, so that wastes gigabytes on the large. Our default falls with the size, within and above that range. The tiers
are a choice, not measurements of each size: a type may still turn out smaller than planned, until a node of it has
joined. That settles the matter: what it reported is used for its type from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dovetail.core.resources import GIB, MIB


@dataclass(frozen=True, slots=True)
class FlatOverhead:
    """The same share of every machine."""

    share: Fraction

    def held_back(self, memory_bytes: int) -> tuple[int, str]:
        return _round_up(memory_bytes * self.share), f"flat {float(self.share * 100):g}%"


#: (up to this size, share held back); the last tier has no end.
TIERS: Final[tuple[tuple[int | None, Fraction], ...]] = (
    (2 * GIB, Fraction(75, 1000)),
    (8 * GIB, Fraction(55, 1000)),
    (32 * GIB, Fraction(40, 1000)),
    (128 * GIB, Fraction(30, 1000)),
    (None, Fraction(225, 10_000)),
)


@dataclass(frozen=True, slots=True)
class TieredOverhead:
    """A share that falls with the size of the machine."""

    tiers: tuple[tuple[int | None, Fraction], ...] = TIERS

    def held_back(self, memory_bytes: int) -> tuple[int, str]:
        for end, share in self.tiers:
            if end is None or memory_bytes <= end:
                upto = f"up to {end // GIB} GiB" if end else "above that"
                return _round_up(memory_bytes * share), f"{float(share * 100):g}% ({upto})"
        raise AssertionError("the last tier has no end")


VmOverhead = FlatOverhead | TieredOverhead
TIERED: Final = TieredOverhead()


def _round_up(amount: Fraction) -> int:
    """To whole MiB, never in the pods' favour."""
    return -(-amount.numerator // (amount.denominator * MIB)) * MIB
