"""Jobs: pods until enough of them have succeeded, or too many have failed.

A real control plane holds each finished pod with a finalizer until it is counted; here pods are counted where they
stand, so a finished pod that somebody deletes is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver.controllers.controller import MANAGER, Key, Seen, is_going, with_condition
from dovetail.apiserver.controllers.index import Index, PodRecord
from dovetail.apiserver.controllers.replica_sets import delete_pod, owner_keys, pod_from, write_status
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import Deletion, Propagation

_DEFAULT_BACKOFF_LIMIT: Final = 6
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
Ending = tuple[str, str, str]


class Jobs:
    hears: tuple[Kind, ...] | None = (kinds.JOBS, kinds.PODS)

    def __init__(self, objects: Objects, index: Index) -> None:
        self._objects = objects
        self._index = index

    def heard(self, seen: Seen) -> Iterable[Key]:
        return (seen.key,) if seen.kind == kinds.JOBS else owner_keys(seen, "Job")

    def look(self, key: Key) -> float | None:
        namespace, name = key
        found = self._objects.find(kinds.JOBS, name, namespace)
        if found is None or is_going(found):
            return None
        ended = _ended_at(found)
        if ended is not None:
            return self._expire(found, ended)
        pods = self._index.pods_of(found["metadata"]["uid"])
        active = [one for one in pods if one.active]
        ending = self._ending(found, pods)
        if ending is not None or found["spec"].get("suspend"):
            for one in active:
                delete_pod(self._objects, one)
        else:
            self._start_pods(found, pods, active)
        self._report(found, ending)
        return None if ending is not None else self._seconds_left(found)

    def _start_pods(self, found: Object, pods: list[PodRecord], active: list[PodRecord]) -> None:
        spec = found["spec"]
        succeeded = sum(one.phase == "Succeeded" for one in pods)
        wanted = spec.get("parallelism", 1)
        completions = spec.get("completions")
        if completions is not None:
            wanted = min(wanted, completions - succeeded)
        elif succeeded:
            wanted = len(active)
        for one in active[wanted:] if wanted >= 0 else active:
            delete_pod(self._objects, one)
        taken = {self._completion(one) for one in pods if one.phase == "Succeeded" or one.active}
        free = (number for number in range(completions or 0) if number not in taken)
        for _ in range(wanted - len(active)):
            number = next(free, None) if spec.get("completionMode") == "Indexed" else None
            self._objects.create(kinds.PODS, self._pod(found, number), found["metadata"]["namespace"], MANAGER)

    def _completion(self, pod: PodRecord) -> int | None:
        text = pod.labels.get(_INDEX)
        return int(text) if text is not None else None

    def _pod(self, found: Object, number: int | None) -> Object:
        pod = pod_from(found)
        if number is not None:
            about = pod["metadata"]
            about["generateName"] = f"{found['metadata']['name']}-{number}-"
            about["labels"][_INDEX] = str(number)
            about["annotations"] = {**(about.get("annotations") or {}), _INDEX: str(number)}
        return pod

    def _ending(self, found: Object, pods: list[PodRecord]) -> Ending | None:
        """Whether the job is over: the condition, its reason and its message."""
        spec = found["spec"]
        succeeded = sum(one.phase == "Succeeded" for one in pods)
        failed = sum(one.phase == "Failed" for one in pods)
        completions = spec.get("completions")
        if completions is not None and succeeded >= completions:
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        if completions is None and succeeded and not any(one.active for one in pods):
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        if failed > spec.get("backoffLimit", _DEFAULT_BACKOFF_LIMIT):
            return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        left = self._seconds_left(found)
        if left is not None and left <= 0:
            return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    def _seconds_left(self, found: Object) -> float | None:
        deadline = found["spec"].get("activeDeadlineSeconds")
        begun = (found.get("status") or {}).get("startTime")
        if deadline is None or begun is None:
            return None
        return float(deadline - (self._objects.now() - datetime.fromisoformat(begun)).total_seconds())

    def _report(self, found: Object, ending: Ending | None) -> None:
        pods = self._index.pods_of(found["metadata"]["uid"])
        active = [one for one in pods if one.active]
        before, now = found.get("status") or {}, stamp(self._objects.now())
        counts = {
            "active": len(active),
            "ready": sum(one.ready for one in active),
            "succeeded": sum(one.phase == "Succeeded" for one in pods),
            "failed": sum(one.phase == "Failed" for one in pods),
            "terminating": sum(one.going and not one.ended for one in pods),
        }
        always = ("ready", "terminating")
        fresh: dict[str, Any] = {name: count for name, count in counts.items() if count or name in always}
        if not found["spec"].get("suspend"):
            fresh["startTime"] = before.get("startTime", now)
        if before.get("conditions"):
            fresh["conditions"] = before["conditions"]
        if ending is not None:
            kind, reason, message = ending
            first = "SuccessCriteriaMet" if kind == "Complete" else "FailureTarget"
            for name in (first, kind):
                said = {"type": name, "status": "True", "reason": reason, "message": message, "lastProbeTime": now}
                fresh["conditions"] = with_condition(fresh.get("conditions"), said, now)
            if kind == "Complete":
                fresh["completionTime"] = now
        write_status(self._objects, kinds.JOBS, found, fresh)

    def _expire(self, found: Object, ended: datetime) -> float | None:
        seconds = found["spec"].get("ttlSecondsAfterFinished")
        if seconds is None:
            return None
        left = float(seconds - (self._objects.now() - ended).total_seconds())
        if left > 0:
            return left
        about = found["metadata"]
        how = Deletion(propagation=Propagation.FOREGROUND, uid=about["uid"])
        self._objects.delete(kinds.JOBS, about["name"], about["namespace"], how)
        return None


def _ended_at(found: Object) -> datetime | None:
    for one in (found.get("status") or {}).get("conditions") or ():
        if one.get("type") in ("Complete", "Failed") and one.get("status") == "True":
            return datetime.fromisoformat(one["lastTransitionTime"])
    return None
