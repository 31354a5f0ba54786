"""What AWS says no with, sorted: one table from (service, code, words of the message) to the errors of `clouds.port`.

Rows are tried from the top, and the first that fits decides. `reason` is the word a claim's condition gets
(`spec/aws` §6); `scarce` says that, met inside a fleet's answer, the error means there was none of that one pool, which
the catalog may believe for a while, and not that the request was bad.
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

DRY_RUN: Final = "DryRunOperation"
TOKEN_MISMATCH: Final = "IdempotentParameterMismatch"  # noqa: S105  (a code of EC2's)
TEMPLATE_EXISTS: Final = "InvalidLaunchTemplateName.AlreadyExistsException"
NO_ADDRESSES: Final = "InsufficientFreeAddressesInSubnet"
RESERVATION_FULL: Final = "ReservationCapacityExceeded"
NO_SPOT_ROLE: Final = "AuthFailure.ServiceLinkedRoleCreationNotPermitted"
#: How long to wait after a throttle if nobody knows better.
THROTTLED_SECONDS: Final = 2.0


class Refusal(Exception):
    """AWS's own words, kept as the cause of the error they were sorted into."""

    def __init__(self, service: str, action: str, code: str, message: str) -> None:
        super().__init__(f"{service} {action}: {code}: {message}")
        self.service, self.action, self.code, self.message = service, action, code, message


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of refusal. A code that ends in `*` is a beginning; empty fields fit everything."""

    kind: type[CloudError]
    reason: str
    codes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    service: str = ""
    advice: str = ""
    scarce: bool = False

    def fits(self, service: str, code: str, message: str) -> bool:
        if self.service and self.service != service:
            return False
        if self.codes and not any(_is(code, one) for one in self.codes):
            return False
        told = message.lower()
        return not self.words or any(one in told for one in self.words)


def _is(code: str, pattern: str) -> bool:
    return code.startswith(pattern[:-1]) if pattern.endswith("*") else code == pattern


_DENIED: Final = ("UnauthorizedOperation", "AccessDenied*", "AuthFailure", "AuthorizationError", "Client.Unauthorized*")
ROWS: Final = (
    Row(
        Misconfigured,
        "SpotSLRCreationFailed",
        (NO_SPOT_ROLE,),
        advice="create it once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    ),
    Row(
        Misconfigured,
        "AMIAuthorizationFailure",
        _DENIED,
        words=("not authorized for images", ":image/"),
        advice="share the image, and the key it is encrypted with, with this account",
    ),
    Row(
        Misconfigured,
        "Unauthorized",
        _DENIED,
        words=("permissions boundary",),
        advice="the permissions boundary of this program's role forbids it",
    ),
    Row(
        Misconfigured,
        "Unauthorized",
        _DENIED,
        words=("service control policy",),
        advice="a service control policy of the organization forbids it",
    ),
    Row(Misconfigured, "Unauthorized", _DENIED, advice="allow it in the policy of this program's role"),
    Row(
        Misconfigured,
        "CredentialsInvalid",
        (
            "InvalidClientTokenId",
            "UnrecognizedClientException",
            "ExpiredToken*",
            "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
            "InvalidSignatureException",
            "RequestExpired",
            "IncompleteSignature",
            "MissingAuthenticationToken*",
        ),
        advice="the credentials are wrong, revoked or out of date",
    ),
    Row(Misconfigured, "OptInRequired", ("OptInRequired", "SubscriptionRequired*"), advice="subscribe to it first"),
    Row(Misconfigured, "SecurityGroupSubnetVPCMismatch", words=("belong to different networks",)),
    Row(
        Misconfigured,
        "InstanceProfileNameInvalid",
        words=("iaminstanceprofile.name is invalid", "invalid iam instance profile"),
    ),
    Row(
        NotFound,
        "LaunchTemplateNotFound",
        ("InvalidLaunchTemplateId.NotFound*", "InvalidLaunchTemplateName.NotFound*"),
    ),
    Row(
        Misconfigured,
        "UserDataSizeLimitExceeded",
        words=("user data is limited to",),
        advice="shorten spec.userData of the node class",
    ),
    Row(Misconfigured, "InvalidUserData", ("InvalidUserData.*",)),
    Row(Misconfigured, "InvalidAMIID", ("InvalidAMIID.Malformed",)),
    Row(Misconfigured, "AMINotFound", ("InvalidAMIID.NotFound", "InvalidAMIID.Unavailable")),
    Row(
        Throttled,
        "RequestLimitExceeded",
        (
            "RequestLimitExceeded",
            "Throttling*",
            "ThrottledException",
            "TooManyRequests*",
            "RequestThrottled*",
            "SlowDown",
            "BandwidthLimitExceeded",
            "EC2ThrottledException",
            "PriorRequestNotComplete",
            "ConcurrentTagAccess",
        ),
    ),
    Row(
        Unavailable,
        "InternalError",
        (
            "InternalError",
            "InternalFailure",
            "InternalServer*",
            "ServiceUnavailable*",
            "ServerInternal",
            "Unavailable",
            "RequestTimeout*",
            "500",
            "502",
            "503",
            "504",
        ),
    ),
    Row(Misconfigured, "FreeTierIneligible", words=("free tier",), advice="the account may use free-tier types only"),
    Row(QuotaExceeded, "FleetQuotaExceeded", ("MaxFleetCountExceeded",), scarce=True),
    Row(
        QuotaExceeded,
        "AccountPendingVerification",
        ("PendingVerification",),
        advice="AWS is still checking the account",
    ),
    Row(
        QuotaExceeded,
        "SpotQuotaExceeded",
        ("MaxSpotInstanceCountExceeded",),
        advice="ask AWS for a higher quota of spot instances",
        scarce=True,
    ),
    Row(
        QuotaExceeded,
        "VCPULimitExceeded",
        ("VcpuLimitExceeded",),
        advice="ask AWS for a higher quota of vCPUs",
        scarce=True,
    ),
    Row(QuotaExceeded, "QuotaExceeded", ("InstanceLimitExceeded", "LimitExceeded*", "ServiceQuotaExceeded*")),
    Row(NoCapacity, NO_ADDRESSES, (NO_ADDRESSES,), scarce=True),
    Row(
        NoCapacity,
        "InsufficientCapacity",
        (
            "InsufficientInstanceCapacity",
            "InsufficientCapacity*",
            "InsufficientHostCapacity",
            "InsufficientReservedInstanceCapacity",
            "UnfulfillableCapacity",
            "Unsupported",
            "SpotMaxPriceTooLow",
            RESERVATION_FULL,
        ),
        scarce=True,
    ),
    Row(
        NotFound,
        "NotFound",
        (
            "InvalidInstanceID.NotFound",
            "InvalidInstanceID.Malformed",
            "InvalidCapacityReservationId.NotFound",
            "InvalidCapacityReservationId.Malformed",
            "InvalidPlacementGroup.Unknown",
            "NoSuchEntity*",
            "ParameterNotFound",
            "QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue",
            "ResourceNotFoundException",
        ),
    ),
    Row(Misconfigured, "SubnetNotFound", ("InvalidSubnetID.NotFound", "InvalidSubnet*")),
    Row(Misconfigured, "SecurityGroupNotFound", ("InvalidGroup.NotFound", "InvalidSecurityGroupID.NotFound")),
    Row(Misconfigured, "InstanceTypeInvalid", ("InvalidInstanceType",)),
    # What a caller looks out for by its code, and nobody else should meet.
    Row(CloudError, "", (DRY_RUN, TOKEN_MISMATCH, TEMPLATE_EXISTS, "EntityAlreadyExists*")),
    Row(
        Misconfigured,
        "LaunchFailed",
        ("Invalid*", "Missing*", "Malformed*", "Validation*", "UnknownParameter", "UnsupportedOperation"),
    ),
    Row(CloudError, "LaunchFailed"),
)


def row_of(service: str, code: str, message: str) -> Row:
    return next(one for one in ROWS if one.fits(service, code, message))


def sorted_out(refusal: Refusal, wait: float = THROTTLED_SECONDS) -> CloudError:
    """The error a refusal means, with a sentence, and the refusal as its cause."""
    row = row_of(refusal.service, refusal.code, refusal.message)
    told = f"{refusal.service} {refusal.action} was refused ({refusal.code}): {refusal.message.rstrip('.')}"
    said = f"{told}; {row.advice}" if row.advice else told
    error = Throttled(said, wait) if row.kind is Throttled else row.kind(said)
    error.reason = row.reason
    error.__cause__ = refusal
    return error


def unavailable(told: str, reason: str) -> Unavailable:
    """Trouble that AWS has no code for, with a word for the claim's condition."""
    error = Unavailable(told)
    error.reason = reason
    return error


def code_of(error: BaseException) -> str:
    """AWS's code behind an error, "" where there is none."""
    cause = error.__cause__
    return cause.code if isinstance(cause, Refusal) else ""
