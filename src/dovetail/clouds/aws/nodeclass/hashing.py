"""The drift hash of a class and what becomes of claims that carry another version of it.

Numbers of two versions cannot be compared: a claim that has another version than ours (a newer peer bought it) gets
ours and today's number, as if it had been bought today; unless it had drifted, which must not be forgotten (`spec/aws`
§1.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dovetail.clouds.aws import class_hash
from dovetail.clouds.aws.launching import HASH, HASH_VERSION
from dovetail.core import conditions
from dovetail.core.nodeclaims import DRIFTED, NodeClaim

Notes = Mapping[str, str]


def notes(number: str) -> dict[str, str]:
    """The annotations a class and its claims carry."""
    return {HASH: number, HASH_VERSION: class_hash.VERSION}


def migrated(claims: Iterable[NodeClaim], number: str) -> dict[str, dict[str, str]]:
    """What to write on claims, by name. One that has no version was not launched yet, and gets it then."""
    found: dict[str, dict[str, str]] = {}
    for claim in claims:
        version = claim.meta.annotations.get(HASH_VERSION)
        if version is None or version == class_hash.VERSION:
            continue
        drifted = conditions.is_true(claim.conditions, DRIFTED)
        found[claim.name] = {HASH_VERSION: class_hash.VERSION} if drifted else notes(number)
    return found
