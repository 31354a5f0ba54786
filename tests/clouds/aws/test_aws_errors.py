"""Each row of the table of refusals, and that no row is without one."""

from __future__ import annotations

import pytest

from dovetail.clouds import port
from dovetail.clouds.aws.errors import ROWS, Refusal, Row, code_of, row_of, sorted_out
from dovetail.clouds.port import CloudError, Misconfigured, NoCapacity, NotFound, QuotaExceeded, Throttled, Unavailable
from dovetail.core.instances import ClassNotReady, LaunchProblem

DENIED = "You are not authorized to perform this operation"
EXAMPLES: list[tuple[str, str, str, type[CloudError], str]] = [
    ("ec2", "AuthFailure.ServiceLinkedRoleCreationNotPermitted", "no", Misconfigured, "SpotSLRCreationFailed"),
    ("ec2", "AuthFailure", "Not authorized for images: [ami-1]", Misconfigured, "AMIAuthorizationFailure"),
    ("ec2", "UnauthorizedOperation", f"{DENIED}: no permissions boundary allows", Misconfigured, "Unauthorized"),
    ("ec2", "UnauthorizedOperation", f"{DENIED} in a service control policy", Misconfigured, "Unauthorized"),
    ("iam", "AccessDeniedException", DENIED, Misconfigured, "Unauthorized"),
    ("sts", "ExpiredTokenException", "The security token has expired", Misconfigured, "CredentialsInvalid"),
    ("ec2", "OptInRequired", "You are not subscribed", Misconfigured, "OptInRequired"),
    (
        "ec2",
        "InvalidParameter",
        "Security group sg-1 and subnet subnet-1 belong to different networks",
        Misconfigured,
        "SecurityGroupSubnetVPCMismatch",
    ),
    (
        "ec2",
        "InvalidParameterValue",
        "Value (x) for parameter iamInstanceProfile.name is invalid.",
        Misconfigured,
        "InstanceProfileNameInvalid",
    ),
    ("ec2", "InvalidLaunchTemplateName.NotFoundException", "gone", NotFound, "LaunchTemplateNotFound"),
    (
        "ec2",
        "InvalidUserData.Malformed",
        "User data is limited to 16384 bytes",
        Misconfigured,
        "UserDataSizeLimitExceeded",
    ),
    ("ec2", "InvalidUserData.Malformed", "Invalid BASE64", Misconfigured, "InvalidUserData"),
    ("ec2", "InvalidAMIID.Malformed", "bad", Misconfigured, "InvalidAMIID"),
    ("ec2", "InvalidAMIID.NotFound", "gone", Misconfigured, "AMINotFound"),
    ("ec2", "RequestLimitExceeded", "slow", Throttled, "RequestLimitExceeded"),
    ("ec2", "InternalError", "oops", Unavailable, "InternalError"),
    ("ec2", "InvalidParameterCombination", "not eligible for Free Tier", Misconfigured, "FreeTierIneligible"),
    ("ec2", "MaxFleetCountExceeded", "too many", QuotaExceeded, "FleetQuotaExceeded"),
    ("ec2", "PendingVerification", "wait", QuotaExceeded, "AccountPendingVerification"),
    ("ec2", "MaxSpotInstanceCountExceeded", "too many", QuotaExceeded, "SpotQuotaExceeded"),
    ("ec2", "VcpuLimitExceeded", "too many", QuotaExceeded, "VCPULimitExceeded"),
    ("iam", "LimitExceeded", "too many", QuotaExceeded, "QuotaExceeded"),
    ("ec2", "InsufficientFreeAddressesInSubnet", "full", NoCapacity, "InsufficientFreeAddressesInSubnet"),
    ("ec2", "InsufficientInstanceCapacity", "none", NoCapacity, "InsufficientCapacity"),
    ("ec2", "InvalidInstanceID.NotFound", "gone", NotFound, "NotFound"),
    ("ec2", "InvalidSubnetID.NotFound", "gone", Misconfigured, "SubnetNotFound"),
    ("ec2", "InvalidGroup.NotFound", "gone", Misconfigured, "SecurityGroupNotFound"),
    ("ec2", "InvalidInstanceType", "what", Misconfigured, "InstanceTypeInvalid"),
    ("ec2", "IdempotentParameterMismatch", "other", CloudError, ""),
    ("ec2", "InvalidFleetConfig", "twins", Misconfigured, "LaunchFailed"),
    ("ec2", "SomethingNew", "who knows", CloudError, "LaunchFailed"),
]


