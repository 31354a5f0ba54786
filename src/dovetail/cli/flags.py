"""Flags that several verbs share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Final

CLOUDS: Final = ("aws", "azure", "gcp", "kwok")
DEFAULT_CLOUD: Final = "aws"
STRATEGIES: Final = ("eks", "gke", "aks", "aks-1.29", "none")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Which catalogue to look at, and at which prices."""
    group = parser.add_argument_group("which catalogue")
    group.add_argument("--cloud", choices=CLOUDS, help=f"whose catalogue (default {DEFAULT_CLOUD})")
    group.add_argument("--region", metavar="NAME", help="which region of it (default: the cloud's first)")
    group.add_argument(
        "--catalog", metavar="FILE", help="a catalogue of your own instead: one exported, or kwok's format"
    )
    group.add_argument(
        "--prices", metavar="FILE", action="append", help="a price book for this call, on top (repeatable)"
    )


def add_manifests(parser: argparse.ArgumentParser) -> None:
    """What of the user's own to put on top."""
    group = parser.add_argument_group("what to put on top")
    group.add_argument(
        "-f",
        "--file",
        metavar="PATH",
        action="append",
        help="InstanceTypes, NodeOverlays, NodePools, node classes: a file, a directory or - (repeatable)",
    )
    group.add_argument("--nodepool", metavar="NAME", help="which NodePool of the files to look through")


def add_kubelet(parser: argparse.ArgumentParser) -> None:
    """How nodes are set up; each flag beats what the files say."""
    group = parser.add_argument_group("how nodes are set up")
    group.add_argument("--reserve-strategy", choices=STRATEGIES, help="how kube-reserved is worked out")
    group.add_argument("--max-pods", type=count, metavar="N", help="at most so many pods on a node")
    group.add_argument("--pods-per-core", type=count, metavar="N", help="at most so many pods for each core")
    group.add_argument("--prefix-delegation", action="store_true", help="EKS: addresses come in blocks of sixteen")
    group.add_argument(
        "--vm-memory-overhead-percent",
        metavar="SHARE",
        help="memory the hypervisor keeps: 0.075 or 7.5%% (also: VM_MEMORY_OVERHEAD_PERCENT)",
    )


def add_output(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    parser.add_argument("-o", "--output", choices=formats, default=formats[0], help=f"format (default {formats[0]})")


def add_destination(parser: argparse.ArgumentParser, default: str = "stdout") -> None:
    """Where a verb that makes a file puts it; `-` is stdout."""
    parser.add_argument("-O", "--to", metavar="FILE", help=f"where to write it, - for stdout (default: {default})")


def count(text: str) -> int:
    """A whole number, 0 or more."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number, 0 or more")
    return int(text)
