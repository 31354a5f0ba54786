"""Addresses in subnets: which subnet of a zone a machine goes to.

The one with the most free addresses, less what machines on their way may take: a launch takes as many as its smallest
type has pods. What EC2 says is asked for once in a while, so what was taken since is remembered that long. That is a
guess, and too large while many fleets are asked for at once, so it decides between subnets and rules out none; only
what EC2 says does, of a subnet without free addresses and for a while of one in which a launch found none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.aws.resolved import Subnet
from dovetail.core.catalog.shortages import BELIEVED_SECONDS


class Addresses:
    """What is taken and not yet told."""

    def __init__(self, now: Callable[[], float] = time.monotonic, polled: float = Intervals().subnets) -> None:
        self._now, self._polled = now, polled
        self._taken: dict[str, list[tuple[float, int]]] = {}
        self._on_the_way: dict[str, int] = {}
        self._empty_until: dict[str, float] = {}

    def chosen(self, subnets: Iterable[Subnet]) -> Mapping[str, Subnet]:
        """The roomiest subnet of each zone that has one with room."""
        now = self._now()
        found: dict[str, Subnet] = {}
        roomy = [one for one in subnets if one.free_addresses > 0 and self._empty_until.get(one.id, 0.0) <= now]
        for one in sorted(roomy, key=lambda one: (-self._guess(one, now), one.id)):
            found.setdefault(one.zone, one)
        return found

    def _guess(self, subnet: Subnet, now: float) -> int:
        recent = [one for one in self._taken.get(subnet.id, ()) if one[0] > now - self._polled]
        self._taken[subnet.id] = recent
        return subnet.free_addresses - sum(count for _, count in recent) - self._on_the_way.get(subnet.id, 0)

    @contextmanager
    def on_the_way(self, subnet_ids: Iterable[str], count: int) -> Iterator[None]:
        """While a fleet is asked for, each of its subnets may lose so many."""
        held = list(dict.fromkeys(subnet_ids))
        for one in held:
            self._on_the_way[one] = self._on_the_way.get(one, 0) + count
        try:
            yield
        finally:
            for one in held:
                self._on_the_way[one] -= count

    def took(self, subnet_id: str, count: int) -> None:
        self._taken.setdefault(subnet_id, []).append((self._now(), count))

    def ran_out(self, subnet_id: str) -> None:
        """EC2 found no free address there."""
        self._empty_until[subnet_id] = self._now() + BELIEVED_SECONDS
