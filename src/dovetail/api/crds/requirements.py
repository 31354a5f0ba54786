"""Requirements of pools, claims and overlays: which labels a node must, may or may not have.

The three differ in the keys they let through: a pool cannot ask for itself, an overlay cannot ask for a reservation.
The providers' own domains are closed lists in every copy of these resources; ours hold the lists of all providers at
once, so that one NodePool definition serves every cloud.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from dovetail.api.crds.parts import KEY_LENGTH, QUALIFIED_NAME
from dovetail.api.crds.schema import ATOMIC_LIST, Limits, Rule, Wire

MAX_REQUIREMENTS: Final = 100
OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")

CORE_DOMAIN: Final = "karpenter.sh"
CORE_KEYS: Final = ("karpenter.sh/capacity-type", "karpenter.sh/nodepool")
KWOK_DOMAIN: Final = "karpenter.kwok.sh"
KWOK_KEYS: Final = tuple(
    f"{KWOK_DOMAIN}/{name}"
    for name in ("kwoknodeclass", "instance-cpu", "instance-memory", "instance-family", "instance-size")
)
AWS_DOMAIN: Final = "karpenter.k8s.aws"
AWS_TYPE_KEYS: Final = tuple(
    f"{AWS_DOMAIN}/{name}"
    for name in (
        "ec2nodeclass",
        "instance-encryption-in-transit-supported",
        "instance-category",
        "instance-hypervisor",
        "instance-family",
        "instance-generation",
        "instance-local-nvme",
        "instance-size",
        "instance-cpu",
        "instance-cpu-manufacturer",
        "instance-cpu-sustained-clock-speed-mhz",
        "instance-memory",
        "instance-ebs-bandwidth",
        "instance-network-bandwidth",
        "instance-gpu-name",
        "instance-gpu-manufacturer",
        "instance-gpu-count",
        "instance-gpu-memory",
        "instance-accelerator-name",
        "instance-accelerator-manufacturer",
        "instance-accelerator-count",
        "instance-capability-flex",
        "nitro-sandbox",
    )
)
#: Where a machine stands rather than what it is; overlays cannot ask for these.
AWS_PLACE_KEYS: Final = tuple(
    f"{AWS_DOMAIN}/{name}"
    for name in (
        "instance-tenancy",
        "capacity-reservation-type",
        "capacity-reservation-id",
        "capacity-reservation-interruptible",
        "placement-group-id",
        "placement-group-partition",
    )
)


def _quoted(keys: Iterable[str]) -> str:
    return "[" + ", ".join(f'"{key}"' for key in keys) + "]"


def reserved_domain(domain: str, keys: Iterable[str], what: str) -> Rule:
    """A rule on one key: nothing of a domain but what is listed."""
    return Rule(
        f'self in {_quoted(keys)} || !self.find("^([^/]+)").endsWith("{domain}")',
        f"{what} of the reserved domain {domain} must be one that is known",
    )


def reserved_domain_of_all(domain: str, keys: Iterable[str], what: str) -> Rule:
    """The same rule on the keys of a map."""
    return Rule(
        f'self.all(x, x in {_quoted(keys)} || !x.find("^([^/]+)").endsWith("{domain}"))',
        f"{what} of the reserved domain {domain} must be one that is known",
    )


_KEY: Final = "requirement key"
_CORE_RULE: Final = reserved_domain(CORE_DOMAIN, CORE_KEYS, _KEY)
_NO_POOL_RULE: Final = Rule(
    'self != "karpenter.sh/nodepool"', "requirement key karpenter.sh/nodepool is set by the pool itself"
)
_NO_HOSTNAME_RULE: Final = Rule(
    'self != "kubernetes.io/hostname"', "requirement key kubernetes.io/hostname is each node's own"
)
_KWOK_RULE: Final = reserved_domain(KWOK_DOMAIN, KWOK_KEYS, _KEY)
_AWS_RULE: Final = reserved_domain(AWS_DOMAIN, (*AWS_TYPE_KEYS, *AWS_PLACE_KEYS), _KEY)
_AWS_OVERLAY_RULE: Final = reserved_domain(AWS_DOMAIN, AWS_TYPE_KEYS, _KEY)

_QUALIFIED: Final = Limits(max_length=KEY_LENGTH, pattern=QUALIFIED_NAME)
_KEY_TEXT: Final = "Key of the label."

PoolKey = Annotated[str, _QUALIFIED, _CORE_RULE, _NO_POOL_RULE, _NO_HOSTNAME_RULE, _KWOK_RULE, _AWS_RULE, _KEY_TEXT]
ClaimKey = Annotated[str, _QUALIFIED, _CORE_RULE, _NO_HOSTNAME_RULE, _KWOK_RULE, _AWS_RULE, _KEY_TEXT]
OverlayKey = Annotated[str, _QUALIFIED, _CORE_RULE, _NO_HOSTNAME_RULE, _AWS_OVERLAY_RULE, _KEY_TEXT]
Operator = Annotated[str, Limits(enum=OPERATORS), "How the label's value relates to the values given."]
Values = Annotated[
    tuple[str, ...],
    ATOMIC_LIST,
    "Values: one or more for In and NotIn, one whole number for Gt, Lt, Gte and Lte, none for the others.",
]
MinValues = Annotated[int | None, Limits(minimum=1, maximum=50), "How many different values must stay possible."]


class PoolRequirement(Wire, frozen=True):
    """A label the nodes of a pool must have or not have."""

    key: PoolKey
    operator: Operator
    values: Values = ()
    min_values: MinValues = None


class ClaimRequirement(Wire, frozen=True):
    """A label the node of a claim must have or not have."""

    key: ClaimKey
    operator: Operator
    values: Values = ()
    min_values: MinValues = None


class OverlayRequirement(Wire, frozen=True):
    """A label that what is overlaid must have or not have."""

    key: OverlayKey
    operator: Operator
    values: Values = ()


IN_HAS_VALUES: Final = Rule(
    "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
    "requirements with operator In must have a value",
)
NOT_IN_HAS_VALUES: Final = Rule(
    "self.all(x, x.operator == 'NotIn' ? x.values.size() != 0 : true)",
    "requirements with operator NotIn must have a value",
)
ONE_NUMBER: Final = Rule(
    "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? "
    "(x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
    "requirements with operator Gt, Lt, Gte or Lte must have one value, a whole number of 0 or more",
)
ENOUGH_VALUES: Final = Rule(
    "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
    "requirements with operator In and minValues must list at least that many values",
)
_MANY: Final = Limits(max_items=MAX_REQUIREMENTS)

PoolRequirements = Annotated[tuple[PoolRequirement, ...], ATOMIC_LIST, _MANY, IN_HAS_VALUES, ONE_NUMBER, ENOUGH_VALUES]
ClaimRequirements = Annotated[
    tuple[ClaimRequirement, ...], ATOMIC_LIST, _MANY, IN_HAS_VALUES, ONE_NUMBER, ENOUGH_VALUES
]
OverlayRequirements = Annotated[
    tuple[OverlayRequirement, ...], ATOMIC_LIST, _MANY, NOT_IN_HAS_VALUES, IN_HAS_VALUES, ONE_NUMBER
]
