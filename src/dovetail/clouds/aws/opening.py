"""Before anything is bought: whether AWS can be used at all, and which region it is.

What a person has to put right is one sentence that names it: the extra, the region, the credentials, a permission. AWS
that does not answer is no such thing: the files that come with the program serve until it does.
"""

from __future__ import annotations

import logging
from typing import Final

from dovetail.clouds.aws import calls
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.region import Region
from dovetail.clouds.port import CloudError, Misconfigured
from dovetail.core.errors import BadInput

#: What to do about each refusal that a person can act on; `client` and `errors` name them.
_ADVICE: Final = {
    "CredentialsMissing": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or run where a role is to "
    "be had: on an EC2 machine, or in a pod with an identity",
    "CredentialsInvalid": "renew them",
}
_log: Final = logging.getLogger(__name__)


async def region_of(aws: Aws) -> str:
    """Raises BadInput with what is missing."""
    try:
        found = await aws.region()
    except CloudError as failed:
        raise BadInput(str(failed)) from None
    if not found:
        raise BadInput("no AWS region is known; name one with --aws-region, or set AWS_REGION")
    return found


async def opened(aws: Aws) -> Region:
    """Try the credentials on the one call without which nothing works, and have the region as the files know it."""
    name = await region_of(aws)
    failed = await tried(aws, calls.DESCRIBE_INSTANCE_TYPES)
    if failed is not None:
        _log.warning("AWS does not answer, so bundled types and prices are used until it does: %s", failed)
    return await aws.reading(_bundled, name)


async def tried(aws: Aws, call: Call) -> CloudError | None:
    """Whether one call would be allowed: raises BadInput if not, and returns what kept AWS from saying so."""
    try:
        await aws.may(call)
    except Misconfigured as refused:
        advice = _ADVICE.get(refused.reason)
        raise BadInput(f"AWS cannot be used: {refused}{f'; {advice}' if advice else ''}") from None
    except CloudError as failed:
        return failed
    return None


def _bundled(name: str) -> Region:
    return regions.of_any_account(regions.bundled(name))
