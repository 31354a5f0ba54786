"""Images: which parameters name them, which machines may run them, and which of several is taken.

An image serves machines of one architecture and one variant: plain ones, those with NVIDIA's accelerators, or those
with AWS's own. That is said as requirements on the machine's labels, and it is all that decides which image a type
gets: the first in the class's status whose requirements it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from dovetail.clouds.aws import labels as aws_labels
from dovetail.clouds.aws.resolved import Image
from dovetail.core import labels
from dovetail.core.errors import BadValue, shown
from dovetail.core.requirements import Requirement, Requirements, does_not_exist, exists, is_in

__all__ = ["LATEST", "Image", "Parameter", "any_machine", "chosen", "image_for", "parameters", "why_unsupported"]

WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"
LATEST: Final = "latest"
_BUILDS: Final = MappingProxyType({"2019": "10.0.17763", "2022": "10.0.20348", "2025": "10.0.26100"})
STANDARD: Final = (does_not_exist(aws_labels.GPU_COUNT), does_not_exist(aws_labels.ACCELERATOR_COUNT))
NVIDIA: Final = (exists(aws_labels.GPU_COUNT),)
NEURON: Final = (exists(aws_labels.ACCELERATOR_COUNT),)
#: By the names EC2 has for architectures.
_ARCHITECTURES: Final = MappingProxyType({"x86_64": "amd64", "arm64": "arm64"})
#: Aliases and the versions of Kubernetes they are made for: from, and up to but without.
_ONLY_FOR: Final = MappingProxyType({"al2": ((0, 0), (1, 33)), "windows2025": ((1, 35), (99, 0))})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that holds an image's id, and the machines that image is for, which may be several kinds."""

    path: str
    serves: tuple[Requirements, ...]


def parameters(alias: str, kubernetes: str) -> tuple[Parameter, ...]:
    """The parameters an alias such as `al2023@latest` stands for. Raises BadInput for one that cannot be had."""
    family, _, version = alias.partition("@")
    made = _FAMILIES.get(family)
    if made is None or not version:
        raise BadValue(f"alias {shown(alias)} must be a family of images and a version, such as al2023@latest")
    unsupported = why_unsupported(family, kubernetes)
    if unsupported:
        raise BadValue(unsupported)
    return tuple(made(family, version, kubernetes))


def why_unsupported(family: str, kubernetes: str) -> str:
    """Why images of a family are not made for a version of Kubernetes, "" where they are."""
    first, end = _ONLY_FOR.get(family, ((0, 0), (99, 0)))
    number = tuple(int(part) for part in kubernetes.split(".")[:2])
    if first <= number < end:
        return ""
    bound = f"from {first[0]}.{first[1]} on" if number < first else f"before {end[0]}.{end[1]}"
    return f"images of {family} are made for Kubernetes {bound}, and this cluster runs {kubernetes}"


def _of(arch: str, *variants: tuple[Requirement, ...]) -> tuple[Requirements, ...]:
    return tuple(Requirements((is_in(labels.ARCH, _ARCHITECTURES[arch]), *one)) for one in variants)


def _al2(_: str, version: str, kubernetes: str) -> Iterator[Parameter]:
    for suffix, arch, variants in (
        ("", "x86_64", (STANDARD,)),
        ("-arm64", "arm64", (STANDARD,)),
        ("-gpu", "x86_64", (NVIDIA, NEURON)),
    ):
        image = "recommended" if version == LATEST else f"amazon-eks{suffix}-node-{kubernetes}-{version}"
        path = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2{suffix}/{image}/image_id"
        yield Parameter(path, _of(arch, *variants))


def _al2023(_: str, version: str, kubernetes: str) -> Iterator[Parameter]:
    for arch, name, variant in (
        ("x86_64", "standard", STANDARD),
        ("x86_64", "nvidia", NVIDIA),
        ("x86_64", "neuron", NEURON),
        ("arm64", "standard", STANDARD),
        ("arm64", "nvidia", NVIDIA),
    ):
        one = f"amazon-eks-node-al2023-{arch}-{name}-{kubernetes}-{version}"
        image = "recommended" if version == LATEST else one
        path = f"/aws/service/eks/optimized-ami/{kubernetes}/amazon-linux-2023/{arch}/{name}/{image}/image_id"
        yield Parameter(path, _of(arch, variant))


def _bottlerocket(_: str, version: str, kubernetes: str) -> Iterator[Parameter]:
    wanted = version.removeprefix("v")
    for suffix, arch, variants in (
        ("", "x86_64", (STANDARD, NEURON)),
        ("", "arm64", (STANDARD,)),
        ("-nvidia", "x86_64", (NVIDIA,)),
        ("-nvidia", "arm64", (NVIDIA,)),
    ):
        path = f"/aws/service/bottlerocket/aws-k8s-{kubernetes}{suffix}/{arch}/{wanted}/image_id"
        yield Parameter(path, _of(arch, *variants))


def _windows(family: str, _: str, kubernetes: str) -> Iterator[Parameter]:
    year = family.removeprefix("windows")
    name = f"Windows_Server-{year}-English-Core-EKS_Optimized-{kubernetes}"
    machine = (is_in(labels.OS, "windows"), is_in(WINDOWS_BUILD, _BUILDS[year]))
    yield Parameter(f"/aws/service/ami-windows-latest/{name}/image_id", _of("x86_64", machine))


_FAMILIES: Final = MappingProxyType(
    {
        "al2": _al2,
        "al2023": _al2023,
        "bottlerocket": _bottlerocket,
        "windows2019": _windows,
        "windows2022": _windows,
        "windows2025": _windows,
    }
)


def any_machine(arch: str) -> Requirements | None:
    """Whom an image that was found by itself is for; None where no node runs its architecture."""
    known = _ARCHITECTURES.get(arch)
    return None if known is None else Requirements((is_in(labels.ARCH, known),))


def chosen(found: Iterable[Image]) -> tuple[Image, ...]:
    """The best for each kind of machine, the newest first: one its owner stands by, then the newest, then the greatest
    name."""
    best: dict[Requirements, Image] = {}
    for one in found:
        known = best.get(one.requirements)
        if known is None or _rank(one) > _rank(known):
            best[one.requirements] = one
    return tuple(sorted(best.values(), key=lambda one: (one.created, one.name, one.id), reverse=True))


def _rank(one: Image) -> tuple[bool, str, str]:
    return not one.deprecated, one.created, one.name


def image_for(machine: Requirements, images: Iterable[Image]) -> Image | None:
    """The image a type of these labels gets."""
    return next((one for one in images if machine.compatible(one.requirements)), None)
