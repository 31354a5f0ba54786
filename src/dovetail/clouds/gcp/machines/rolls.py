"""Who of a cluster's instances runs, asked for in pages of five hundred, with the few fields that say whose each is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec

from dovetail.clouds.gcp.client import Gcp
from dovetail.clouds.gcp.machines import ownership
from dovetail.clouds.gcp.machines.answers import Answer, Instance
from dovetail.clouds.gcp.machines.ownership import Place
from dovetail.clouds.machines import Sought
from dovetail.clouds.port import Unavailable

_FIELDS: Final = "nextPageToken,unreachables,items/*/warning/code,items/*/instances(name,zone,labels)"
#: The most there are in one.
PAGE: Final = 500
_UNREACHABLE: Final = "UNREACHABLE"


class _Warning(Answer, frozen=True):
    code: str = ""


class _Scope(Answer, frozen=True):
    instances: tuple[Instance, ...] = ()
    warning: _Warning = _Warning()


class _Page(Answer, frozen=True):
    items: dict[str, _Scope] = {}  # noqa: RUF012  (msgspec makes each its own)
    next_page_token: str = ""
    unreachables: tuple[str, ...] = ()


_PAGES: Final = msgspec.json.Decoder(_Page)


async def running(gcp: Gcp, fleet: Collection[Sought]) -> frozenset[str]:
    """Provider ids of those of a fleet that certainly run and are theirs; raises CloudError if a part is missing."""
    found: set[str] = set()
    for key in sorted({key for one in fleet if (key := ownership.cluster_label(one.cluster)) is not None}):
        listed = await _listed(gcp, ownership.running_of_cluster(key))
        found |= {
            one.provider_id
            for one in fleet
            if one.provider_id in listed and ownership.is_of(listed[one.provider_id], one)
        }
    return frozenset(found)


async def _listed(gcp: Gcp, matching: str) -> dict[str, Instance]:
    path, found, token = f"/compute/v1/projects/{gcp.project}/aggregated/instances", dict[str, Instance](), ""
    while True:
        asked = {"filter": matching, "maxResults": str(PAGE), "fields": _FIELDS}
        page = _read(await gcp.raw("list instances", path, **asked, **({"pageToken": token} if token else {})))
        for scope in page.items.values():
            found |= {Place(gcp.project, one.zone_name, one.name).provider_id: one for one in scope.instances}
        token = page.next_page_token
        if not token:
            return found


def _read(body: bytes) -> _Page:
    """A zone that does not answer fails the whole: half a list would be taken for all."""
    try:
        page = _PAGES.decode(body)
    except msgspec.DecodeError as bad:
        raise Unavailable(f"GCP listed instances so that they cannot be read: {bad}") from bad
    silent = [name for name, scope in page.items.items() if scope.warning.code == _UNREACHABLE]
    if page.unreachables or silent:
        raise Unavailable(f"GCP could not list instances of {', '.join((*page.unreachables, *silent))}")
    return page
