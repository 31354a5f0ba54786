"""What a machine has to be told so that it joins, whatever its image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dovetail.core.nodeclaims import DO_NOT_SYNC_TAINTS, UNREGISTERED
from dovetail.core.taints import Taint

_WITHHELD: Final = ("kubernetes.io", "k8s.io")


@dataclass(frozen=True, slots=True)
class Home:
    """The cluster a machine joins. `authority` is base64, as the API gives it."""

    name: str
    endpoint: str
    authority: str = ""
    cidr: str = ""
    dns: str = ""

    @property
    def is_ipv6(self) -> bool:
        return ":" in self.cidr or ":" in self.dns


@dataclass(frozen=True, slots=True)
class Boot:
    """One kind of machine. `max_pods` is None where the image may work it out itself."""

    home: Home
    labels: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    taints: tuple[Taint, ...] = ()
    #: The kubelet block of the node class, as the API server has it.
    kubelet: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    max_pods: int | None = None
    #: Join the local disks to one.
    raid0: bool = False
    #: What the user wants to run besides.
    custom: str = ""

    @property
    def node_labels(self) -> tuple[tuple[str, str], ...]:
        """Those a kubelet may give itself, sorted; the rest come with registration. One says that its kubelet gave it
        its taints, so nobody need add them later."""
        own = {key: value for key, value in self.labels.items() if not _is_withheld(key)}
        return tuple(sorted((own | {DO_NOT_SYNC_TAINTS: "true"}).items()))

    @property
    def node_taints(self) -> tuple[Taint, ...]:
        """The last so that nothing is scheduled there before the node is known."""
        others = (one for one in self.taints if one.key != UNREGISTERED.key)
        return (*others, UNREGISTERED)

    @property
    def name_servers(self) -> tuple[str, ...]:
        """As the user says, or the cluster's own."""
        said = self.kubelet.get("clusterDNS")
        if isinstance(said, list | tuple) and said:
            return tuple(map(str, said))
        return (self.home.dns,) if self.home.dns else ()

    def setting(self, name: str) -> object:
        return self.kubelet.get(name)

    def table(self, name: str) -> dict[str, str]:
        """A setting that is a map of texts, sorted."""
        found = self.kubelet.get(name)
        if not isinstance(found, Mapping):
            return {}
        return {str(key): str(value) for key, value in sorted(found.items())}


def _is_withheld(key: str) -> bool:
    """A kubelet may not label itself in these domains, `node-restriction.kubernetes.io` among them."""
    domain = key.partition("/")[0] if "/" in key else ""
    return any(domain == one or domain.endswith(f".{one}") for one in _WITHHELD)
