"""What a pod asks for, worked out as Kubernetes does (scheduling §3.10).

    containers, and sidecars        run together: their requests add up
    init containers                 run one after another, beside the sidecars started before them: the largest counts
    pod-level resources             stand in place of that sum, for the resources they name
    overhead                        comes on top
    a limit                         is the request where no request is written
    a resize in place               counts at the larger of what is asked and what the node has allocated

A pod takes one of its node's pod slots as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from dovetail.api.fields import Fields, Wire
from dovetail.core import resources
from dovetail.core.resources import CPU, HUGEPAGES, MEMORY, NOTHING, PODS, Resources

_SIDECAR: Final = "Always"
_ONE_POD: Final = Resources({PODS: 1})


def effective_requests(spec: Fields, allocated: Mapping[str, object], defaults: Defaults | None = None) -> Resources:
    """The requests of a whole pod, without the overhead of its runtime class.

    `allocated` is, by container name, what the node has set aside for containers that are being resized.
    """
    of = _Reader(allocated, defaults or NO_DEFAULTS)
    running, sidecars, starting = NOTHING, NOTHING, NOTHING
    for one in spec.items("containers"):
        running = running + of.requests(one)
    for one in spec.items("initContainers"):
        if one.text("restartPolicy") == _SIDECAR:
            sidecars = sidecars + of.requests(one)
            starting = _larger(starting, sidecars)
        else:
            starting = _larger(starting, sidecars + of.requests(one))
    return _with_pod_level(spec, _larger(running + sidecars, starting))


def finished(requests: Resources, overhead: Resources) -> Resources:
    """With overhead and the pod's own slot; what is asked zero times is not asked."""
    total = requests + overhead + _ONE_POD
    return Resources({name: amount for name, amount in total.items() if amount})


def _larger(one: Resources, other: Resources) -> Resources:
    return one.merged({name: max(one.of(name), amount) for name, amount in other.items()})


def _with_pod_level(spec: Fields, sum_: Resources) -> Resources:
    if not spec.has("resources"):
        return sum_
    block = spec.map("resources")
    asked = resources.parse(block.wire.get("requests"), *block.path, "requests")
    limits = resources.parse(block.wire.get("limits"), *block.path, "limits")
    found = {name: amount for name, amount in limits.items() if name not in sum_ and _is_pod_level(name)}
    found.update({name: amount for name, amount in asked.items() if _is_pod_level(name)})
    return sum_.merged(found)


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith(HUGEPAGES)


class Defaults:
    """What a namespace's LimitRanges give containers that say nothing."""

    __slots__ = ("limits", "requests")

    def __init__(self, requests: Resources = NOTHING, limits: Resources = NOTHING) -> None:
        self.requests = requests
        self.limits = limits


NO_DEFAULTS: Final = Defaults()


def read_limit_range(wire: Fields) -> Defaults:
    """The defaults for containers, filled up as the API server does: a limit is the maximum where nothing else is said,
    a request the limit or else the minimum. To enforce them is the server's."""
    requests, limits = NOTHING, NOTHING
    for one in wire.map("spec").items("limits"):
        if one.text("type") == "Container":
            most, least, limit, request = (
                resources.parse(one.wire.get(name), *one.path, name)
                for name in ("max", "min", "default", "defaultRequest")
            )
            limit = most.merged(limit)
            limits = limits.merged(limit)
            requests = requests.merged(least.merged(limit).merged(request))
    return Defaults(requests, limits)


def by_namespace(ranges: Iterable[tuple[tuple[str, str], Defaults]]) -> dict[str, Defaults]:
    """The defaults of each namespace, of LimitRanges by namespace and name. They are applied one after another, by
    name, and what one gives the next leaves alone."""
    found: dict[str, Defaults] = {}
    for (namespace, _), one in sorted(ranges, key=lambda pair: pair[0]):
        first = found.get(namespace, NO_DEFAULTS)
        found[namespace] = Defaults(one.requests.merged(first.requests), one.limits.merged(first.limits))
    return found


class _Reader:
    def __init__(self, allocated: Mapping[str, object], defaults: Defaults) -> None:
        self.allocated = allocated
        self.defaults = defaults

    def requests(self, container: Fields) -> Resources:
        block = container.map("resources")
        limits = resources.parse(block.wire.get("limits"), *block.path, "limits")
        asked = resources.parse(block.wire.get("requests"), *block.path, "requests")
        found = self.defaults.requests.merged(limits).merged(asked)
        name = container.wire.get("name")
        held = self.allocated.get(name) if isinstance(name, str) else None
        return found if held is None else _larger(found, resources.parse(held, "status", "allocatedResources"))


def allocated_in(status: Wire) -> dict[str, object]:
    """What the node has set aside, by container, as its status says."""
    found: dict[str, object] = {}
    for listed in ("containerStatuses", "initContainerStatuses"):
        entries = status.get(listed)
        for one in entries if isinstance(entries, list) else ():
            if isinstance(one, Mapping) and isinstance(one.get("allocatedResources"), Mapping):
                found[str(one.get("name"))] = one["allocatedResources"]
    return found
