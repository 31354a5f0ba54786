"""User data: what a machine runs when it starts so that it becomes a node, for each family of images.

Boot ─▶ al2023       MIME: the user's parts, then a NodeConfig
     ├▶ al2          MIME: the user's parts, then a call of bootstrap.sh
     ├▶ bottlerocket TOML, merged
     ├▶ windows      PowerShell
     └▶ Custom       the user's, as it is
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from dovetail.clouds.aws.bootstrap import al2, al2023, bottlerocket, windows
from dovetail.clouds.aws.bootstrap.boot import Boot, Home

__all__ = ["FAMILIES", "LARGEST_BYTES", "Boot", "Home", "user_data"]

#: EC2 takes no more, counted before it is encoded.
LARGEST_BYTES: Final = 16_384


def _as_it_is(boot: Boot) -> str:
    return boot.custom


_FAMILIES: Final[Mapping[str, Callable[[Boot], str]]] = MappingProxyType(
    {
        "AL2023": al2023.user_data,
        "AL2": al2.user_data,
        "Bottlerocket": bottlerocket.user_data,
        "Windows2019": windows.user_data,
        "Windows2022": windows.user_data,
        "Windows2025": windows.user_data,
        "Custom": _as_it_is,
    }
)


FAMILIES: Final = frozenset(_FAMILIES)


def user_data(family: str, boot: Boot) -> str:
    """What a machine of one family runs. Raises BadInput where the user's own part cannot be read."""
    return _FAMILIES[family](boot)
