"""How many pods a node may run (S2.9), and which rule says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.core.catalog.hardware import Hardware, Interfaces
from dovetail.core.kubelet import KubeletSettings

KUBERNETES_DEFAULT: Final = 110
#: Past this many cores the prefix-delegation guidance allows more pods.
_MANY_CORES_MILLIS: Final = 30_000
_PREFIX_ADDRESSES: Final = 16
_PREFIX_LIMIT_SMALL, _PREFIX_LIMIT_LARGE = 110, 250


@dataclass(frozen=True, slots=True)
class ByInterface:
    """EKS: every pod takes an address of a network interface; each interface keeps one for itself.

    Two more pods use the host's network. With prefix delegation every address is a block of sixteen, and the
    guidance then caps pods at 110 below 30 cores and 250 above.
    """

    reserved_interfaces: int = 0
    prefix_delegation: bool = False

    def pods(self, hardware: Hardware) -> tuple[int, str]:
        if hardware.interfaces is None:
            return KUBERNETES_DEFAULT, "Kubernetes' default; the type's interfaces are not known"
        if not self.prefix_delegation:
            held = f" (less {self.reserved_interfaces} held back)" if self.reserved_interfaces else ""
            interfaces = hardware.interfaces
            rule = f"{interfaces.count} interfaces{held} × ({interfaces.addresses_each} addresses − 1) + 2"
            return pods_by_interface(interfaces, self.reserved_interfaces), rule
        usable = max(0, hardware.interfaces.count - self.reserved_interfaces)
        blocks = usable * (hardware.interfaces.addresses_each - 1)
        limit = _PREFIX_LIMIT_LARGE if hardware.cpu_millis > _MANY_CORES_MILLIS else _PREFIX_LIMIT_SMALL
        rule = f"prefix delegation: {blocks} blocks × {_PREFIX_ADDRESSES} + 2, at most {limit}"
        return (min(limit, blocks * _PREFIX_ADDRESSES + 2) if blocks else 0), rule


def pods_by_interface(interfaces: Interfaces, reserved: int = 0) -> int:
    usable = interfaces.count - reserved
    return usable * (interfaces.addresses_each - 1) + 2 if usable > 0 else 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """A flat number of pods per node, and why that number."""

    limit: int
    why: str

    def pods(self, hardware: Hardware) -> tuple[int, str]:
        return self.limit, self.why


Density = ByInterface | Fixed
KUBERNETES_DENSITY: Final = Fixed(KUBERNETES_DEFAULT, "Kubernetes' default")


@dataclass(frozen=True, slots=True)
class PodLimit:
    """How many pods, and the rule and the place that decided."""

    pods: int
    rule: str
    source: str


def pod_limit(hardware: Hardware, kubelet: KubeletSettings, density: Density, type_pods: int | None = None) -> PodLimit:
    """The smallest of what the pool, the type and the cores allow.

    `type_pods` is an InstanceType's own `pods`, or else the limit the cloud states for the type: it stands in for the
    cloud's rule, and the smaller of it and the pool's maxPods counts. A rule of thumb gives way to maxPods, either way.
    """
    own = None
    if type_pods is not None:
        own = PodLimit(type_pods, "spec.resources.pods", "InstanceType")
    elif hardware.pods is not None:
        own = PodLimit(hardware.pods, "the type's own limit", "pod density")
    if own is not None and (kubelet.max_pods is None or own.pods <= kubelet.max_pods):
        found = own
    elif kubelet.max_pods is not None:
        found = PodLimit(kubelet.max_pods, "maxPods", "kubelet settings")
    else:
        pods, rule = density.pods(hardware)
        found = PodLimit(pods, rule, "pod density")
    if kubelet.pods_per_core is not None:
        by_core = kubelet.pods_per_core * (hardware.cpu_millis // 1000)
        if by_core < found.pods:
            return PodLimit(by_core, f"podsPerCore {kubelet.pods_per_core}", "kubelet settings")
    return found
