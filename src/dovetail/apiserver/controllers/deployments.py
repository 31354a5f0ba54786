"""Deployments: one ReplicaSet for each template there ever was, and a walk from the old ones to the new.

The new ReplicaSet grows while there are fewer pods than wanted plus the surge; old ones shrink while enough pods are
available. Each step is what is allowed right now, and the next comes when pods have become ready or gone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import (
    MANAGER,
    Key,
    Seen,
    controller_reference,
    is_going,
    owners_of,
    with_condition,
)
from dovetail.apiserver.controllers.index import Index
from dovetail.apiserver.controllers.replica_sets import owner_keys, write_status
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import MergePatch

HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
_DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
_MOST: Final = "deployment.kubernetes.io/max-replicas"
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"


class Deployments:
    hears: tuple[Kind, ...] | None = (kinds.DEPLOYMENTS, kinds.REPLICA_SETS, kinds.PODS)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index

    def heard(self, seen: Seen) -> Iterable[Key]:
        if seen.kind == kinds.DEPLOYMENTS:
            return (seen.key,)
        if seen.kind == kinds.REPLICA_SETS:
            return owner_keys(seen, "Deployment")
        return self._heard_pod(seen) if seen.gone else ()

    def _heard_pod(self, seen: Seen) -> Iterable[Key]:
        """One that recreates waits for the last pod to go, which no ReplicaSet's status tells."""
        for namespace, name in owner_keys(seen, "ReplicaSet"):
            owner = self._objects.find(kinds.REPLICA_SETS, name, namespace)
            for one in owners_of(owner) if owner is not None else ():
                if one.controller and one.kind == "Deployment":
                    yield namespace, one.name

    def look(self, key: Key) -> float | None:
        namespace, name = key
        found = self._objects.find(kinds.DEPLOYMENTS, name, namespace)
        if found is None or is_going(found):
            return None
        sets = self._sets_of(found)
        hash_now = template_hash(found["spec"]["template"])
        current = next((one for one in sets if one["metadata"]["labels"].get(HASH_LABEL) == hash_now), None)
        old = [one for one in sets if one is not current]
        if found["spec"].get("paused"):
            self._report(found, current, old)
            return None
        recreate = (found["spec"].get("strategy") or {}).get("type") == "Recreate"
        if recreate and self._retire(old):
            self._report(found, current, old)
            return None
        if current is None:
            current = self._new_set(found, hash_now, sets)
        current = self._number(found, current, old)
        if recreate:
            self._scale(current, found["spec"].get("replicas", 1))
        else:
            self._roll(found, current, old)
        self._forget(found, old)
        self._report(found, self._fresh(current), [one for each in old if (one := self._fresh(each)) is not None])
        return None

    def _sets_of(self, found: Object) -> list[Object]:
        """The ReplicaSets it owns, oldest first."""
        owned = [one for one in self._index.dependents(found["metadata"]["uid"]) if one.kind == kinds.REPLICA_SETS]
        sets = [self._objects.find(one.kind, one.name, one.namespace) for one in owned]
        return sorted((one for one in sets if one and not is_going(one)), key=_age)

    def _fresh(self, one: Object) -> Object | None:
        return self._objects.find(kinds.REPLICA_SETS, one["metadata"]["name"], one["metadata"]["namespace"])

    def _new_set(self, found: Object, hash_now: str, sets: list[Object]) -> Object:
        spec, about = found["spec"], found["metadata"]
        template, wanted_now = spec["template"], spec.get("replicas", 1)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: hash_now}
        selector = spec["selector"]
        matched = {**selector, "matchLabels": {**(selector.get("matchLabels") or {}), HASH_LABEL: hash_now}}
        wanted = {
            "metadata": {
                "name": f"{about['name']}-{hash_now}",
                "labels": labels,
                "annotations": {REVISION: str(1 + max((_revision(one) for one in sets), default=0))},
                "ownerReferences": [controller_reference(found)],
            },
            "spec": {
                "replicas": max(0, min(wanted_now, wanted_now + bounds_of(found)[0] - _replicas(sets))),
                "selector": matched,
                "minReadySeconds": spec.get("minReadySeconds", 0),
                "template": {**template, "metadata": {**(template.get("metadata") or {}), "labels": labels}},
            },
        }
        return self._objects.create(kinds.REPLICA_SETS, wanted, about["namespace"], MANAGER)

    def _number(self, found: Object, current: Object, old: list[Object]) -> Object:
        """The current set has the highest revision, also when it is an old one taken up again."""
        highest = max((_revision(one) for one in old), default=0)
        revision = max(_revision(current), highest + 1 if _revision(current) <= highest else 0) or 1
        wanted, most = found["spec"].get("replicas", 1), found["spec"].get("replicas", 1) + bounds_of(found)[0]
        notes = {REVISION: str(revision), _DESIRED: str(wanted), _MOST: str(most)}
        current = self._annotate(kinds.REPLICA_SETS, current, notes)
        self._annotate(kinds.DEPLOYMENTS, found, {REVISION: str(revision)})
        return current

    def _annotate(self, kind: Kind, obj: Object, notes: dict[str, str]) -> Object:
        about = obj["metadata"]
        if notes.items() <= (about.get("annotations") or {}).items():
            return obj
        patch = MergePatch({"metadata": {"annotations": notes}})
        changed = self._objects.patch(kind, about["name"], patch, about["namespace"], write=MANAGER)
        if kind == kinds.DEPLOYMENTS:
            about.update(changed["metadata"])
        return changed

    def _retire(self, old: list[Object]) -> bool:
        """Scale old sets to nothing; says whether any of their pods is still there."""
        for one in old:
            self._scale(one, 0)
        return any(self._index.pods_of(one["metadata"]["uid"]) for one in old)

    def _scale(self, one: Object, replicas: int) -> Object:
        if one["spec"].get("replicas") == replicas:
            return one
        about = one["metadata"]
        patch = MergePatch({"spec": {"replicas": replicas}})
        changed = self._objects.patch(kinds.REPLICA_SETS, about["name"], patch, about["namespace"], write=MANAGER)
        one["spec"]["replicas"] = replicas
        return changed

    def _roll(self, found: Object, current: Object, old: list[Object]) -> None:
        wanted = found["spec"].get("replicas", 1)
        surge, missing = bounds_of(found)
        total = _replicas([current, *old])
        has = current["spec"].get("replicas", 0)
        if has > wanted:
            self._scale(current, wanted)
        elif has < wanted:
            room = max(0, wanted + surge - total) if old else wanted - has
            self._scale(current, min(wanted, has + room))
        self._shrink(current, old, wanted - missing)

    def _shrink(self, current: Object, old: list[Object], least: int) -> None:
        """Take from old sets what is not needed: first pods that serve nobody, then oldest set first."""
        standing = _replicas([current, *old])
        unready = current["spec"].get("replicas", 0) - _available(current)
        spare = standing - least - max(0, unready)
        for one in old:
            idle = one["spec"].get("replicas", 0) - _available(one)
            taken = min(max(0, spare), max(0, idle))
            if taken:
                self._scale(one, one["spec"]["replicas"] - taken)
                spare -= taken
        spare = min(spare, sum(_available(one) for one in [current, *old]) - least)
        for one in old:
            taken = min(max(0, spare), one["spec"].get("replicas", 0))
            if taken:
                self._scale(one, one["spec"]["replicas"] - taken)
                spare -= taken

    def _forget(self, found: Object, old: list[Object]) -> None:
        limit = found["spec"].get("revisionHistoryLimit", 10)
        empty = [
            one for one in old if not one["spec"].get("replicas") and not (one.get("status") or {}).get("replicas")
        ]
        for one in sorted(empty, key=_revision)[: max(0, len(empty) - limit)]:
            self._objects.delete(kinds.REPLICA_SETS, one["metadata"]["name"], one["metadata"]["namespace"])

    def _report(self, found: Object, current: Object | None, old: list[Object]) -> None:
        wanted = found["spec"].get("replicas", 1)
        every = [*old, *([current] if current else [])]
        status = found.get("status") or {}
        available = sum(_available(one) for one in every)
        total, updated = _counted(every, "replicas"), _counted([current] if current else [], "replicas")
        enough = available >= wanted - bounds_of(found)[1]
        done = updated == wanted == available == total
        counts = {
            "observedGeneration": found["metadata"].get("generation", 0),
            "replicas": total,
            "updatedReplicas": updated,
            "readyReplicas": _counted(every, "readyReplicas"),
            "availableReplicas": available,
            "unavailableReplicas": max(0, wanted - available),
        }
        fresh = {name: count for name, count in counts.items() if count or name == "observedGeneration"}
        fresh["terminatingReplicas"] = _counted(every, "terminatingReplicas")
        fresh["conditions"] = self._conditions(found, current, enough, done)
        kept = {name: value for name, value in status.items() if name == "collisionCount"}
        write_status(self._objects, kinds.DEPLOYMENTS, found, {**kept, **fresh})

    def _conditions(self, found: Object, current: Object | None, enough: bool, done: bool) -> list[dict[str, Any]]:
        now = stamp(self._objects.now())
        name = current["metadata"]["name"] if current else found["metadata"]["name"]
        available = {
            "type": "Available",
            "status": "True" if enough else "False",
            "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
            "message": f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        }
        verb = "has successfully progressed" if done else "is progressing"
        progress = {
            "type": "Progressing",
            "status": "True",
            "reason": "NewReplicaSetAvailable" if done else "ReplicaSetUpdated",
            "message": f'ReplicaSet "{name}" {verb}.',
        }
        before = (found.get("status") or {}).get("conditions")
        for said in (available, progress):
            news = not any(said.items() <= one.items() for one in before or ())
            before = with_condition(before, {**said, **({"lastUpdateTime": now} if news else {})}, now)
        return before or []


