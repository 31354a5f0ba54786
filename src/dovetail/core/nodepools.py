"""NodePools: what may be bought, for whom, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dovetail.core import labels
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.requirements import EMPTY, Requirements, is_in
from dovetail.core.resources import Resources
from dovetail.core.taints import Taint


@dataclass(frozen=True, slots=True, order=True)
class NodeClassRef:
    """Which node class a pool launches with: the cloud's side of its configuration."""

    group: str
    kind: str
    name: str

    @property
    def label_key(self) -> str:
        return f"{self.group}/{self.kind.lower()}"


class MinValuesPolicy(StrEnum):
    """What to do where a pool's minValues cannot be met: refuse, or take what there is."""

    STRICT = "Strict"
    BEST_EFFORT = "BestEffort"


@dataclass(frozen=True, slots=True)
class NodePool:
    """One pool: its name, what its nodes are made from, and what they may be.

    `limits` bounds what all its nodes have together, `nodes` among them; None bounds nothing. A pool with
    `replicas` is static: it is kept at that number and plans nothing. `problem` says why it cannot be used.
    """

    name: str
    node_class: NodeClassRef
    requirements: Requirements = EMPTY
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    limits: Resources | None = None
    weight: int = 0
    replicas: int | None = None
    ready: bool = True
    min_values_policy: MinValuesPolicy | None = None
    kubelet: KubeletSettings = field(default_factory=KubeletSettings)
    problem: str | None = None

    @property
    def label_requirements(self) -> Requirements:
        """The labels every node of the pool will carry, whatever type it becomes."""
        return Requirements.of_labels(dict(self.labels)) & Requirements([is_in(labels.NODEPOOL, self.name)])

    @property
    def template(self) -> Requirements:
        """Everything a claim of this pool starts from."""
        of_class = is_in(self.node_class.label_key, self.node_class.name)
        return self.requirements & self.label_requirements & Requirements([of_class])
