"""What an EC2 type's name says about its kin: series, generation, processor and options.

`r8gd.large` is series r, generation 8, processor g (Graviton), options d. Before generation 7 Intel's i is
usually left unsaid, so an unsaid processor counts as Intel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

CATEGORIES = {
    "accelerated": ("dl", "f", "g", "gr", "inf", "p", "trn", "vt"),
    "compute": ("c", "cc", "hpc"),
    "memory": ("cr", "r", "u", "x", "z"),
    "storage": ("d", "h", "hs", "i", "im", "is"),
}


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    series: str
    generation: int
    processor: str
    options: str


def family_of(instance_type: str) -> Family:
    name = instance_type.split(".")[0]
    parts = re.fullmatch(r"([a-z]+)(\d+)(.*)", name)
    if parts is None:  # u-6tb1, mac-m4: the name says nothing we can compare
        return Family(name, name.split("-")[0], 0, "", name)
    series, generation, suffix = parts.groups()
    processor = suffix[0] if suffix[:1] in ("a", "g", "i") else "i"
    options = suffix[1:] if suffix[:1] in ("a", "g", "i") else suffix
    return Family(name, series, int(generation), processor, options)


def size_of(instance_type: str) -> str:
    return instance_type.partition(".")[2]


def category_of(family: Family) -> str:
    for category, series in CATEGORIES.items():
        if family.series in series:
            return category
    return "general"


def predecessors(family: Family, known: Iterable[str]) -> list[Family]:
    """Families of the same series, processor and options in earlier generations, the newest first."""
    found = []
    for name in sorted(set(known)):
        other = family_of(name)
        same = (other.series, other.processor, other.options) == (family.series, family.processor, family.options)
        if same and 0 < other.generation < family.generation:
            found.append(other)
    return sorted(found, key=lambda one: -one.generation)


def plainer_siblings(family: Family, known: Iterable[str]) -> list[Family]:
    """Families of the same series and generation whose name this one extends: p5 for p5e. Longest first."""
    names = [name for name in set(known) if family.name.startswith(name) and name != family.name]
    others = [family_of(name) for name in names]
    same = [other for other in others if (other.series, other.generation) == (family.series, family.generation)]
    return sorted(same, key=lambda one: -len(one.name))
