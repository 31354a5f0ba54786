"""Whether the pods of a node surely find room elsewhere: seen at a glance, without a plan.

A plan puts each pod on the first node that will have it. It can only fail to, if no node will. So if there is one node
that has room for *all* these pods together, and that none of them has a reason to avoid even when the others are there
already, then every pod finds a place, whatever the order and wherever the others went: that node, if no other. It is
the *witness*. Where pods are spread over a label, which of its values is open is not known beforehand, so there has to
be a witness for every value.

Most nodes of a cluster that has any slack are answered so, for a twentieth of what a plan costs. Nothing is said of the
others: they have to be planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dovetail.core import labels
from dovetail.core.pods import Pod
from dovetail.core.scheduling.bitsets import bits
from dovetail.core.scheduling.compiled import Compiled
from dovetail.core.scheduling.families import Family
from dovetail.core.scheduling.groups import Group, GroupKey, Kind
from dovetail.core.scheduling.levels import Levels

#: So many nodes are looked at before it is left to a plan.
_TRIES = 4


@dataclass(frozen=True, slots=True)
class _Terms:
    """What the pods of one family ask of a witness."""

    nodes: int
    #: Groups by hostname it must obey: how many of them may be there before, and whether it is one itself.
    hosts: tuple[tuple[GroupKey, int, bool], ...]
    #: The label its pods are spread by, if there is one, as the group that counts them.
    spread: GroupKey | None
    #: The groups that count its pods.
    counted: tuple[GroupKey, ...]


class Ample:
    """Answers for the nodes of one compiled cluster."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._terms: dict[int, _Terms | None] = {}
        self._groups: dict[GroupKey, Group] = {}
        self._levels: dict[str, Levels] = {}
        table = compiled.table
        # Where somebody waits already, others come before the pods that are asked about, and take what they like.
        self._open = 0 if compiled.pending(()) else table.open & ~table.overdrawn
        for shape in table.bound:
            compiled.known(shape)  # all groups have to be met before anybody asks who is counted by them

    def witnesses(self, name: str) -> int:
        """Nodes, as a set of their numbers, that prove that the pods of one node find room; 0 where none was found."""
        table = self._compiled.table
        number = table.numbers[name]
        pods = table.moving.get(number, [])
        families: dict[int, int] = {}
        asked: list[_Terms] = []
        counts: dict[GroupKey, int] = {}
        fitting = self._open & ~(1 << number)
        for pod in pods:
            family = self._compiled.known(pod.shape).family
            seen = families[id(family)] = families.get(id(family), 0) + 1
            terms = self._terms_of(family)
            if terms is None or pod.shape.problem is not None:
                return 0
            if seen == 1:
                asked.append(terms)
                fitting &= terms.nodes
            for key in terms.counted:
                counts[key] = counts.get(key, 0) + 1
        for terms in asked:
            for key, limit, itself in terms.hosts:
                spare = limit - counts.get(key, 0) + itself
                if spare < 0:
                    return 0
                fitting &= ~self._group(key).crowded(spare)
        return self._chosen(fitting, number, pods, asked) if fitting else 0

    def _chosen(self, fitting: int, number: int, pods: Sequence[Pod], asked: Sequence[_Terms]) -> int:
        """A node with room for all of them, in every domain that may be called for."""
        total: dict[str, int] = {}
        for pod in pods:
            for name, amount in pod.shape.requests.items():
                total[name] = total.get(name, 0) + amount
        for name, amount in total.items():
            fitting = self._level(name).among(fitting, amount)
        spreads = {terms.spread for terms in asked if terms.spread is not None}
        if not spreads:
            return self._roomy(fitting, number, total)
        found = 0
        for key in spreads:
            domains = self._compiled.table.domains(key.key)
            for value in self._group(key).eligible:
                one = self._roomy(fitting & domains.get(value, 0), number, total)
                if not one:
                    return 0
                found |= one
        return found

    def _roomy(self, fitting: int, after: int, total: dict[str, int]) -> int:
        """The next of these nodes that really has so much room: beginning at another place for each who asks, so that
        not all answers rest on the same node."""
        table = self._compiled.table
        for tried, number in enumerate(_round(fitting, after)):
            if all(table.column(name)[number] >= amount for name, amount in total.items()):
                return 1 << number
            if tried == _TRIES:
                break
        return 0

    # ---- looked up once

    def _terms_of(self, family: Family) -> _Terms | None:
        """None for a family whose pods ask for what no glance can see."""
        if id(family) not in self._terms:
            self._terms[id(family)] = self._looked_up(family)
        return self._terms[id(family)]

    def _looked_up(self, family: Family) -> _Terms | None:
        shape, rung = family.shape, family.rungs[0]
        if shape.ports or shape.volumes.attached or shape.volumes.places:
            return None
        hosts: list[tuple[GroupKey, int, bool]] = []
        spread: GroupKey | None = None
        for key, itself in rung.owned.items():
            if key.kind is Kind.NEAR or (key.key != labels.HOSTNAME and not _is_plain_spread(key, spread)):
                return None
            if key.key == labels.HOSTNAME:
                hosts.append((key, key.max_skew - itself if key.kind is Kind.SPREAD else 0, itself))
            else:
                spread = key
        for key in family.avoided:
            if key.key != labels.HOSTNAME:
                return None
            hosts.append((key, 0, key in family.inverse))
        counting = (key for key in self._compiled.selecting(family) if key.kind is not Kind.INVERSE)
        return _Terms(rung.nodes, tuple(hosts), spread, (*counting, *family.inverse))

    def _group(self, key: GroupKey) -> Group:
        found = self._groups.get(key)
        if found is None:
            found = self._groups[key] = self._compiled.topology.group(key, ())
        return found

    def _level(self, name: str) -> Levels:
        found = self._levels.get(name)
        if found is None:
            found = self._levels[name] = self._compiled.levels(name)
        return found


def _is_plain_spread(key: GroupKey, another: GroupKey | None) -> bool:
    """Whether some domain is always open: there is one spread only, and it does not ask for a number of domains."""
    return key.kind is Kind.SPREAD and another is None and key.min_domains is None


def _round(fitting: int, after: int) -> Iterator[int]:
    above = fitting >> after << after
    yield from bits(above)
    yield from bits(fitting ^ above)
