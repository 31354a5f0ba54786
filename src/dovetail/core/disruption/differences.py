"""What became of a cluster since it was last looked at.

Snapshots of a watched cluster share what did not change, object for object, so most of the comparison is whether two
things are the same one. A pod that is another object counts as another pod, even if it is equal: plans name pods by
identity. Nodes and facts that are equal are unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Final

from dovetail.core.disruption.facts import PodFacts
from dovetail.core.nodes import Node
from dovetail.core.pods import Pod


@dataclass(frozen=True, slots=True)
class Difference:
    """Pods that were there and are no longer, or not as they were; and those that are there now."""

    gone: tuple[Pod, ...] = ()
    come: tuple[Pod, ...] = ()

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes they are or were on."""
        return frozenset(pod.node for pod in (*self.gone, *self.come) if pod.node is not None)

    def __len__(self) -> int:
        return len(self.gone) + len(self.come)


NO_DIFFERENCE: Final = Difference()


def between(old: Sequence[Pod], new: Sequence[Pod]) -> Difference:
    """What differs, whatever the order."""
    if old is new:
        return NO_DIFFERENCE
    start = _alike(old, new)
    end = min(_alike(old[::-1], new[::-1]), len(old) - start, len(new) - start)
    before, after = old[start : len(old) - end], new[start : len(new) - end]
    kept, there = set(map(id, after)), set(map(id, before))
    gone = [pod for pod in before if id(pod) not in kept]
    come = [pod for pod in after if id(pod) not in there]
    return Difference(tuple(gone), tuple(come))


def _alike(old: Sequence[Pod], new: Sequence[Pod]) -> int:
    """How many of the first are the same."""
    same = list(map(is_, old, new))
    return same.index(False) if False in same else len(same)


def resized(old: Sequence[Node], new: Sequence[Node]) -> tuple[Node, ...] | None:
    """The nodes of which pods may have more or less than before; None where nodes differ in anything else."""
    if len(old) != len(new):
        return None
    found = []
    for before, after in zip(old, new, strict=True):
        if before is after or before == after:
            continue
        if before.name != after.name or replace(before, allocatable=after.allocatable) != after:
            return None
        found.append(after)
    return tuple(found)


def told_otherwise(old: Mapping[str, PodFacts], new: Mapping[str, PodFacts]) -> frozenset[str]:
    """The keys of pods of which something else is said now."""
    if old is new or old == new:
        return frozenset()
    changed = {key for key, facts in new.items() if (was := old.get(key)) is not facts and was != facts}
    changed.update(key for key in old if key not in new)
    return frozenset(changed)


def hosts(pods: Iterable[Pod], keys: frozenset[str]) -> frozenset[str]:
    """The nodes of the pods with these keys."""
    if not keys:
        return frozenset()
    names = {key.partition("/")[2] for key in keys}
    return frozenset(pod.node for pod in pods if pod.name in names and pod.node is not None and pod.key in keys)
