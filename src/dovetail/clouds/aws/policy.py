"""The IAM policy this program needs: as little as the features in use can do with.

Every call the program makes stands in one of the rights below, and no other does; a test compares them with the code.
What reads may read all of its region, since EC2 knows no narrower right. What makes, changes or ends anything is bound
to the tag that says whose it is (`tags.CLUSTER`): one cluster cannot touch another's machines, nor what nobody tagged.

Beside the calls IAM asks for a few actions of its own: passing a role to EC2, and tagging what is made. A fleet needs
the right to run instances, which is therefore there even if nothing is ever tried with a dry run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.calls import Call

Wire = dict[str, Any]
VERSION: Final = "2012-10-17"
#: IAM counts a managed policy without its spaces.
LONGEST: Final = 6144


class Feature(StrEnum):
    """What can be left out, but for the first two."""

    READING = "reading"
    BUYING = "buying"
    EKS = "eks"
    PRICES = "prices"
    ROLES = "roles"
    ALIASES = "aliases"
    RESERVATIONS = "reservations"
    PLACEMENT_GROUPS = "placement-groups"
    REBOOTS = "reboots"
    QUEUE = "queue"
    ZONAL_SHIFT = "zonal-shift"


#: What no node class and no flag decides.
ALWAYS: Final = frozenset({Feature.READING, Feature.BUYING, Feature.EKS})


@dataclass(frozen=True, slots=True)
class Scope:
    """Where, and whose. A role is that of the nodes, by name, with its path if it has one. `parameters` are SSM
    parameters of the user's own that node classes name."""

    cluster: str
    region: str = "*"
    account: str = "*"
    partition: str = "aws"
    role: str = "*"
    queue: str = ""
    parameters: tuple[str, ...] = ()
    features: frozenset[Feature] = ALWAYS

    def arn(self, service: str, resource: str, account: str | None = None, region: str | None = None) -> str:
        where = self.region if region is None else region
        whose = self.account if account is None else account
        return f"arn:{self.partition}:{service}:{where}:{whose}:{resource}"

    def ec2(self, *kinds: str) -> list[str]:
        """Resources of these kinds, all of them. Images and snapshots may be anybody's."""
        return [self.arn("ec2", f"{kind}/*", "*" if kind in ("image", "snapshot") else None) for kind in kinds]


@dataclass(frozen=True, slots=True)
class Right:
    """One statement: what is called, why, on what. `also` are actions IAM asks for beside the calls."""

    sid: str
    feature: Feature
    why: str
    calls: tuple[Call, ...]
    resources: Callable[[Scope], list[str]]
    condition: Callable[[Scope], Wire] = lambda _: {}
    also: tuple[str, ...] = ()

    @property
    def actions(self) -> list[str]:
        return sorted({*(one.permission for one in self.calls), *self.also})

    def statement(self, scope: Scope) -> Wire:
        told: Wire = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": self.actions,
            "Resource": sorted(self.resources(scope)),
        }
        condition = self.condition(scope)
        return {**told, "Condition": condition} if condition else told


def _everything(_: Scope) -> list[str]:
    return ["*"]


def _in_region(scope: Scope) -> Wire:
    return {} if scope.region == "*" else {"StringEquals": {"aws:RequestedRegion": scope.region}}


def _owned(kind: str, scope: Scope) -> Wire:
    """With the tag that says whose it is, on what is asked for or on what is there."""
    return {f"aws:{kind}/{tags.CLUSTER}": scope.cluster}


def _asked_for(scope: Scope) -> Wire:
    return {"StringEquals": _owned("RequestTag", scope)}


def _there(scope: Scope) -> Wire:
    return {"StringEquals": _owned("ResourceTag", scope)}


def _on_creation(scope: Scope) -> Wire:
    makers = [one.name for one in (calls.CREATE_FLEET, calls.CREATE_TEMPLATE, calls.RUN_INSTANCES)]
    return {"StringEquals": {**_owned("RequestTag", scope), "ec2:CreateAction": sorted(makers)}}


