"""One watch, without a socket: what it says, and in which order."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.apiserver.clusters import config_map

from dovetail.api.kinds import CONFIG_MAPS
from dovetail.apiserver import bootstrap, representations
from dovetail.apiserver.pages import Asked
from dovetail.apiserver.watch_streams import WatchStream, WatchWish


class Heard:
    """Keeps what is written, as events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []

    async def write(self, data: bytes) -> None:
        self.events += [json.loads(line) for line in data.splitlines()]


def test_a_bookmark_never_runs_ahead_of_a_change_that_is_still_to_be_told() -> None:
    """A client that has seen the bookmark would take the change for a replay."""

    async def scenario() -> list[dict[str, Any]]:
        cluster = bootstrap.new_cluster(None, None)
        resource = cluster.registry.find("", "v1", "configmaps")
        assert resource is not None
        wish = WatchWish(Asked(), bookmarks=True, since=cluster.storage.revision)
        shown = representations.chosen("application/json", resource, "Metadata")
        stream, heard = WatchStream(cluster.storage, resource, shown, wish), Heard()
        # The time for a bookmark comes in every round of the loop, and so does a change.
        task = asyncio.create_task(stream.run(heard, bookmark_seconds=0))
        for number in range(5):
            await asyncio.sleep(0)
            cluster.create(CONFIG_MAPS, config_map(f"c{number}"), "default")
        while sum(one["type"] == "ADDED" for one in heard.events) < 5:
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return heard.events

    seen = 0
    for event in asyncio.run(scenario()):
        version = int(event["object"]["metadata"]["resourceVersion"])
        assert version > seen or event["type"] == "BOOKMARK", "a replay, for whoever believed the bookmark"
        seen = version
