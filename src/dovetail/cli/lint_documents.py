"""Lint rules over objects as they are written: old names, budgets, and what cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dovetail.api import documents, schedules
from dovetail.api.documents import Document
from dovetail.api.world import World
from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.views.findings import Finding, Level, Rule

DEPRECATED: Final = Rule("DV009", "deprecated-key", "A label, annotation or kind that has a newer name")
QUANTITY: Final = Rule("DV010", "bad-quantity", "A quantity that cannot be read")
UNREADABLE: Final = Rule("DV011", "unreadable", "An object or field that cannot be read")
BUDGET: Final = Rule("DV005", "budget-never-opens", "A disruption budget that never lets a node go")

_OLD_KEYS: Final[Mapping[str, str]] = {
    **{key: new for key, new in labels.ALIASES.items() if "beta.kubernetes.io" in key},
    "karpenter.sh/provisioner-name": labels.NODEPOOL,
    "karpenter.sh/do-not-evict": "karpenter.sh/do-not-disrupt",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
    "volume.beta.kubernetes.io/storage-class": "spec.storageClassName",
    "storageclass.beta.kubernetes.io/is-default-class": "storageclass.kubernetes.io/is-default-class",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
_OLD_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("karpenter.sh", "Provisioner"): "NodePool (karpenter.sh/v1)",
    ("karpenter.sh", "Machine"): "NodeClaim (karpenter.sh/v1)",
    ("karpenter.k8s.aws", "AWSNodeTemplate"): "EC2NodeClass (karpenter.k8s.aws/v1)",
    ("extensions", "Deployment"): "apps/v1",
    ("extensions", "DaemonSet"): "apps/v1",
}
#: What the server or a controller wrote is not the user's to mend.
_NOT_THE_USERS: Final = frozenset({"status", "managedFields", "kubectl.kubernetes.io/last-applied-configuration"})
#: Kinds whose labels somebody else sets: kubelets still write the old ones beside the new.
_WRITTEN_BY_OTHERS: Final = frozenset({"Node", "NodeClaim", "CSINode", "PersistentVolume"})
_ALWAYS: Final = 24 * 60


def deprecated(document: Document) -> Iterator[Finding]:
    """Every old name in one object, with what to write instead."""
    value = document.value
    if not isinstance(value, Mapping):
        return
    kind, version = str(value.get("kind")), str(value.get("apiVersion"))
    name, file = documents.name_of(value), document.place[0]
    newer = _OLD_KINDS.get((version.partition("/")[0], kind))
    if newer is not None:
        yield Finding(
            DEPRECATED, Level.ERROR, name, "kind", f"{version} {kind} is no longer read", f"write a {newer}", file
        )
    if kind in _WRITTEN_BY_OTHERS:
        return
    for path, key in _keys(value):
        if key in _OLD_KEYS:
            told, fix = f"{key} is an old name", f"write {_OLD_KEYS[key]}"
            yield Finding(DEPRECATED, Level.WARNING, name, path, told, fix, file)


def _keys(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key of every map, and every text that stands where a key is named, with its path."""
    waiting: list[tuple[object, str]] = [(value, path)]
    while waiting:
        one, at = waiting.pop()
        if isinstance(one, Mapping):
            for key, inner in one.items():
                if key in _NOT_THE_USERS:
                    continue
                here = f"{at}.{key}" if at else str(key)
                yield here, str(key)
                if key in ("key", "topologyKey") and isinstance(inner, str):
                    yield here, inner
                waiting.append((inner, here))
        elif isinstance(one, list):
            waiting.extend((inner, f"{at}[{number}]") for number, inner in enumerate(one))


def budgets(document: Document) -> Iterator[Finding]:
    """Budgets of a pool that never let a node go."""
    value = document.value
    if not isinstance(value, Mapping) or value.get("kind") != "NodePool":
        return
    spec = value.get("spec")
    disruption = spec.get("disruption") if isinstance(spec, Mapping) else None
    listed = disruption.get("budgets") if isinstance(disruption, Mapping) else None
    for at, one in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(one, Mapping):
            for path, told, fix in _budget(one):
                place = f"spec.disruption.budgets[{at}]" + (f".{path}" if path else "")
                yield Finding(BUDGET, Level.WARNING, documents.name_of(value), place, told, fix, document.place[0])


def _budget(one: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    nodes, schedule, duration = (one.get(name) for name in ("nodes", "schedule", "duration"))
    shut = str(nodes) in ("0", "0%")
    reasons = "" if not one.get("reasons") else f" for {one['reasons']}"
    if schedule is None and duration is None:
        if shut:
            told = f"lets no node go, at any time{reasons}: nodes are never consolidated, nor replaced when they drift"
            yield "nodes", told, "give it a schedule and a duration, or let at least one node go"
        return
    if not isinstance(schedule, str) or not isinstance(duration, str):
        yield "", "has a schedule or a duration, but not both", "write both, or neither"
        return
    try:
        parsed = schedules.parse(schedule)
    except BadInput as problem:
        yield "schedule", str(problem), "write five fields of cron, in UTC"
        return
    length = schedules.minutes(duration)
    if length is None or length == 0:
        yield "duration", f"{duration[:40]!r} is no time", "write hours and minutes, such as 8h or 1h30m"
    if not schedules.ever_comes(parsed):
        yield "schedule", f"{schedule[:60]!r} never comes: there is no such day", "name a day there is"
    elif (
        shut
        and length is not None
        and length >= _ALWAYS
        and all(len(each) > 1 for each in parsed[2:])
        and _daily(parsed)
    ):
        yield "duration", "is shut all day, every day: no node ever goes", "make it shorter than a day"


def _daily(parsed: schedules.Schedule) -> bool:
    _, _, days, months, weekdays = parsed
    return len(days) == 31 and len(months) == 12 and len(weekdays - {7}) == 7


def unreadable(world: World) -> Iterator[Finding]:
    """What reading the world complained about, and what is wrong with pods."""
    for problem in world.problems:
        parts = problem.place.parts
        rule = QUANTITY if "is not a quantity" in problem.problem else UNREADABLE
        file, rest = (parts[0], parts[1:]) if parts else ("", ())
        path = rest[-1] if len(rest) > 1 else ""
        yield Finding(rule, Level.ERROR, rest[0] if rest else "", path, *_parted(problem.problem), file)
    told: dict[str, str] = {}
    for pod in world.snapshot.pods:
        if pod.shape.problem is not None:
            told.setdefault(pod.shape.problem, pod.key)
    for problem_text, key in told.items():
        path, _, message = problem_text.partition(": ")
        if re.fullmatch(r"(spec|metadata)[\w.\[\]/-]*", path) is None:
            path, message = "", problem_text
        rule = QUANTITY if "is not a quantity" in message else UNREADABLE
        yield Finding(rule, Level.ERROR, f"Pod {key}", path, *_parted(message))


def _parted(message: str) -> tuple[str, str]:
    """What an error says is wrong, and what it says to do about it, where it does."""
    wrong, semicolon, advice = message.partition("; ")
    return (wrong, advice) if semicolon else (message, "mend the field, or take the object out")