def _later(scope: Scope) -> Wire:
    keys = sorted((tags.CLUSTER, tags.NAME, tags.NODE_CLAIM, tags.RESTARTED))
    return {**_there(scope), "ForAllValues:StringEquals": {"aws:TagKeys": keys}}


def _launched_from(scope: Scope) -> list[str]:
    """What a machine is made of, which carries others' tags, or none."""
    kinds = ["image", "snapshot", "security-group", "subnet"]
    if Feature.RESERVATIONS in scope.features:
        kinds.append("capacity-reservation")
    if Feature.PLACEMENT_GROUPS in scope.features:
        kinds.append("placement-group")
    return scope.ec2(*kinds)


_MADE: Final = ("fleet", "instance", "volume", "network-interface", "spot-instances-request")
_LAUNCHING: Final = (calls.CREATE_FLEET, calls.RUN_INSTANCES)
RIGHTS: Final = (
    Right(
        "Read",
        Feature.READING,
        "find types, zones, spot prices, images, subnets and groups, and look at machines",
        (
            calls.DESCRIBE_INSTANCE_TYPES,
            calls.DESCRIBE_TYPE_OFFERINGS,
            calls.DESCRIBE_ZONES,
            calls.DESCRIBE_SPOT_PRICES,
            calls.DESCRIBE_IMAGES,
            calls.DESCRIBE_SUBNETS,
            calls.DESCRIBE_SECURITY_GROUPS,
            calls.DESCRIBE_TEMPLATES,
            calls.DESCRIBE_INSTANCES,
            calls.DESCRIBE_INSTANCE_STATUS,
        ),
        _everything,
        _in_region,
    ),
    Right("LaunchFrom", Feature.BUYING, "launch from images, in subnets", _LAUNCHING, _launched_from),
    Right(
        "LaunchWithOurTemplates",
        Feature.BUYING,
        "launch with launch templates of this cluster",
        _LAUNCHING,
        lambda scope: scope.ec2("launch-template"),
        _there,
    ),
    Right(
        "Make",
        Feature.BUYING,
        "make machines, their volumes and interfaces, and launch templates, if they are tagged as this cluster's",
        (*_LAUNCHING, calls.CREATE_TEMPLATE),
        lambda scope: scope.ec2(*_MADE, "launch-template"),
        _asked_for,
    ),
    Right(
        "TagWhatIsMade",
        Feature.BUYING,
        "tag what is made, when it is made",
        (calls.CREATE_TAGS,),
        lambda scope: scope.ec2(*_MADE, "launch-template"),
        _on_creation,
    ),
    Right(
        "TagMachines",
        Feature.BUYING,
        "tag machines of this cluster with their Node, their claim and their last restart",
        (calls.CREATE_TAGS,),
        lambda scope: scope.ec2("instance"),
        _later,
    ),
    Right(
        "End",
        Feature.BUYING,
        "end machines of this cluster and delete its launch templates",
        (calls.TERMINATE_INSTANCES, calls.DELETE_TEMPLATE),
        lambda scope: scope.ec2("instance", "launch-template"),
        _there,
    ),
    Right(
        "PassTheRoleOfNodes",
        Feature.BUYING,
        "give machines the role of nodes",
        (),
        lambda scope: [scope.arn("iam", f"role/{scope.role}", region="")],
        lambda scope: {"StringEquals": {"iam:PassedToService": _ec2_service(scope)}},
        ("iam:PassRole",),
    ),
    Right(
        "AskForTheCluster",
        Feature.EKS,
        "find the cluster's endpoint, its certificate authority and its range of services",
        (calls.DESCRIBE_CLUSTER,),
        lambda scope: [scope.arn("eks", f"cluster/{scope.cluster}")],
    ),
    Right("AskForPrices", Feature.PRICES, "ask for on-demand prices", (calls.GET_PRODUCTS,), _everything),
    Right(
        "ListProfiles",
        Feature.ROLES,
        "find instance profiles nobody uses any more",
        (calls.LIST_PROFILES,),
        lambda scope: [scope.arn("iam", "instance-profile/*", region="")],
    ),
    Right(
        "KeepProfiles",
        Feature.ROLES,
        "make instance profiles for the roles that node classes name, and delete them",
        (
            calls.GET_PROFILE,
            calls.CREATE_PROFILE,
            calls.DELETE_PROFILE,
            calls.ADD_ROLE,
            calls.REMOVE_ROLE,
        ),
        lambda scope: [
            scope.arn("iam", f"instance-profile/karpenter/{scope.region}/{scope.cluster}/*", region=""),
        ],
        also=("iam:TagInstanceProfile",),
    ),
    Right(
        "ReadParametersOfImages",
        Feature.ALIASES,
        "find the images that aliases and SSM parameters of node classes name",
        (calls.GET_PARAMETER,),
        lambda scope: [
            scope.arn("ssm", "parameter/aws/service/*", ""),
            *(_parameter(scope, name) for name in scope.parameters),
        ],
    ),
    Right(
        "ReadReservations",
        Feature.RESERVATIONS,
        "find capacity reservations and how much of them is free",
        (calls.DESCRIBE_RESERVATIONS,),
        _everything,
        _in_region,
    ),
    Right(
        "ReadPlacementGroups",
        Feature.PLACEMENT_GROUPS,
        "find placement groups",
        (calls.DESCRIBE_PLACEMENT_GROUPS,),
        _everything,
        _in_region,
    ),
    Right(
        "Reboot",
        Feature.REBOOTS,
        "restart machines of this cluster that a restart may repair",
        (calls.REBOOT_INSTANCES,),
        lambda scope: scope.ec2("instance"),
        _there,
    ),
    Right(
        "HearOfInterruptions",
        Feature.QUEUE,
        "read the queue where interruptions are told",
        (calls.GET_QUEUE_URL, calls.RECEIVE_MESSAGES, calls.DELETE_MESSAGES),
        lambda scope: [scope.arn("sqs", scope.queue or "*")],
    ),
    Right(
        "HearOfZonalShifts",
        Feature.ZONAL_SHIFT,
        "ask which zones traffic is shifted away from",
        (calls.GET_SHIFTS,),
        lambda scope: [scope.arn("eks", f"cluster/{scope.cluster}")],
    ),
)


