"""Who of many instances runs, asked of EC2 in its shortest words.

DescribeInstances tells all there is to know of each; reading that of a thousand takes more than a second of a
processor. DescribeInstanceStatus names those that run and little else, a hundred ids at a time, in a twelfth of that.
An id that EC2 does not know fails the call for everybody in it, and then it says nothing about any of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.described import id_of
from dovetail.clouds.port import NotFound

#: EC2 takes so many ids in one call.
MOST: Final = 100
_RUNNING: Final = "running"


async def running(aws: Aws, provider_ids: Collection[str]) -> frozenset[str]:
    """Those of them that certainly run; raises CloudError if a part cannot be known."""
    known = {name: one for one in provider_ids if (name := _instance(one))}
    names, found = sorted(known), set[str]()
    for start in range(0, len(names), MOST):
        found |= await _part(aws, names[start : start + MOST])
    return frozenset(known[name] for name in found if name in known)


async def _part(aws: Aws, names: Sequence[str]) -> set[str]:
    try:
        listed = await aws.all(calls.DESCRIBE_INSTANCE_STATUS, InstanceIds=list(names))
    except NotFound:
        return set()
    running = (one for one in listed if (one.get("InstanceState") or {}).get("Name") == _RUNNING)
    return {str(one.get("InstanceId", "")) for one in running}


def _instance(provider_id: str) -> str:
    try:
        return id_of(provider_id)
    except NotFound:
        return ""