@pytest.mark.parametrize(("service", "code", "message", "kind", "reason"), EXAMPLES)
def test_a_refusal_is_sorted(service: str, code: str, message: str, kind: type[CloudError], reason: str) -> None:
    error = sorted_out(Refusal(service, "Something", code, message))
    assert (type(error), error.reason) == (kind, reason)
    assert code_of(error) == code
    assert code in str(error)


def test_every_row_has_an_example() -> None:
    used = [row_of(service, code, message) for service, code, message, *_ in EXAMPLES]
    assert used == list(ROWS)


@pytest.mark.parametrize(
    "code",
    [
        "UnfulfillableCapacity",
        "Unsupported",
        "ReservationCapacityExceeded",
        "InsufficientFreeAddressesInSubnet",
        "InsufficientInstanceCapacity",
        "MaxFleetCountExceeded",
        "MaxSpotInstanceCountExceeded",
        "VcpuLimitExceeded",
    ],
)
def test_inside_a_fleet_these_mean_that_a_pool_had_none(code: str) -> None:
    assert row_of("ec2", code, "").scarce


@pytest.mark.parametrize(
    ("service", "code"),
    [
        ("sqs", "AWS.SimpleQueueService.NonExistentQueue"),
        ("sqs", "QueueDoesNotExist"),
        ("iam", "NoSuchEntity"),
        ("iam", "NoSuchEntityException"),
        ("ssm", "ParameterNotFound"),
        ("eks", "ResourceNotFoundException"),
        ("ec2", "InvalidCapacityReservationId.NotFound"),
        ("ec2", "InvalidLaunchTemplateId.NotFound"),
    ],
)
def test_what_is_gone_is_not_found(service: str, code: str) -> None:
    assert row_of(service, code, "").kind is NotFound


@pytest.mark.parametrize(
    "code", ["Throttling", "ThrottlingException", "TooManyRequestsException", "EC2ThrottledException"]
)
def test_every_word_for_too_many_calls_is_a_throttle_with_a_wait(code: str) -> None:
    error = sorted_out(Refusal("ssm", "GetParameter", code, "slow down"), wait=3.0)
    assert isinstance(error, Throttled)
    assert error.wait == 3.0


def test_a_person_who_must_act_is_told_how() -> None:
    error = sorted_out(Refusal("ec2", "CreateFleet", "VcpuLimitExceeded", "You have requested more vCPU capacity."))
    assert str(error) == (
        "ec2 CreateFleet was refused (VcpuLimitExceeded): You have requested more vCPU capacity; "
        "ask AWS for a higher quota of vCPUs"
    )


def test_a_refused_launch_keeps_its_claim_and_names_the_reason() -> None:
    """Only a class that says itself that it is not ready gives its claims up."""
    refused = sorted_out(Refusal("ec2", "CreateFleet", "UnauthorizedOperation", DENIED))
    assert port.outcome(refused) == LaunchProblem(str(refused), "Unauthorized")
    assert port.outcome(Misconfigured("its subnets are gone")) == ClassNotReady("its subnets are gone")
    throttled = sorted_out(Refusal("ec2", "CreateFleet", "RequestLimitExceeded", ""))
    assert port.outcome(throttled) == LaunchProblem(str(throttled), "RequestLimitExceeded")


def test_a_row_fits_by_service_code_and_words() -> None:
    row = Row(NotFound, "", ("Some*",), words=("thing",), service="ec2")
    assert row.fits("ec2", "SomeCode", "A Thing")
    assert not row.fits("iam", "SomeCode", "A Thing")
    assert not row.fits("ec2", "Other", "A Thing")
    assert not row.fits("ec2", "SomeCode", "nothin'")