def _ec2_service(scope: Scope) -> str:
    return "ec2.amazonaws.com.cn" if scope.partition == "aws-cn" else "ec2.amazonaws.com"


def _parameter(scope: Scope, name: str) -> str:
    """A user's own parameter, by its name or its ARN."""
    return name if name.startswith("arn:") else scope.arn("ssm", f"parameter/{name.lstrip('/')}")


def rights(features: Iterable[Feature]) -> tuple[Right, ...]:
    wanted = {*features, *ALWAYS}
    return tuple(one for one in RIGHTS if one.feature in wanted)


def policy(scope: Scope) -> Wire:
    """The document, as IAM takes it."""
    return {"Version": VERSION, "Statement": [one.statement(scope) for one in rights(scope.features)]}


def features_of(classes: Iterable[Mapping[str, Any]]) -> frozenset[Feature]:
    """What node classes, as their manifests have them, make necessary."""
    found: set[Feature] = set()
    for one in classes:
        spec = one.get("spec")
        told: Mapping[str, Any] = spec if isinstance(spec, dict) else {}
        for key, feature in _FIELDS.items():
            if told.get(key):
                found.add(feature)
        if any(isinstance(term, dict) and (term.get("alias") or term.get("ssmParameter")) for term in _images(told)):
            found.add(Feature.ALIASES)
    return frozenset(found)


def parameters_of(classes: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """SSM parameters of the user's own."""
    terms = (term for one in classes for term in _images(one.get("spec") or {}) if isinstance(term, dict))
    named = {str(term["ssmParameter"]) for term in terms if term.get("ssmParameter")}
    return tuple(sorted(one for one in named if "/aws/service/" not in one))


def _images(spec: Mapping[str, Any]) -> list[Any]:
    terms = spec.get("amiSelectorTerms")
    return terms if isinstance(terms, list) else []


_FIELDS: Final = {
    "role": Feature.ROLES,
    "capacityReservationSelectorTerms": Feature.RESERVATIONS,
    "placementGroupSelector": Feature.PLACEMENT_GROUPS,
}
