"""What a node class says that the market must know, and which types it can therefore not launch (`spec/aws` §2.4).

`terms_of` takes it out of a resolved class. Terms are compared as a whole, so a class that is resolved again and says
the same costs nothing; free addresses, tags and user data are not among them.

`refusal` is the one place that says why a type is not for a class. Such a type keeps its rows and prices, and none of
them is available.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dovetail.clouds.aws.resolved import Image, Interface, PlacementGroup, ResolvedClass
from dovetail.clouds.aws.wire import TypeAnswer
from dovetail.core.requirements import Requirements
from dovetail.core.resources import GIB

AL2023: Final = "AL2023"
BOTTLEROCKET: Final = "Bottlerocket"
WINDOWS: Final = "Windows"
#: How large the disk is that pods write to, where its snapshot decides.
_STORAGE_GIB: Final = 20
_WINDOWS_STORAGE_GIB: Final = 50
_BUILDS: Final = {"Windows2019": "10.0.17763", "Windows2022": "10.0.20348", "Windows2025": "10.0.26100"}
_NESTED: Final = "nested-virtualization"
_ON: Final = "enabled"


@dataclass(frozen=True, slots=True)
class ClassTerms:
    """`subnets` are (zone, subnet id); `storage_bytes` is the disk pods write to, and with `instance_store` a type's
    own disks take its place where it has any."""

    subnets: frozenset[tuple[str, str]]
    family: str = AL2023
    storage_bytes: int = _STORAGE_GIB * GIB
    instance_store: bool = False
    images: tuple[Image, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    placement_group: PlacementGroup | None = None
    tracking: bool = False
    nested_virtualization: bool = False
    enclaves: bool = False

    @property
    def zones(self) -> frozenset[str]:
        return frozenset(zone for zone, _ in self.subnets)

    @property
    def windows_build(self) -> str:
        return _BUILDS.get(self.family, "")

    @property
    def efa_only(self) -> int:
        return sum(one.efa_only for one in self.interfaces)

    @property
    def image_ids(self) -> frozenset[str]:
        return frozenset(one.id for one in self.images)


def terms_of(
    resolved: ResolvedClass, family: str, storage_bytes: int | None = None, instance_store: bool = False
) -> ClassTerms:
    """The rest is `family`, `ephemeral_bytes` and `raid0` of the class's spec."""
    usual = (_WINDOWS_STORAGE_GIB if family.startswith(WINDOWS) else _STORAGE_GIB) * GIB
    return ClassTerms(
        subnets=frozenset((one.zone, one.id) for one in resolved.subnets),
        family=family,
        storage_bytes=usual if storage_bytes is None else storage_bytes,
        instance_store=instance_store,
        images=resolved.images,
        interfaces=resolved.network.interfaces,
        placement_group=resolved.placement_group,
        tracking=resolved.network.tracking is not None,
        nested_virtualization=resolved.nested_virtualization == _ON,
        enclaves=resolved.enclaves,
    )


# ---- which types a class cannot launch


def _too_old(one: TypeAnswer, terms: ClassTerms) -> str:
    old = terms.family == AL2023 and one.instance_type.startswith("a1.")
    return "AL2023 does not run on the first Graviton" if old else ""


def _interfaces(one: TypeAnswer, terms: ClassTerms) -> str:
    if not terms.interfaces:
        return ""
    network = one.network_info
    cards = {card.network_card_index: card.maximum_network_interfaces for card in network.network_cards}
    if not cards or network.ena_support == "unsupported":
        return "it has no network cards to put spec.networkInterfaces on"
    for wanted in terms.interfaces:
        if wanted.card not in cards:
            return f"it has no network card {wanted.card}, which spec.networkInterfaces asks for"
        if wanted.device >= cards[wanted.card]:
            return f"its network card {wanted.card} has no place {wanted.device}, which spec.networkInterfaces asks for"
    most = network.efa_info.maximum_efa_interfaces if network.efa_info else 0
    return f"it takes {most} EFA interfaces, not {terms.efa_only}" if terms.efa_only > most else ""


def _nested(one: TypeAnswer, terms: ClassTerms) -> str:
    lacks = terms.nested_virtualization and _NESTED not in one.processor_info.supported_features
    return "its processor has no nested virtualization" if lacks else ""


def _enclaves(one: TypeAnswer, terms: ClassTerms) -> str:
    return "it has no Nitro enclaves" if terms.enclaves and one.nitro_enclaves_support != "supported" else ""


def _placement(one: TypeAnswer, terms: ClassTerms) -> str:
    group, known = terms.placement_group, one.placement_group_info.supported_strategies
    return (
        "" if group is None or group.strategy in known else f"it takes no placement group of strategy {group.strategy}"
    )


def _tracking(one: TypeAnswer, terms: ClassTerms) -> str:
    return "connection tracking can only be set on Nitro" if terms.tracking and one.hypervisor != "nitro" else ""


_RULES: Final[tuple[Callable[[TypeAnswer, ClassTerms], str], ...]] = (
    _too_old,
    _interfaces,
    _nested,
    _enclaves,
    _placement,
    _tracking,
)


def refusal(one: TypeAnswer, terms: ClassTerms, labels: Requirements) -> str:
    """Why a class cannot launch a type, "" if it can. `labels` are those its nodes will have."""
    for rule in _RULES:
        why = rule(one, terms)
        if why:
            return why
    if terms.images and not any(_suits(image, labels) for image in terms.images):
        return "no image of the node class runs on it"
    return ""


def _suits(image: Image, has: Requirements) -> bool:
    """A label the image speaks of and the type does not have is absent on the type."""
    for wanted in image.requirements:
        known = has.get(wanted.key)
        if not (wanted.absent if known is None else wanted.intersects(known)):
            return False
    return True
