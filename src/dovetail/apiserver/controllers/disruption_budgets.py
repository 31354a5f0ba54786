"""PodDisruptionBudgets: how many pods may be taken right now.

A share is a share of what the pods' controllers want, not of the pods there happen to be, so that a scale-up in
progress does not make the budget generous. A pod an eviction was just granted for no longer counts as healthy until
it has gone, or until so long has passed that it evidently stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import selectors
from dovetail.apiserver.controllers.controller import Key, Seen, is_going, owners_of, with_condition
from dovetail.apiserver.controllers.deployments import resolved
from dovetail.apiserver.controllers.index import Index, PodRecord
from dovetail.apiserver.controllers.replica_sets import write_status
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.selectors import Labels
from dovetail.apiserver.storage import Object
from dovetail.apiserver.subresources import scale_of

#: After this long a pod that was to be evicted and still stands counts again.
_EVICTION_SECONDS: Final = 120.0
_SCALED: Final = (kinds.REPLICA_SETS, kinds.STATEFUL_SETS, kinds.DEPLOYMENTS)


class DisruptionBudgets:
    hears: tuple[Kind, ...] | None = (kinds.DISRUPTION_BUDGETS, kinds.PODS, *_SCALED)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index
        self._budgets: dict[str, dict[str, Labels | None]] = {}

    def heard(self, seen: Seen) -> Iterable[Key]:
        namespace, name = seen.item.namespace, seen.item.name
        if seen.kind == kinds.DISRUPTION_BUDGETS:
            known = self._budgets.setdefault(namespace, {})
            if seen.gone:
                known.pop(name, None)
                return ()
            known[name] = selectors.of_object(seen.obj["spec"].get("selector"))
            return (seen.key,)
        budgets = self._budgets.get(namespace)
        if not budgets:
            return ()
        if seen.kind in _SCALED:
            return [(namespace, one) for one in budgets]
        before = ((seen.old or {}).get("metadata") or {}).get("labels") or {}
        return [
            (namespace, one)
            for one, terms in budgets.items()
            if terms is not None and (selectors.matches(terms, seen.item.labels) or selectors.matches(terms, before))
        ]

    def look(self, key: Key) -> float | None:
        namespace, name = key
        budget = self._objects.find(kinds.DISRUPTION_BUDGETS, name, namespace)
        if budget is None or is_going(budget):
            return None
        terms = selectors.of_object(budget["spec"].get("selector"))
        pods = [
            one
            for one in self._index.pods_in(namespace)
            if terms is not None and not one.ended and selectors.matches(terms, one.labels)
        ]
        disrupted, again = self._disrupted(budget, pods)
        expected, desired = self._wanted(budget["spec"], pods)
        healthy = sum(one.ready and one.name not in disrupted for one in pods)
        allowed = max(0, healthy - desired) if expected else 0
        self._report(
            budget,
            disrupted,
            {
                "expectedPods": expected,
                "desiredHealthy": desired,
                "currentHealthy": healthy,
                "disruptionsAllowed": allowed,
            },
        )
        return again

    def _disrupted(self, budget: Object, pods: list[PodRecord]) -> tuple[dict[str, str], float | None]:
        """Evictions granted whose pods have not gone yet, and when the first of them will be given up."""
        now, found = self._objects.now(), (budget.get("status") or {}).get("disruptedPods") or {}
        standing = {one.name for one in pods if not one.going}
        kept: dict[str, str] = {}
        again: float | None = None
        for name, since in found.items():
            left = _EVICTION_SECONDS - (now - datetime.fromisoformat(since)).total_seconds()
            if name in standing and left > 0:
                kept[name] = since
                again = left if again is None else min(again, left)
        return kept, again

    def _wanted(self, spec: Mapping[str, Any], pods: list[PodRecord]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must stay healthy."""
        least, missing = spec.get("minAvailable"), spec.get("maxUnavailable")
        if missing is not None:
            expected = self._scale(pods)
            return expected, max(0, expected - resolved(missing, expected, up=True))
        if isinstance(least, str):
            expected = self._scale(pods)
            return expected, resolved(least, expected, up=True)
        return len(pods), int(least or 0)

    def _scale(self, pods: list[PodRecord]) -> int:
        """What the pods' controllers want together; a pod without one counts for itself."""
        first = {one.owner_uid: one for one in reversed(pods) if one.owner_uid}
        scales = dict(self._controller_scale(one) for one in first.values())
        return sum(scales.values()) + sum(not one.owner_uid for one in pods)

    def _controller_scale(self, pod: PodRecord) -> tuple[str, int]:
        """The scale of a pod's controller, or, for a ReplicaSet, that of its Deployment."""
        record = self._objects.find(kinds.PODS, pod.name, pod.namespace)
        owner = next((one for one in owners_of(record or {"metadata": {}}) if one.controller), None)
        uid, count = pod.owner_uid, 1
        while owner is not None:
            resource = self._objects.registry.by_name(owner.api_version, owner.kind)
            found = self._objects.find(resource.kind, owner.name, pod.namespace) if resource else None
            if resource is None or found is None or "scale" not in resource.subresources:
                break
            uid, count = found["metadata"]["uid"], scale_of(resource, found)["spec"].get("replicas", 0)
            owner = next((one for one in owners_of(found) if one.controller), None)
        return uid, count

    def _report(self, budget: Object, disrupted: dict[str, str], counts: dict[str, int]) -> None:
        enough = counts["disruptionsAllowed"] > 0
        generation = budget["metadata"].get("generation", 0)
        said = {
            "type": "DisruptionAllowed",
            "status": "True" if enough else "False",
            "reason": "SufficientPods" if enough else "InsufficientPods",
            "message": "",
            "observedGeneration": generation,
        }
        before = (budget.get("status") or {}).get("conditions")
        status: dict[str, Any] = {
            **counts,
            "observedGeneration": generation,
            "conditions": with_condition(before, said, stamp(self._objects.now())),
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        write_status(self._objects, kinds.DISRUPTION_BUDGETS, budget, status)
