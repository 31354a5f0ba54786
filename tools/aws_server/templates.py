"""Launch templates: what moto gets wrong about them.

Tags of the template itself stay out of what it launches; user data has its limit; deleting one that is not there says
so; and a reservation that is named together with the preference `none` is refused.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from moto.ec2.utils import parse_user_data
from tools.aws_server.graft import Actions, Answer, dry_run, filters_of, matches, page, refused, tags_in, tags_on
from tools.aws_server.wire import instant

_USER_DATA_BYTES: Final = 16384
_LARGEST_PAGE: Final = 200
_FIELDS: Final = {"launch-template-name": "LaunchTemplateName"}


def _view(template: Any) -> Answer:
    return {
        "LaunchTemplateId": template.id,
        "LaunchTemplateName": template.name,
        "CreateTime": instant(template.create_time.timestamp()),
        "DefaultVersionNumber": template.default_version_number,
        "LatestVersionNumber": template.latest_version_number,
        "Tags": tags_on(template),
    }


def _create(response: Any) -> Answer:
    get = response._get_param
    data = dict(get("LaunchTemplateData", {}) or {})
    encoded = data.get("UserData")
    if encoded and len(base64.b64decode(encoded)) > _USER_DATA_BYTES:
        text = f"User data is limited to {_USER_DATA_BYTES} bytes"
        raise refused("InvalidUserData.Malformed", text)
    data["UserData"] = parse_user_data(encoded)
    wish = data.get("CapacityReservationSpecification") or {}
    if wish.get("CapacityReservationTarget") and wish.get("CapacityReservationPreference") == "none":
        text = "A capacity reservation target cannot be specified with the preference none"
        raise refused("InvalidParameterCombination", text)
    dry_run(response)
    tags = {"launch-template": tags_in(response, "launch-template")}
    made = response.ec2_backend.create_launch_template(get("LaunchTemplateName"), get("VersionDescription"), data, tags)
    return {"LaunchTemplate": _view(made)}


def _describe(response: Any) -> Answer:
    dry_run(response)
    backend = response.ec2_backend
    names, ids = (
        response._get_param("LaunchTemplateNames", []) or [],
        response._get_param("LaunchTemplateIds", []) or [],
    )
    if names:
        found = [backend.get_launch_template_by_name(name) for name in names]
    elif ids:
        found = [backend.get_launch_template(one) for one in ids]
    else:
        found = list(backend.launch_templates.values())
    views = [one for one in map(_view, found) if matches(one, filters_of(response), _FIELDS)]
    here, more = page(response, views, _LARGEST_PAGE)
    return {"LaunchTemplates": here, "NextToken": more}


def _delete(response: Any) -> Answer:
    dry_run(response)
    backend = response.ec2_backend
    name, template_id = response._get_param("LaunchTemplateName"), response._get_param("LaunchTemplateId")
    held = backend.get_launch_template_by_name(name) if name else backend.get_launch_template(template_id)
    view = _view(held)
    backend.delete_launch_template(held.name, None)
    return {"LaunchTemplate": view}


ACTIONS: Final[Actions] = {
    "CreateLaunchTemplate": _create,
    "DescribeLaunchTemplates": _describe,
    "DeleteLaunchTemplate": _delete,
}
