"""What Azure says no with, sorted: one table from (code, status, words of the message) to the errors of `clouds.port`.

Rows are tried from the top, and the first that fits decides. Azure says some of it at once, in answer to the request,
and some only after it has begun, in the instance view of a virtual machine that failed (`Refusal.status` is 0 then).
The same table reads both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.clouds.port import (
    CloudError,
    Misconfigured,
    NoCapacity,
    NotFound,
    QuotaExceeded,
    Throttled,
    Unavailable,
)

#: How long to wait after a throttle if Azure does not say.
THROTTLED_SECONDS: Final = 30.0
#: What a part that is still held answers to being removed or used: it will be let go by itself.
HELD: Final = frozenset(
    {
        "NicInUse",
        "NicReservedForAnotherVm",
        "NetworkInterfaceInUse",
        "PublicIPAddressCannotBeDeleted",
        "PublicIPAddressInUse",
        "InUseResourceCannotBeDeleted",
        "DiskInUse",
        "AttachDiskWhileBeingDetached",
    }
)


class Refusal(Exception):
    """Azure's own words, kept as the cause of the error they were sorted into; `wait` if it asks for one."""

    def __init__(self, action: str, code: str, message: str, status: int = 0, wait: float | None = None) -> None:
        super().__init__(f"{action}: {code}: {message}")
        self.action, self.code, self.message, self.status, self.wait = action, code, message, status, wait


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of refusal; what is left out fits everything. A code that ends in `*` is a beginning."""

    kind: type[CloudError]
    codes: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    advice: str = ""

    def fits(self, refusal: Refusal) -> bool:
        if self.codes and not any(_is(refusal.code, one) for one in self.codes):
            return False
        if self.statuses and refusal.status not in self.statuses:
            return False
        told = refusal.message.lower()
        return not self.words or any(one in told for one in self.words)


def _is(code: str, pattern: str) -> bool:
    return code.startswith(pattern[:-1]) if pattern.endswith("*") else code == pattern


_PRICE: Final = ("max price", "maxprice", "maximum price")
#: Somebody is at it, mostly we ourselves a moment ago.
_BUSY: Final = ("being deleted", "marked for deletion", "in progress", "another operation")
_QUOTA: Final = ("quota", "lowprioritycores", "exceeding approved", "limit reached")
ROWS: Final = (
    Row(Throttled, statuses=(429,)),
    Row(Throttled, ("TooManyRequests", "RetryableError*", "OperationThrottled")),
    Row(
        Misconfigured,
        ("InvalidAuthenticationToken*", "AuthenticationFailed", "ExpiredAuthenticationToken", "CredentialUnavailable"),
        advice="the credentials are wrong, revoked or out of date",
    ),
    Row(Misconfigured, statuses=(401,), advice="the credentials are wrong, revoked or out of date"),
    Row(
        Misconfigured,
        ("AuthorizationFailed", "LinkedAuthorizationFailed", "Forbidden"),
        advice="give this program's identity a role that allows it",
    ),
    Row(Misconfigured, ("RequestDisallowedByPolicy",), advice="a policy of the subscription forbids it"),
    Row(Misconfigured, ("ScopeLocked",), advice="take the lock off"),
    Row(Misconfigured, ("MissingSubscriptionRegistration",), advice="register the provider in the subscription"),
    Row(Misconfigured, ("ResourceGroupBeingDeleted", "SubscriptionNotFound", "ReadOnlyDisabledSubscription")),
    Row(Unavailable, ("OperationNotAllowed", "Conflict"), (409,), _BUSY),
    Row(Unavailable, tuple(sorted(HELD))),
    Row(NoCapacity, statuses=(0, 400, 409), words=_PRICE, advice="raise spotVMOptions.maxPrice, or leave it out"),
    Row(
        NoCapacity,
        (
            "SkuNotAvailable",
            "AllocationFailed",
            "ZonalAllocationFailed",
            "Overconstrained*",
            "SubnetIsFull",
            "InsufficientSubnetSize",
            "SpotEvicted",
        ),
    ),
    Row(QuotaExceeded, ("OperationNotAllowed",), words=_QUOTA, advice="ask Azure for a higher quota"),
    Row(
        QuotaExceeded,
        ("QuotaExceeded", "ResourceQuotaExceeded", "PublicIPCountLimitReached", "NetworkInterfaceCountLimitReached"),
        advice="ask Azure for a higher quota",
    ),
    Row(NotFound, ("ResourceNotFound", "NotFound", "ResourceGroupNotFound", "ParentResourceNotFound"), statuses=(404,)),
    Row(
        Misconfigured,
        (
            "PropertyChangeNotAllowed",
            "ImageNotFound",
            "Invalid*",
            "OperationNotAllowed",
            "BadRequest",
            "NotSupported*",
            "LinkedInvalidPropertyId",
            "ResourceNotFound",
            "NotFound",
            "VMMarketplaceInvalidInput",
            "ResourcePurchaseValidationFailed",
        ),
    ),
    Row(Unavailable, statuses=(408, 409, 412, 500, 502, 503, 504)),
    # Who answers 404 without a code is not Azure, and says nothing about what Azure has.
    Row(Unavailable, ("404",)),
    Row(Misconfigured, statuses=(400, 403, 404)),
    Row(Unavailable),
)


def sorted_out(refusal: Refusal) -> CloudError:
    """The error a refusal means, with a sentence, and the refusal as its cause."""
    row = next(one for one in ROWS if one.fits(refusal))
    told = f"Azure refused to {refusal.action} ({refusal.code}): {refusal.message.rstrip('. ')}"
    said = f"{told}; {row.advice}" if row.advice else told
    if row.kind is Throttled:
        error: CloudError = Throttled(said, THROTTLED_SECONDS if refusal.wait is None else refusal.wait)
    else:
        error = row.kind(said)
    error.reason = refusal.code
    error.__cause__ = refusal
    return error


def code_of(error: BaseException) -> str:
    """Azure's code behind an error, "" where there is none."""
    cause = error.__cause__
    return cause.code if isinstance(cause, Refusal) else ""


def status_of(error: BaseException) -> int:
    """The status Azure answered with, 0 where it did not answer."""
    cause = error.__cause__
    return cause.status if isinstance(cause, Refusal) else 0
