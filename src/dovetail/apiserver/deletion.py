"""How objects go: at once, after their finalizers, or after a grace period.

Only pods are given time: one that runs on a node keeps its place until its kubelet says it has ended (a deletion with
no grace). Everything else goes at once, unless finalizers hold it; then it is marked, and goes with the last of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from dovetail.api import kinds
from dovetail.apiserver import errors
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Deletion, Propagation

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_FINALIZERS: Final = {Propagation.ORPHAN: ORPHAN, Propagation.FOREGROUND: FOREGROUND}
_ENDED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a deletion makes of an object."""

    obj: Object
    gone: bool = False
    changed: bool = False


def begin(resource: Resource, obj: Object, how: Deletion, now: datetime) -> Outcome:
    """Mark an object as going, or find that it is gone. The object given may be changed."""
    metadata = obj["metadata"]
    _check_preconditions(resource, metadata, how)
    changed = _set_propagation(metadata, how.propagation)
    grace = _grace(resource, obj, how)
    if "deletionTimestamp" in metadata:
        changed = _hasten(metadata, grace, now) or changed
    elif grace or _held(resource, obj):
        _mark(metadata, grace, now)
        if resource.kind == kinds.NAMESPACES:
            obj.setdefault("status", {})["phase"] = "Terminating"
        changed = True
    else:
        return Outcome(obj, gone=True)
    if is_over(obj) and not _held(resource, obj):
        return Outcome(obj, gone=True)
    return Outcome(obj, changed=changed)


def is_over(obj: Object) -> bool:
    """Whether an object that was marked has nothing left to wait for."""
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata or metadata.get("finalizers"):
        return False
    if obj.get("kind") == "Namespace" and (obj.get("spec") or {}).get("finalizers"):
        return False
    return not metadata.get("deletionGracePeriodSeconds")


def _held(resource: Resource, obj: Object) -> bool:
    if obj["metadata"].get("finalizers"):
        return True
    return resource.kind == kinds.NAMESPACES and bool((obj.get("spec") or {}).get("finalizers"))


def _check_preconditions(resource: Resource, metadata: dict[str, Any], how: Deletion) -> None:
    if how.uid and how.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({how.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(resource.kind, metadata["name"], why)
    if how.revision and how.revision != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({how.revision}) does not match the ResourceVersion in record "
            f"({metadata['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(resource.kind, metadata["name"], why)


def _set_propagation(metadata: dict[str, Any], wanted: Propagation | None) -> bool:
    """Who looks after dependents is asked through a finalizer; saying nothing leaves what is there."""
    if wanted is None:
        return False
    before = metadata.get("finalizers") or []
    after = [name for name in before if name not in (ORPHAN, FOREGROUND)]
    if wanted in _FINALIZERS:
        after.append(_FINALIZERS[wanted])
    if after == before:
        return False
    if after:
        metadata["finalizers"] = after
    else:
        metadata.pop("finalizers", None)
    return True


def _grace(resource: Resource, obj: Object, how: Deletion) -> int:
    if resource.kind != kinds.PODS:
        return 0
    spec = obj.get("spec") or {}
    if not spec.get("nodeName") or (obj.get("status") or {}).get("phase") in _ENDED:
        return 0
    grace = how.grace if how.grace is not None else spec.get("terminationGracePeriodSeconds", 30)
    return 1 if grace < 0 else int(grace)


def _mark(metadata: dict[str, Any], grace: int, now: datetime) -> None:
    metadata["deletionTimestamp"] = stamp(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    if "generation" in metadata:
        metadata["generation"] += 1


def _hasten(metadata: dict[str, Any], grace: int, now: datetime) -> bool:
    """A second deletion can only shorten the wait."""
    if grace >= metadata.get("deletionGracePeriodSeconds", 0):
        return False
    metadata["deletionTimestamp"] = stamp(now + timedelta(seconds=grace))
    metadata["deletionGracePeriodSeconds"] = grace
    return True
