"""`kubelet` blocks, wherever they stand: in a NodePool's template, in its annotation, in a node class."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from dovetail.api.fields import Fields
from dovetail.core.errors import BadField, BadInput
from dovetail.core.kubelet import KubeletSettings, parse_settings

#: What Karpenter's own blocks hold; those we do not read are about other things than room.
KNOWN: Final = frozenset(
    {
        "clusterDNS",
        "cpuCFSQuota",
        "evictionHard",
        "evictionMaxPodGracePeriod",
        "evictionSoft",
        "evictionSoftGracePeriod",
        "evictionThreshold",
        "imageGCHighThresholdPercent",
        "imageGCLowThresholdPercent",
        "kubeReserved",
        "kubeReservedStrategy",
        "maxPods",
        "podsPerCore",
        "systemReserved",
    }
)


def read(parent: Fields, name: str, *, formulas: bool = False) -> KubeletSettings | None:
    """The block under a name, or None where there is none. `formulas`: amounts may be expressions.

    Newer node classes pass any kubelet setting through, so an unknown key is fine, unless it is nearly one of those
    we read: `maxPod` is a typing error.
    """
    if not parent.has(name):
        return None
    block = parent.map(name)
    for key in block.wire:
        near = get_close_matches(str(key), KNOWN, 1, 0.85)
        if key not in KNOWN and near:
            raise block.bad(str(key), f"unknown key; did you mean {near[0]}?")
    try:
        return parse_settings(block.wire, *block.path, formulas=formulas)
    except BadField:
        raise
    except BadInput as problem:
        raise block.bad("", str(problem)) from None
