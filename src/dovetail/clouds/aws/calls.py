"""Every call this program makes to AWS, each with what the client must know about it.

The table is also what the documentation of permissions and the printed IAM policy are made of: a call that is not here
is not made. `repeat` says that asking again after no answer came does no harm: it only reads, or what it does is the
same thing twice. Page sizes are those of `spec/aws` §0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: A describe that takes longer than this is worth more as an error that is tried again.
READ_SECONDS: Final = 60.0
#: Creating a fleet of hundreds takes EC2 a while; the peer's HTTP client waits four minutes for anything.
FLEET_SECONDS: Final = 240.0
#: Long enough for a queue's long poll of 20 s.
POLL_SECONDS: Final = 40.0


@dataclass(frozen=True, slots=True)
class Call:
    """One operation of one service. `listed` is the field of the answer that pages are joined by, "" for none."""

    service: str
    name: str
    listed: str = ""
    page_size: int = 0
    repeat: bool = True
    seconds: float = READ_SECONDS
    #: The action IAM asks for, where it has another name than the call.
    action: str = ""
    #: What every listed item, or the answer itself, must say to be of any use; `[]` stands for each of a list.
    told: tuple[str, ...] = ()

    @property
    def permission(self) -> str:
        """As an IAM policy spells it."""
        return f"{self.service}:{self.action or self.name}"


DESCRIBE_INSTANCE_TYPES: Final = Call("ec2", "DescribeInstanceTypes", "InstanceTypes", 100)
DESCRIBE_TYPE_OFFERINGS: Final = Call("ec2", "DescribeInstanceTypeOfferings", "InstanceTypeOfferings", 1000)
DESCRIBE_ZONES: Final = Call("ec2", "DescribeAvailabilityZones", "AvailabilityZones")
DESCRIBE_SUBNETS: Final = Call("ec2", "DescribeSubnets", "Subnets", 500, told=("SubnetId", "AvailabilityZone"))
DESCRIBE_SECURITY_GROUPS: Final = Call("ec2", "DescribeSecurityGroups", "SecurityGroups", 500, told=("GroupId",))
DESCRIBE_IMAGES: Final = Call("ec2", "DescribeImages", "Images", 1000, told=("ImageId",))
DESCRIBE_TEMPLATES: Final = Call("ec2", "DescribeLaunchTemplates", "LaunchTemplates", 200, told=("LaunchTemplateName",))
CREATE_TEMPLATE: Final = Call("ec2", "CreateLaunchTemplate")
DELETE_TEMPLATE: Final = Call("ec2", "DeleteLaunchTemplate")
CREATE_FLEET: Final = Call("ec2", "CreateFleet", seconds=FLEET_SECONDS)
RUN_INSTANCES: Final = Call("ec2", "RunInstances", repeat=False)
DESCRIBE_INSTANCES: Final = Call("ec2", "DescribeInstances", "Reservations", 1000, told=("Instances[].InstanceId",))
TERMINATE_INSTANCES: Final = Call(
    "ec2", "TerminateInstances", told=("TerminatingInstances[].InstanceId", "TerminatingInstances[].CurrentState.Name")
)
REBOOT_INSTANCES: Final = Call("ec2", "RebootInstances", repeat=False)
CREATE_TAGS: Final = Call("ec2", "CreateTags")
DESCRIBE_SPOT_PRICES: Final = Call("ec2", "DescribeSpotPriceHistory", "SpotPriceHistory", 2000)
DESCRIBE_RESERVATIONS: Final = Call(
    "ec2",
    "DescribeCapacityReservations",
    "CapacityReservations",
    1000,
    told=("CapacityReservationId", "InstanceType", "AvailabilityZone"),
)
DESCRIBE_PLACEMENT_GROUPS: Final = Call("ec2", "DescribePlacementGroups", "PlacementGroups", told=("GroupId",))
DESCRIBE_INSTANCE_STATUS: Final = Call("ec2", "DescribeInstanceStatus", "InstanceStatuses", 1000)
GET_PROFILE: Final = Call("iam", "GetInstanceProfile", told=("InstanceProfile.InstanceProfileName",))
CREATE_PROFILE: Final = Call("iam", "CreateInstanceProfile")
DELETE_PROFILE: Final = Call("iam", "DeleteInstanceProfile")
LIST_PROFILES: Final = Call("iam", "ListInstanceProfiles", "InstanceProfiles", 1000, told=("InstanceProfileName",))
ADD_ROLE: Final = Call("iam", "AddRoleToInstanceProfile")
REMOVE_ROLE: Final = Call("iam", "RemoveRoleFromInstanceProfile")
GET_PARAMETER: Final = Call("ssm", "GetParameter", told=("Parameter.Value",))
GET_PRODUCTS: Final = Call("pricing", "GetProducts", "PriceList", 100)
DESCRIBE_CLUSTER: Final = Call("eks", "DescribeCluster")
GET_QUEUE_URL: Final = Call("sqs", "GetQueueUrl", told=("QueueUrl",))
RECEIVE_MESSAGES: Final = Call("sqs", "ReceiveMessage", seconds=POLL_SECONDS, told=("Messages[].ReceiptHandle",))
DELETE_MESSAGES: Final = Call("sqs", "DeleteMessageBatch", action="DeleteMessage")
GET_SHIFTS: Final = Call("arc-zonal-shift", "GetManagedResource")
GET_IDENTITY: Final = Call("sts", "GetCallerIdentity")

EVERY: Final = tuple(one for one in list(globals().values()) if isinstance(one, Call))
