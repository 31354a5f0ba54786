"""When pods last came to a claim's Node or went from it: known at once, and written down when they stopped coming.

A claim says it in `status.lastPodEventTime`, and a node that fills up would be written for every pod. So whoever
decides in this process is told what is known, and the write waits until there is nothing more to add.
"""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.core.lifecycle import upkeep
from dovetail.core.nodeclaims import NodeClaim


@dataclass(slots=True)
class _Event:
    last: float
    #: Since when something happened that is not written; None where all is.
    unsaid: float | None


class PodEvents:
    def __init__(self) -> None:
        #: By claim, as far as the claim does not say so itself.
        self._events: dict[str, _Event] = {}

    def happened(self, claim: str, now: float) -> None:
        known = self._events.get(claim)
        since = now if known is None or known.unsaid is None else known.unsaid
        self._events[claim] = _Event(now, since)

    def remember(self, claim: NodeClaim, at: float) -> None:
        """A pod came then, as its own words go: whoever was to write it down may have gone before he did."""
        if at > (self.known(claim).last_pod_event or 0.0):
            self.happened(claim.name, at)

    def forget(self, claim: str) -> None:
        self._events.pop(claim, None)

    def known(self, claim: NodeClaim) -> NodeClaim:
        """The claim with what is known, whether it says so or not."""
        event = self._events.get(claim.name)
        if event is None:
            return claim
        after = upkeep.pods_moved(claim, event.last)
        if after.last_pod_event == claim.last_pod_event:
            del self._events[claim.name]
            return claim
        if event.unsaid is not None and (claim.last_pod_event or 0.0) >= event.unsaid:
            event.unsaid = event.last  # somebody wrote it meanwhile
        return after

    def due(self, claim: NodeClaim, now: float) -> float | None:
        """In how many seconds to write it down; None where there is nothing to write."""
        event = self._events.get(claim.name)
        if event is None or event.unsaid is None or self.known(claim) is claim:
            return None
        return upkeep.pods_moved_after(claim, event.unsaid, event.last, now)

    def said(self, claim: NodeClaim) -> None:
        """It was written so, and comes back by the watch, if this is no dry run."""
        event = self._events.get(claim.name)
        if event is not None:
            is_all = upkeep.pods_moved(claim, event.last).last_pod_event == claim.last_pod_event
            event.unsaid = None if is_all else event.last
