"""Puts every row to a server at once, and nothing but what rows need beforehand is kept there."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterable
from typing import Any, Final

from tests.contract.crds.rows import Row
from tests.contract.kubernetes.raw_api import Answer, Api, Server, gone

from dovetail.api.crds import every
from dovetail.api.kinds import CRDS

AT_ONCE: Final = 16


async def define(api: Api) -> None:
    """Bring the server our definitions, and wait until it serves them."""
    for definition in (*every.DEFINITIONS, *every.CLUSTER_API):
        made = await api.apply(CRDS.path(definition.name), definition.manifest(), "contract", force="true")
        made.ok()
    for definition in (*every.DEFINITIONS, *every.CLUSTER_API):
        await api.until(definition.kind.path(), lambda answer: not gone(answer))


async def put_all(server: Server, rows: Iterable[Row]) -> dict[str, Answer]:
    """What the server says to each row, by the row's name."""
    api = Api(server)
    gate = asyncio.Semaphore(AT_ONCE)
    try:
        await define(api)
        stored = {f"before-{number}": row for number, row in enumerate(rows) if row.before is not None}

        async def put(number: int, row: Row) -> tuple[str, Answer]:
            async with gate:
                return str(row), await _put(api, row, f"before-{number}")

        try:
            return dict(await asyncio.gather(*(put(number, row) for number, row in enumerate(rows))))
        finally:
            for name, row in stored.items():
                await api.delete(row.kind.path(name, _namespace(row)))
    finally:
        await api.close()


def _namespace(row: Row) -> str:
    return "default" if row.kind.namespaced else ""


def _named(wire: dict[str, Any], **metadata: str) -> dict[str, Any]:
    named = copy.deepcopy(wire)
    named["metadata"] |= metadata
    return named


async def _put(api: Api, row: Row, name: str) -> Answer:
    namespace = _namespace(row)
    if row.before is None:
        return await api.post(row.kind.path(namespace=namespace), row.wire, dryRun="All")
    kept = (await api.post(row.kind.path(namespace=namespace), _named(row.before, name=name))).ok()
    version = kept["metadata"]["resourceVersion"]
    path = row.kind.path(name, namespace, "status" if row.status else "")
    return await api.put(path, _named(row.wire, name=name, resourceVersion=version), dryRun="All")
