"""What can be told of a class by reading it: tags, kubelet, user data. Nobody is asked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from dovetail.clouds.aws import bootstrap, tags
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.nodeclass import booting, kubelet_rules
from dovetail.clouds.aws.nodeclass.spec import ClassSpec
from dovetail.clouds.aws.nodeclass.verdicts import VALIDATED, Verdict, bad, failed, good
from dovetail.clouds.port import CloudError
from dovetail.core.conditions import Status
from dovetail.core.errors import BadInput

DEPENDENCIES: Final = "DependenciesNotReady"
_RESERVED: Final = (tags.CLUSTER, tags.NODE_POOL, tags.NODE_CLAIM, tags.NODE_CLASS)
_RESERVED_PREFIX: Final = "kubernetes.io/cluster"
_AWS_PREFIX: Final = "aws:"
_LONGEST_KEY: Final = 128


def dependencies(verdicts: Iterable[Verdict]) -> Verdict | None:
    """A class of which a part is missing cannot be tried; None if all of them are there."""
    held = list(verdicts)
    wanting = [one for one in held if one.is_bad]
    if wanting:
        told = "; ".join(f"{one.type} is False ({one.reason})" for one in wanting)
        return bad(VALIDATED, DEPENDENCIES, f"it is tried when the rest is ready: {told}")
    waiting = [one.type for one in held if one.status is Status.UNKNOWN]
    if waiting:
        return Verdict(
            VALIDATED, Status.UNKNOWN, DEPENDENCIES, f"it is tried when {', '.join(waiting)} is known", passing=True
        )
    return None


def read(spec: ClassSpec, home: Home, *, formulas: bool = False) -> Verdict | None:
    """What is wrong with what is written, None if nothing is. `formulas`: the kubelet block may have expressions."""
    return _tags(spec) or _kubelet(spec, formulas) or _user_data(spec, home)


def unworkable(told: str) -> Verdict:
    """Of a class whose expressions cannot be worked out for every type."""
    return bad(VALIDATED, kubelet_rules.UNWORKABLE, f"spec.kubelet.{told}")


def size(spec: ClassSpec, home: Home) -> int | None:
    """Bytes of user data, without labels and taints of pools; None where it cannot be written."""
    try:
        return len(booting.sample(spec, home).encode())
    except BadInput:
        return None


def passed(spec: ClassSpec, home: Home) -> Verdict:
    taken = size(spec, home) or 0
    if taken <= booting.NEARLY_FULL:
        return good(VALIDATED)
    told = f"user data takes {taken} of {bootstrap.LARGEST_BYTES} bytes, and labels and taints of NodePools come on top"
    return good(VALIDATED, f"{told}; shorten spec.userData")


def _tags(spec: ClassSpec) -> Verdict | None:
    for key, value in spec.tags.items():
        told = _why_not(key, value)
        if told:
            return bad(VALIDATED, "TagValidationFailed", f"spec.tags: {told}")
    room = tags.MOST_TAGS - len(spec.tags)
    if room < _NEEDED:
        told = (
            f"has {len(spec.tags)} tags; EC2 takes {tags.MOST_TAGS} and {_NEEDED} are needed: remove {_NEEDED - room}"
        )
        return bad(VALIDATED, "TagValidationFailed", f"spec.tags {told}")
    return None


#: The tags every machine has besides the user's: cluster (two), pool, class, claim, Name.
_NEEDED: Final = 6


def _why_not(key: str, value: str) -> str:
    if not key:
        return "a key is empty; remove it"
    if key in _RESERVED or key.startswith(_RESERVED_PREFIX):
        return f"{key} is set by this controller; remove it"
    if key.lower().startswith(_AWS_PREFIX):
        return f"{key} begins with aws:, which AWS keeps for itself; rename it"
    if len(key) > _LONGEST_KEY:
        return f"the key {key[:40]}… is longer than the {_LONGEST_KEY} characters EC2 takes; shorten it"
    if len(value) > tags.LONGEST_VALUE:
        return f"the value of {key} is longer than the {tags.LONGEST_VALUE} characters EC2 takes; shorten it"
    return ""


def _kubelet(spec: ClassSpec, formulas: bool) -> Verdict | None:
    found = kubelet_rules.wrong(spec.kubelet, spec.family, formulas=formulas)
    return None if found is None else bad(VALIDATED, found.reason, found.message)


def _user_data(spec: ClassSpec, home: Home) -> Verdict | None:
    try:
        taken = len(booting.sample(spec, home).encode())
    except BadInput as wrong:
        return bad(VALIDATED, "InvalidUserData", f"spec.userData: {wrong}")
    if taken > bootstrap.LARGEST_BYTES:
        told = f"user data takes {taken} bytes, of which EC2 allows {bootstrap.LARGEST_BYTES}; shorten spec.userData"
        return bad(VALIDATED, "UserDataSizeLimitExceeded", told)
    return None


def no_home(error: CloudError) -> Verdict:
    """Nodes must be told where the API server is, and those of AL2023 the range of the cluster's services."""
    found = failed(VALIDATED, error)
    told = "what nodes must be told of the cluster (endpoint, certificate, range of its services) is not known"
    return replace(found, reason="ClusterCIDRResolutionFailed", message=f"{told}: {found.message}")
