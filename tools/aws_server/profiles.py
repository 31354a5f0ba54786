"""IAM: instance profiles below a path, and the message of a role that is not there."""

from __future__ import annotations

from typing import Any

from moto.core.responses import ActionResult
from moto.iam.exceptions import NotFoundException
from moto.iam.responses import IamResponse

_add_role = IamResponse.add_role_to_instance_profile


def graft() -> None:
    IamResponse.list_instance_profiles = _list  # type: ignore[method-assign]
    IamResponse.add_role_to_instance_profile = _add  # type: ignore[method-assign]


def _list(response: Any) -> ActionResult:
    prefix = response._get_param("PathPrefix") or "/"
    held = [one for one in response.backend.get_instance_profiles() if one.path.startswith(prefix)]
    size, start = int(response._get_param("MaxItems") or 100), int(response._get_param("Marker") or 0)
    more = start + size < len(held)
    answer: dict[str, Any] = {"InstanceProfiles": held[start : start + size], "IsTruncated": more}
    return ActionResult({**answer, "Marker": str(start + size)} if more else answer)


def _add(response: Any) -> Any:
    name = response._get_param("RoleName")
    if name not in {one.name for one in response.backend.get_roles()}:
        raise NotFoundException(f"The role with name {name} cannot be found.")
    return _add_role(response)