def template_hash(template: dict[str, Any]) -> str:
    """A short name for a template, of characters that spell no words."""
    number = int.from_bytes(hashlib.sha256(msgspec.json.encode(template, order="deterministic")).digest()[:8])
    letters = []
    for _ in range(10):
        number, rest = divmod(number, len(_SAFE))
        letters.append(_SAFE[rest])
    return "".join(letters)


def resolved(value: Any, total: int, *, up: bool) -> int:
    """A count, or a percentage of a total."""
    if isinstance(value, str):
        share = int(value.rstrip("%")) * total
        return -(-share // 100) if up else share // 100
    return int(value or 0)


def bounds_of(found: Object) -> tuple[int, int]:
    """How many pods there may be beyond what is wanted, and how many may be missing."""
    strategy = found["spec"].get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    wanted = found["spec"].get("replicas", 1)
    surge = resolved(rolling.get("maxSurge", "25%"), wanted, up=True)
    missing = min(wanted, resolved(rolling.get("maxUnavailable", "25%"), wanted, up=False))
    return surge, missing or (0 if surge else 1)


def _age(one: Object) -> tuple[str, int, str]:
    return one["metadata"]["creationTimestamp"], _revision(one), one["metadata"]["name"]


def _revision(one: Object) -> int:
    return int((one["metadata"].get("annotations") or {}).get(REVISION) or 0)


def _replicas(sets: list[Object]) -> int:
    return sum(one["spec"].get("replicas", 0) for one in sets)


def _counted(sets: list[Object], name: str) -> int:
    return sum((one.get("status") or {}).get(name, 0) for one in sets)


def _available(one: Object) -> int:
    return int((one.get("status") or {}).get("availableReplicas", 0))
