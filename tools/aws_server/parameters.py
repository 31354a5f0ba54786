"""The public SSM parameters that name node images; moto lets nobody write below /aws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moto.ssm.models import Parameter, ssm_backends
from tools.aws_server.world import WORLD

ACCOUNT: Final = "123456789012"


def put_parameters(region: str, values: Mapping[str, str]) -> None:
    """Set or replace public parameters."""
    backend = ssm_backends[ACCOUNT][region]
    for name, value in values.items():
        backend._parameters[name] = [
            Parameter(
                account_id=ACCOUNT,
                name=name,
                value=value,
                parameter_type="String",
                description="",
                allowed_pattern=None,
                keyid=None,
                last_modified_date=WORLD.now,
                version=1,
                data_type="text",
                labels=[],
                source_result=None,
                tier="Standard",
                policies=None,
            )
        ]


def image_parameters(version: str, images: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """EKS's and Bottlerocket's parameters for images by (kind, architecture); kinds are `al2023`, `al2023-nvidia`,
    `al2023-neuron`, `bottlerocket`, `bottlerocket-nvidia`, `al2`, `al2-gpu`, `windows2022`."""
    found: dict[str, str] = {}
    for (kind, architecture), image in images.items():
        found[_path(version, kind, architecture)] = image
    return found


def _path(version: str, kind: str, architecture: str) -> str:
    family, _, variant = kind.partition("-")
    if family == "al2023":
        eks = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023"
        return f"{eks}/{architecture}/{variant or 'standard'}/recommended/image_id"
    if family == "bottlerocket":
        suffix = f"-{variant}" if variant else ""
        return f"/aws/service/bottlerocket/aws-k8s-{version}{suffix}/{architecture}/latest/image_id"
    if family == "al2":
        suffix = "-gpu" if variant == "gpu" else ("-arm64" if architecture == "arm64" else "")
        return f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2{suffix}/recommended/image_id"
    year = family.removeprefix("windows")
    return f"/aws/service/ami-windows-latest/Windows_Server-{year}-English-Core-EKS_Optimized-{version}/image_id"
