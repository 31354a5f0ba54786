"""Whether machines of a class could be launched, tried without launching any: a launch template is made, a fleet and a
machine are asked for as a dry run. What IAM refuses is found out here, and not with the first pod that waits.

The template is the one that launches without labels would use, so it is not made in vain. Results are remembered for
half an hour by everything that was tried; what AWS was too busy to say is asked again soon.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls, fleet, tags
from dovetail.clouds.aws.class_sample import Sample, usual
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.contents import Content, data_of
from dovetail.clouds.aws.nodeclass.verdicts import VALIDATED, Verdict, bad, failed, is_denied, sentence, unsure
from dovetail.clouds.aws.resolved import Image, ResolvedClass, Subnet
from dovetail.clouds.aws.templates import Templates
from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity, QuotaExceeded, Throttled, Unavailable
from dovetail.core import labels

REMEMBERED_SECONDS: Final = 1800.0
_MANY: Final = 1024
#: A profile that was just made is not known everywhere yet.
_FRESH_PROFILE: Final = "InstanceProfileNameInvalid"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is tried: a class, the user data its machines would have, whether its user named the profile, and a type the
    class can launch; without one a type is tried that every region has."""

    resolved: ResolvedClass
    user_data: str
    cluster: str
    own_profile: bool = False
    sample: Sample | None = None

    @property
    def told(self) -> dict[str, str]:
        return {
            **self.resolved.tags,
            **tags.of_cluster(self.cluster),
            tags.NODE_CLASS: self.resolved.ref.name,
            tags.NODE_POOL: "dry-run",
        }

    @property
    def image(self) -> Image:
        return self.sample[1] if self.sample else self.resolved.images[0]

    @property
    def instance_type(self) -> str:
        return self.sample[0] if self.sample else usual(self.image)

    @property
    def data(self) -> dict[str, Any]:
        return data_of(Content(self.image.id, self.user_data, labels.ON_DEMAND), self.resolved, self.told)


class Trials:
    """Dry runs, and what came of them lately."""

    def __init__(self, aws: Aws, templates: Templates, now: Callable[[], float]) -> None:
        self._aws, self._templates, self._now = aws, templates, now
        self._known: dict[str, tuple[float, Verdict | None]] = {}

    async def problem(self, trial: Trial) -> Verdict | None:
        """Why the class could not be launched with, None if it could."""
        key = _key(trial)
        at, known = self._known.get(key, (float("-inf"), None))
        if 0 <= self._now() - at < REMEMBERED_SECONDS:
            return known
        found = await self._tried(trial)
        if found is None or found.is_bad:
            if len(self._known) >= _MANY:
                self._known.clear()
            self._known[key] = (self._now(), found)
        return found

    async def _tried(self, trial: Trial) -> Verdict | None:
        try:
            template = await self._templates.ensure(trial.data, trial.resolved.ref.name, trial.told)
        except CloudError as error:
            return _judged("CreateLaunchTemplateAuthCheckFailed", error, trial)
        for reason, attempt in (
            ("CreateFleetAuthCheckFailed", self._fleet),
            ("RunInstancesAuthCheckFailed", self._machine),
        ):
            refused = await attempt(trial, template)
            if refused is not None:
                return _judged(reason, refused, trial)
        return None

    async def _fleet(self, trial: Trial, template: str) -> CloudError | None:
        asked = fleet.request(_fleet_of(trial, template), ["dry-run"], "")
        del asked["ClientToken"]
        try:
            await self._aws.may(calls.CREATE_FLEET, **asked)
        except CloudError as error:
            return None if _is_about_the_market(error) else error
        return None

    async def _machine(self, trial: Trial, template: str) -> CloudError | None:
        """In one subnet after another until one would do: a policy may allow some of them only."""
        last: CloudError | None = None
        for subnet in trial.resolved.subnets:
            try:
                await self._aws.may(calls.RUN_INSTANCES, **_machine_of(trial, template, subnet))
            except CloudError as error:
                if _is_about_the_market(error):
                    return None
                if not is_denied(error):
                    return error
                last = error
            else:
                return None
        return last


def _is_about_the_market(error: CloudError) -> bool:
    """It would have been allowed; whether there is any is not what is asked here."""
    return isinstance(error, NoCapacity | QuotaExceeded)


def _judged(reason: str, error: CloudError, trial: Trial) -> Verdict:
    if isinstance(error, Throttled | Unavailable):
        return failed(VALIDATED, error)
    if is_denied(error):
        return bad(VALIDATED, reason, sentence(error))
    if error.reason == _FRESH_PROFILE:
        if trial.own_profile:
            told = f"there is no instance profile {trial.resolved.profile}, which spec.instanceProfile names"
            return bad(VALIDATED, "InstanceProfileNotFound", f"{told}; create it, or name another")
        told = f"the instance profile {trial.resolved.profile} was just made and is not known to EC2 yet"
        return unsure(VALIDATED, "InstanceProfileNotFound", f"{told}; it is tried again")
    if isinstance(error, Misconfigured):
        return bad(VALIDATED, error.reason or reason, sentence(error))
    return failed(VALIDATED, error, reason)


def _fleet_of(trial: Trial, template: str) -> fleet.Fleet:
    subnet = trial.resolved.subnets[0]
    pool = fleet.Pool(trial.instance_type, subnet.zone, subnet.id, trial.image.id, template, 0.0)
    return fleet.Fleet(labels.ON_DEMAND, (pool,), tuple(sorted(trial.told.items())), context=trial.resolved.context)


def _machine_of(trial: Trial, template: str, subnet: Subnet) -> dict[str, Any]:
    """The template's interface and the subnet cannot be told apart from each other, so the interface is told anew."""
    first = {**_first_interface(trial.data["NetworkInterfaces"]), "SubnetId": subnet.id}
    return {
        "LaunchTemplate": {"LaunchTemplateName": template, "Version": "$Latest"},
        "InstanceType": trial.instance_type,
        "ImageId": trial.image.id,
        "NetworkInterfaces": [first],
        "MinCount": 1,
        "MaxCount": 1,
        "TagSpecifications": [tags.specification(kind, trial.told) for kind in ("instance", "volume")],
    }


def _first_interface(interfaces: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return next((one for one in interfaces if not one.get("NetworkCardIndex")), interfaces[0])


def _key(trial: Trial) -> str:
    subnets = [one.id for one in trial.resolved.subnets]
    text = json.dumps((trial.data, sorted(subnets), trial.resolved.context, trial.told), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
