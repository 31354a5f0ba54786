"""What a class's status says was found, as the API server takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dovetail.api.live.meta import ConditionWire, read_conditions
from dovetail.clouds.aws.resolved import Image, Subnet
from dovetail.core import timestamps
from dovetail.core.conditions import Conditions
from dovetail.core.errors import BadInput

Wire = Mapping[str, Any]


def images(found: Iterable[Image]) -> list[dict[str, object]]:
    return [_image(one) for one in found]


def _image(one: Image) -> dict[str, object]:
    wanted = []
    for requirement in one.requirements:
        for operator, values in requirement.expressions():
            part: dict[str, object] = {"key": requirement.key, "operator": str(operator)}
            wanted.append({**part, "values": list(values)} if values else part)
    entry: dict[str, object] = {"id": one.id, "name": one.name, "requirements": wanted}
    return {**entry, "deprecated": True} if one.deprecated else entry


def subnets(found: Iterable[Subnet]) -> list[dict[str, object]]:
    return [{"id": one.id, "zone": one.zone, "zoneID": one.zone_id} for one in found]


def groups(found: Iterable[Wire]) -> list[dict[str, object]]:
    return [{"id": one["GroupId"], "name": one.get("GroupName", "")} for one in found]


# ---- what the object says of itself


def conditions_in(wire: Wire) -> Conditions:
    """Those the object has; nonsense there is as good as nothing."""
    status = wire.get("status")
    told = status.get("conditions") if isinstance(status, Mapping) else None
    try:
        return read_conditions(msgspec.convert(told or [], list[ConditionWire]))
    except (msgspec.ValidationError, BadInput):
        return ()


def profile_in(wire: Wire) -> str:
    status = wire.get("status")
    return str(status.get("instanceProfile") or "") if isinstance(status, Mapping) else ""


def created(wire: Wire) -> float:
    try:
        return timestamps.seconds(str(_about(wire).get("creationTimestamp", "")))
    except BadInput:
        return 0.0


def generation(wire: Wire) -> int:
    found = _about(wire).get("generation")
    return found if isinstance(found, int) else 0


def is_leaving(wire: Wire) -> bool:
    return bool(_about(wire).get("deletionTimestamp"))


def uid(wire: Wire) -> str:
    return str(_about(wire).get("uid") or "")


def _about(wire: Wire) -> Wire:
    found = wire.get("metadata")
    return found if isinstance(found, Mapping) else {}
