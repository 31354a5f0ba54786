"""What Azure says no with, and what each of it means for a machine (R38)."""

from __future__ import annotations

import pytest

from dovetail.clouds import port
from dovetail.clouds.azure.errors import THROTTLED_SECONDS, Refusal, code_of, sorted_out, status_of
from dovetail.clouds.machines import refusal
from dovetail.core.machines.infra_objects import Kind

SPOT_QUOTA = "Operation could not be completed as it results in exceeding approved LowPriorityCores quota."
FAMILY_QUOTA = "Operation results in exceeding approved standardDSv5Family Cores quota. Current Limit: 10"
PRICE = "Unable to perform operation since the provided max price is lower than the current spot price."
ROWS = [
    (409, "SkuNotAvailable", "x", port.NoCapacity, Kind.CAPACITY),
    (0, "AllocationFailed", "x", port.NoCapacity, Kind.CAPACITY),
    (0, "ZonalAllocationFailed", "x", port.NoCapacity, Kind.CAPACITY),
    (409, "OverconstrainedAllocationRequest", "x", port.NoCapacity, Kind.CAPACITY),
    (0, "OverconstrainedZonalAllocationRequest", "x", port.NoCapacity, Kind.CAPACITY),
    (400, "SubnetIsFull", "x", port.NoCapacity, Kind.CAPACITY),
    (409, "OperationNotAllowed", PRICE, port.NoCapacity, Kind.CAPACITY),
    (409, "OperationNotAllowed", SPOT_QUOTA, port.QuotaExceeded, Kind.CAPACITY),
    (409, "OperationNotAllowed", FAMILY_QUOTA, port.QuotaExceeded, Kind.CAPACITY),
    (409, "QuotaExceeded", "x", port.QuotaExceeded, Kind.CAPACITY),
    (400, "PublicIPCountLimitReached", "x", port.QuotaExceeded, Kind.CAPACITY),
    (409, "OperationNotAllowed", "nic is being deleted", port.Unavailable, Kind.TRANSIENT),
    (400, "NicReservedForAnotherVm", "x", port.Unavailable, Kind.TRANSIENT),
    (409, "OperationNotAllowed", "this size is not allowed", port.Misconfigured, Kind.PERSISTENT),
    (403, "AuthorizationFailed", "x", port.Misconfigured, Kind.PERSISTENT),
    (403, "LinkedAuthorizationFailed", "x", port.Misconfigured, Kind.PERSISTENT),
    (403, "RequestDisallowedByPolicy", "x", port.Misconfigured, Kind.PERSISTENT),
    (401, "InvalidAuthenticationTokenTenant", "x", port.Misconfigured, Kind.PERSISTENT),
    (401, "401", "x", port.Misconfigured, Kind.PERSISTENT),
    (400, "InvalidParameter", "x", port.Misconfigured, Kind.PERSISTENT),
    (404, "ImageNotFound", "x", port.Misconfigured, Kind.PERSISTENT),
    (404, "SubscriptionNotFound", "x", port.Misconfigured, Kind.PERSISTENT),
    (404, "404", "x", port.Unavailable, Kind.TRANSIENT),
    (400, "ImageNotFound", "x", port.Misconfigured, Kind.PERSISTENT),
    (409, "PropertyChangeNotAllowed", "x", port.Misconfigured, Kind.PERSISTENT),
    (404, "ResourceGroupNotFound", "x", port.NotFound, Kind.PERSISTENT),
    (400, "WhoKnows", "x", port.Misconfigured, Kind.PERSISTENT),
    (409, "AnotherOperationInProgress", "x", port.Unavailable, Kind.TRANSIENT),
    (409, "Conflict", "x", port.Unavailable, Kind.TRANSIENT),
    (500, "InternalServerError", "x", port.Unavailable, Kind.TRANSIENT),
    (503, "503", "x", port.Unavailable, Kind.TRANSIENT),
    (0, "InternalExecutionError", "x", port.Unavailable, Kind.TRANSIENT),
    (429, "TooManyRequests", "x", port.Throttled, Kind.TRANSIENT),
    (429, "SkuNotAvailable", "x", port.Throttled, Kind.TRANSIENT),
]


@pytest.mark.parametrize(("status", "code", "message", "error", "kind"), ROWS)
def test_R38_every_refusal_means_one_thing(
    status: int, code: str, message: str, error: type[port.CloudError], kind: Kind
):
    found = sorted_out(Refusal("make virtual machine m", code, message, status))
    assert type(found) is error
    assert refusal(found).kind is kind
    assert code in str(found)
    assert (code_of(found), status_of(found)) == (code, status)


def test_a_throttle_says_how_long_or_half_a_minute():
    assert refusal(sorted_out(Refusal("x", "TooManyRequests", "x", 429, 7.0))).wait == 7.0
    assert refusal(sorted_out(Refusal("x", "TooManyRequests", "x", 429))).wait == THROTTLED_SECONDS


def test_what_is_no_refusal_has_neither_code_nor_status():
    assert (code_of(port.Unavailable("x")), status_of(port.Unavailable("x"))) == ("", 0)
