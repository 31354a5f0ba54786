"""What is forgotten a while after its last write: Events, which everybody writes and nobody deletes.

The real server has etcd drop an Event an hour after it was last written (`--event-ttl`), and watchers hear of it as of
any deletion. Here all objects of a table live equally long, so the order of their last writes is the order in which
they go: one ordered table of keys, whose front is looked at whenever the objects are. Nothing wakes by itself; who
neither reads nor writes Events cannot tell.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from dovetail.apiserver.items import Change, Key

EVENT_LIFETIME: Final = timedelta(hours=1)


class Expiry:
    """The keys of one table in the order they were last written."""

    def __init__(self, lifetime: timedelta, now: Callable[[], datetime]) -> None:
        self._lifetime = lifetime
        self._now = now
        self._written: OrderedDict[Key, datetime] = OrderedDict()

    def note(self, change: Change) -> None:
        """An object was written, and lives as long again; or it is gone."""
        key = change.item.key
        self._written.pop(key, None)
        if change.type != "DELETED":
            self._written[key] = self._now()

    def overdue(self) -> Iterator[Key]:
        """Keys whose time is over; each is named once."""
        while self._written:
            key, written = next(iter(self._written.items()))
            if self._now() - written < self._lifetime:
                return
            del self._written[key]
            yield key
