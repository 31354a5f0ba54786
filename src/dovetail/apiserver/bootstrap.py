"""What a new cluster holds before anybody asks it for anything."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from dovetail.api import kinds
from dovetail.apiserver import builtin_resources
from dovetail.apiserver.custom import Definitions
from dovetail.apiserver.expiry import Expiry
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.resources import Registry
from dovetail.apiserver.storage import Bounds, Storage
from dovetail.apiserver.writes import Write

NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_PRIORITIES: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}
_SERVER: Final = Write("kube-apiserver")


def new_cluster(clock: Callable[[], datetime] | None = None, bounds: Bounds | None = None) -> Objects:
    """An empty cluster: every built-in kind, the four namespaces, the two priorities of the system."""
    registry = Registry()
    builtin_resources.add_all(registry)
    bounds = bounds or Bounds()
    storage = Storage(bounds)
    for resource in registry.all():
        if resource.as_stored:
            storage.open(resource.kind, resource.fields)
    objects = Objects(storage, registry, clock)
    storage.table(kinds.CORE_EVENTS).expiry = Expiry(bounds.event_lifetime, objects.now)
    Definitions(objects)
    for name in NAMESPACES:
        objects.create(kinds.NAMESPACES, {"metadata": {"name": name}}, write=_SERVER)
    for name, (value, description) in _PRIORITIES.items():
        wanted = {"metadata": {"name": name}, "value": value, "description": description}
        objects.create(kinds.PRIORITY_CLASSES, wanted, write=_SERVER)
    objects.create(
        kinds.SERVICES,
        {
            "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": 6443}]},
        },
        "default",
        _SERVER,
    )
    return objects
