"""Placement groups."""

from __future__ import annotations

import uuid
from typing import Any, Final

from tools.aws_server.graft import Actions, Answer, dry_run, filters_of, matches, refused, tag_list, tags_in
from tools.aws_server.world import WORLD

_FIELDS: Final = {"group-name": "GroupName", "strategy": "Strategy", "state": "State"}


def _create(response: Any) -> Answer:
    dry_run(response)
    name, strategy = response._get_param("GroupName"), response._get_param("Strategy") or "cluster"
    count = response._get_param("PartitionCount")
    group = {
        "GroupName": name,
        "GroupId": f"pg-{uuid.uuid4().hex[:17]}",
        "State": "available",
        "Strategy": strategy,
        "PartitionCount": int(count or 7) if strategy == "partition" else None,
        "SpreadLevel": response._get_param("SpreadLevel"),
        "Tags": tag_list(tags_in(response, "placement-group")),
    }
    WORLD.placement_groups[name] = group
    return {"PlacementGroup": group}


def _describe(response: Any) -> Answer:
    dry_run(response)
    names, ids = response._get_param("GroupNames", []) or [], response._get_param("GroupIds", []) or []
    held = list(WORLD.placement_groups.values())
    for wanted, key in ((names, "GroupName"), (ids, "GroupId")):
        unknown = [one for one in wanted if one not in {group[key] for group in held}]
        if unknown:
            raise refused("InvalidPlacementGroup.Unknown", f"The Placement Group '{unknown[0]}' is unknown.")
        held = [group for group in held if not wanted or group[key] in wanted]
    return {"PlacementGroups": [one for one in held if matches(one, filters_of(response), _FIELDS)]}


ACTIONS: Final[Actions] = {"CreatePlacementGroup": _create, "DescribePlacementGroups": _describe}
