"""The scheduler's configuration file, as far as planning reads it: default topology spread (§4.9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dovetail.api import affinities, documents
from dovetail.api.fields import Fields, dotted, fields
from dovetail.core.errors import BadField, BadValue
from dovetail.core.pods import Spread
from dovetail.core.requirements import EMPTY, Requirements
from dovetail.core.selectors import EVERYTHING, Selector


@dataclass(frozen=True, slots=True)
class Defaults:
    """Constraints for pods that have none; the selector is worked out for each pod."""

    constraints: tuple[Spread, ...] = ()

    def for_pod(self, selector: Requirements) -> tuple[Spread, ...]:
        """The constraints of a pod that belongs to others; one that belongs to nothing is left alone."""
        if not self.constraints or not len(selector):
            return ()
        chosen = Selector(selector)
        return tuple(
            Spread(one.key, one.max_skew, chosen, one.hard, one.min_domains, one.node_affinity, one.node_taints)
            for one in self.constraints
        )


NO_DEFAULTS = Defaults()


def read(text: str, filename: str) -> Defaults:
    try:
        return _read(fields(documents.read_one(text, filename)))
    except BadField as problem:
        known = problem.place.parts[:1] == (filename,)
        raise (problem if known else dotted(problem, filename)) from None


def _read(wire: Fields) -> Defaults:
    wire.only(("podTopologySpread",))
    spread = wire.map("podTopologySpread").only(("defaultConstraints",))
    found: dict[tuple[str, bool], Spread] = {}
    for entry in spread.items("defaultConstraints"):
        if not entry.has("whenUnsatisfiable"):
            raise entry.bad("whenUnsatisfiable", "is missing; write DoNotSchedule or ScheduleAnyway")
        for name in ("labelSelector", "matchLabelKeys"):
            if entry.has(name):
                raise entry.bad(name, "a default constraint has none; the selector is worked out for each pod")
        entry.only(
            ("maxSkew", "topologyKey", "whenUnsatisfiable", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy")
        )
        one = affinities.spread_of(entry, EVERYTHING)
        if (one.key, one.hard) in found:
            raise BadValue("another constraint has this key and whenUnsatisfiable; keep one").at(*entry.path)
        found[one.key, one.hard] = one
    return Defaults(tuple(found.values()))


@dataclass(frozen=True, slots=True)
class Service:
    """Whom a Service sends to: pods of its namespace with these labels."""

    selector: Mapping[str, str]

    def selects(self, labels: Mapping[str, str]) -> bool:
        return bool(self.selector) and all(labels.get(key) == value for key, value in self.selector.items())


def deduced(
    labels: Mapping[str, str], services: Iterable[Service], owner_labels: Mapping[str, str], owner: Requirements
) -> Requirements:
    """The pods a pod belongs with: those of its services, and of what owns it."""
    wanted: dict[str, str] = {}
    for one in services:
        if one.selects(labels):
            wanted.update(one.selector)
    wanted.update(owner_labels)
    found = Requirements.of_labels(wanted) if wanted else EMPTY
    return found & owner
