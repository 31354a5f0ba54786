"""What keeps a pod out of a NodePool, as stable words for programs; the sentences are made by `explain`."""

from __future__ import annotations

from enum import StrEnum


class Obstacle(StrEnum):
    """In the order it is looked for: what stands further down came closer. docs/reference/reasons.md is made from
    this."""

    TAINTS = "taints"
    """the pod does not tolerate a taint of the pool → add the toleration"""
    REQUIREMENTS = "requirements"
    """the pod's node selector or affinity contradicts the pool's requirements or labels → change one of the two"""
    INSTANCE_TYPES = "instance-types"
    """no instance type meets what pool and pod ask for together → `dovetail catalog list` shows what there is"""
    OFFERINGS = "offerings"
    """types suit, and none of them is for sale just now where they may be bought → wait, or allow more zones, types or
    capacity types"""
    RESOURCES = "resources"
    """the pod asks for more than any type left has; the nearest miss says by how much → ask for less, or allow larger
    types"""
    HOST_PORTS = "host-ports"
    """a daemon holds one of the pod's host ports on every type that is large enough → another port"""
    VOLUMES = "volumes"
    """its volumes can only be used where the pool does not go or nothing suits, or would be more than a node can attach
    → let the pool go there"""
    LIMITS = "limits"
    """what the pool's `limits` leave is too little for any node that would do → raise them"""
    MIN_VALUES = "min-values"
    """fewer types are left than `minValues` asks for → lower it, allow more, or `--min-values-policy BestEffort`"""
    RESERVATIONS = "reservations"
    """every reservation that suits is full, and the pool may buy nothing else → reserve more, or allow `on-demand`"""
    TOPOLOGY = "topology"
    """spread or affinity between pods leaves no domain in which a node could be had → the sentence has the counts"""
    CROWDED = "crowded"
    """no new node may be opened for it, and none that is there has room → wait, or ask again when others have gone"""
