"""Rights that are missing, found out while a class is not whole yet: whoever sets one up hears of all of them at once.

Without subnets or an image nothing can be launched, nor tried as a whole (`trials`). Still EC2 can be asked whether
launch templates may be made and machines run at all, with as much of the class as there is. Only a denial counts: that
something is missing is known, and whatever else EC2 says about it is told by the parts themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.nodeclass.verdicts import is_denied, sentence
from dovetail.clouds.port import CloudError

REMEMBERED_SECONDS: Final = 1800.0
_MANY: Final = 1024
_TYPE: Final = "m5.large"
#: Never made: it is only asked whether it might be.
_TEMPLATE: Final = "dovetail-dry-run"


@dataclass(frozen=True, slots=True)
class Early:
    """What there is of a class: its tags, an image, a subnet, security groups; "" and () for what is not known."""

    name: str
    tags: tuple[tuple[str, str], ...]
    image: str = ""
    subnet: str = ""
    groups: tuple[str, ...] = ()

    def requests(self, cluster: str) -> tuple[tuple[str, Call, dict[str, Any]], ...]:
        """By the reason that a refusal has, each call and what it is asked with."""
        told = {**dict(self.tags), **tags.of_cluster(cluster), tags.NODE_CLASS: self.name, tags.NODE_POOL: "dry-run"}
        template = {
            "LaunchTemplateName": _TEMPLATE,
            "LaunchTemplateData": {"InstanceType": _TYPE},
            "TagSpecifications": [tags.specification("launch-template", told)],
        }
        machine: dict[str, Any] = {
            "InstanceType": _TYPE,
            "MinCount": 1,
            "MaxCount": 1,
            "TagSpecifications": [tags.specification(kind, told) for kind in ("instance", "volume")],
        }
        known = {"ImageId": self.image, "SubnetId": self.subnet, "SecurityGroupIds": list(self.groups)}
        machine |= {key: value for key, value in known.items() if value}
        return (
            ("CreateLaunchTemplateAuthCheckFailed", calls.CREATE_TEMPLATE, template),
            ("RunInstancesAuthCheckFailed", calls.RUN_INSTANCES, machine),
        )


@dataclass(frozen=True, slots=True)
class Denied:
    """The reason of a condition, and its sentence."""

    reason: str
    message: str


class Rights:
    """What this program may not do, and what was found out about that lately."""

    def __init__(self, aws: Aws, cluster: str, now: Callable[[], float]) -> None:
        self._aws, self._cluster, self._now = aws, cluster, now
        self._known: dict[Early, tuple[float, Denied | None]] = {}

    async def denied(self, early: Early) -> Denied | None:
        """All that is missing, under the first's reason; None where nothing is known to be."""
        at, known = self._known.get(early, (float("-inf"), None))
        if 0 <= self._now() - at < REMEMBERED_SECONDS:
            return known
        found = [
            Denied(reason, sentence(refused))
            for reason, call, request in early.requests(self._cluster)
            if (refused := await self._refused(call, request)) is not None
        ]
        told = Denied(found[0].reason, "; ".join(one.message for one in found)) if found else None
        if len(self._known) >= _MANY:
            self._known.clear()
        self._known[early] = (self._now(), told)
        return told

    async def _refused(self, call: Call, request: dict[str, Any]) -> CloudError | None:
        try:
            await self._aws.may(call, **request)
        except CloudError as error:
            return error if is_denied(error) else None
        return None
