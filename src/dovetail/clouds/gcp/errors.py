"""What Compute Engine says no with, sorted: one table from HTTP status and reason to the errors of `clouds.port`.

It says no in two places: in the answer to a call, with a reason such as `quotaExceeded`, and in an operation that went
wrong, with a code such as `QUOTA_EXCEEDED`. Both are one word here, in capitals with nothing between. Rows are tried
from the top, and the first that fits decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity, NotFound, QuotaExceeded, Throttled, Unavailable

#: Reasons that a caller looks out for.
ALREADY_EXISTS: Final = ("ALREADYEXISTS", "RESOURCEALREADYEXISTS", "DUPLICATE")
NOT_READY: Final = ("RESOURCENOTREADY",)
#: How long to wait after a throttle if nobody says.
THROTTLED_SECONDS: Final = 5.0
#: A wait longer than this is nobody's: a machine would be forgotten over it.
LONGEST_WAIT: Final = 300.0


class Refusal(Exception):
    """Compute Engine's own words, kept as the cause of the error they were sorted into. `wait` is what it asks for."""

    def __init__(self, action: str, status: int, reason: str, message: str, wait: float | None = None) -> None:
        super().__init__(f"{action}: {status} {reason}: {message}")
        self.action, self.status, self.reason, self.message, self.wait = action, status, reason, message, wait


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of refusal. A reason that ends in `*` is a beginning; empty fields fit everything."""

    kind: type[CloudError]
    reasons: tuple[str, ...] = ()
    statuses: tuple[int, ...] = ()
    advice: str = ""

    def fits(self, status: int, reason: str) -> bool:
        if self.statuses and status not in self.statuses:
            return False
        return not self.reasons or any(_is(reason, one) for one in self.reasons)


def _is(reason: str, pattern: str) -> bool:
    return reason.startswith(pattern[:-1]) if pattern.endswith("*") else reason == pattern


_SCARCE: Final = (
    "ZONERESOURCEPOOLEXHAUSTED*",
    "RESOURCEPOOLEXHAUSTED*",
    "IPSPACEEXHAUSTED*",
    "STOCKOUT*",
    "UNSUPPORTEDOPERATION",
    "VMMINCOUNTNOTREACHED*",
)
_RATE: Final = ("RATELIMITEXCEEDED", "USERRATELIMITEXCEEDED", "RATEEXCEEDED", "CONCURRENTOPERATIONSQUOTAEXCEEDED")
ROWS: Final = (
    Row(NoCapacity, _SCARCE),
    Row(Throttled, _RATE),
    Row(QuotaExceeded, ("QUOTAEXCEEDED", "LIMITEXCEEDED", "QUOTA*"), advice="ask GCP for a higher quota"),
    Row(Throttled, statuses=(429,)),
    Row(Unavailable, ("INTERNALERROR", "BACKENDERROR", "SERVICEUNAVAILABLE", "RESOURCENOTREADY", "TIMEOUT")),
    Row(Misconfigured, statuses=(401,), advice="the credentials are wrong, revoked or out of date"),
    Row(
        Misconfigured,
        ("ACCESSNOTCONFIGURED", "SERVICEDISABLED"),
        advice="enable the Compute Engine API in the project",
    ),
    Row(Misconfigured, statuses=(403,), advice="give this program's account the right to, in the project"),
    Row(Misconfigured, ("PERMISSION*", "FORBIDDEN"), advice="give this program's account the right to, in the project"),
    Row(NotFound, statuses=(404,)),
    Row(NotFound, ("NOTFOUND", "RESOURCENOTFOUND")),
    Row(Unavailable, statuses=(408, 500, 502, 503, 504)),
    Row(Misconfigured, statuses=(400, 409, 410, 412, 413)),
    Row(Misconfigured, ("INVALID*", "RESOURCE*", "CONDITIONNOTMET", "BADREQUEST", "REQUIRED", "BUSY*")),
)


def word(reason: str) -> str:
    """A reason or a code, as the table spells it."""
    return "".join(one for one in reason if one.isalnum()).upper()


def kind_of(status: int, reason: str) -> Row:
    return next((one for one in ROWS if one.fits(status, word(reason))), Row(CloudError))


def sorted_out(refusal: Refusal) -> CloudError:
    """The error a refusal means, with a sentence, and the refusal as its cause."""
    row = kind_of(refusal.status, refusal.reason)
    told = f"GCP refused to {refusal.action} ({refusal.reason or refusal.status}): {refusal.message.rstrip('. ')}"
    said = f"{told}; {row.advice}" if row.advice else told
    wait = THROTTLED_SECONDS if refusal.wait is None else min(max(refusal.wait, 0.1), LONGEST_WAIT)
    error = Throttled(said, wait) if row.kind is Throttled else row.kind(said)
    error.reason = refusal.reason
    error.__cause__ = refusal
    return error


def was(error: CloudError, reasons: tuple[str, ...]) -> bool:
    """Whether an error is one of those refusals."""
    cause = error.__cause__
    return isinstance(cause, Refusal) and word(cause.reason) in reasons
