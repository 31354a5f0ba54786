"""Everything Compute Engine can say no with means one thing, and the sentence says what to do (R38)."""

from __future__ import annotations

import pytest

from dovetail.clouds import port
from dovetail.clouds.gcp import errors
from dovetail.clouds.gcp.errors import Refusal, sorted_out, was
from dovetail.clouds.machines import refusal
from dovetail.core.machines.infra_objects import Kind

SCARCE, WRONG, PASSING = Kind.CAPACITY, Kind.PERSISTENT, Kind.TRANSIENT


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        # In operations.
        (503, "ZONE_RESOURCE_POOL_EXHAUSTED", SCARCE),
        (503, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", SCARCE),
        (0, "IP_SPACE_EXHAUSTED_WITH_DETAILS", SCARCE),
        (400, "UNSUPPORTED_OPERATION", SCARCE),
        (403, "QUOTA_EXCEEDED", SCARCE),
        (0, "RATE_LIMIT_EXCEEDED", PASSING),
        (0, "INTERNAL_ERROR", PASSING),
        (0, "RESOURCE_NOT_FOUND", WRONG),
        (0, "INVALID_FIELD_VALUE", WRONG),
        (0, "PERMISSIONS_ERROR", WRONG),
        (0, "CONDITION_NOT_MET", WRONG),
        # In answers.
        (503, "zoneResourcePoolExhausted", SCARCE),
        (403, "quotaExceeded", SCARCE),
        (403, "rateLimitExceeded", PASSING),
        (429, "", PASSING),
        (429, "rateLimitExceeded", PASSING),
        (403, "forbidden", WRONG),
        (403, "accessNotConfigured", WRONG),
        (401, "authError", WRONG),
        (400, "invalid", WRONG),
        (404, "notFound", WRONG),
        (409, "alreadyExists", WRONG),
        (412, "conditionNotMet", WRONG),
        (500, "internalError", PASSING),
        (502, "", PASSING),
        (503, "backendError", PASSING),
        (504, "", PASSING),
        # Nobody knows these: asking again does no harm.
        (0, "SOMETHING_NEW", PASSING),
        (418, "teapot", PASSING),
    ],
)
def test_R38_every_refusal_means_one_thing(status: int, reason: str, kind: Kind):
    assert refusal(sorted_out(Refusal("make an instance", status, reason, "Told."))).kind is kind


def test_what_is_said_is_a_sentence_with_what_to_do():
    told = sorted_out(Refusal("make an instance", 403, "forbidden", "Required 'compute.instances.create' permission."))
    assert str(told) == (
        "GCP refused to make an instance (forbidden): Required 'compute.instances.create' permission; "
        "give this program's account the right to, in the project"
    )
    assert told.reason == "forbidden"


@pytest.mark.parametrize(("asked", "given"), [(None, 5.0), (7.0, 7.0), (0.0, 0.1), (86400.0, 300.0)])
def test_a_throttle_is_waited_for_as_long_as_it_asks_within_reason(asked: float | None, given: float):
    told = sorted_out(Refusal("make an instance", 429, "rateLimitExceeded", "slow down", asked))
    assert isinstance(told, port.Throttled)
    assert told.wait == given


def test_a_caller_can_look_for_one_refusal():
    exists = sorted_out(Refusal("make an instance", 409, "alreadyExists", "exists"))
    assert was(exists, errors.ALREADY_EXISTS)
    assert not was(exists, errors.NOT_READY)
    assert not was(port.Unavailable("no answer"), errors.ALREADY_EXISTS)
