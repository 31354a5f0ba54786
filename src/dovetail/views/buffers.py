"""CapacityBuffers in a plan: whether the room they keep is there, has to be bought, or cannot be had (§6.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dovetail.core.pods import Pod
from dovetail.core.scheduling.problem import Plan
from dovetail.views.paint import Paint, Style
from dovetail.views.table import Cell, Column, Row, render


@dataclass(frozen=True, slots=True)
class BufferPlan:
    """One buffer: how many of its pods fit on nodes that are there, go to nodes to buy, or wait."""

    name: str  # namespace/name
    existing: int = 0
    bought: int = 0
    waiting: int = 0
    problem: str | None = None

    @property
    def pods(self) -> int:
        return self.existing + self.bought + self.waiting

    @property
    def status(self) -> str:
        """The reason its Provisioning condition would have."""
        if self.problem is not None:
            return "NotReadyForProvisioning"
        if not self.pods:
            return "BufferEmpty"
        return "RequiresNewCapacity" if self.bought or self.waiting else "FitsExistingCapacity"

    @property
    def told(self) -> str:
        if self.problem is not None:
            return self.problem
        if not self.pods:
            return "it comes to no pods"
        return f"{self.bought}/{self.pods} virtual pods required new capacity, {self.waiting} failed"


def provided(name: str, pods: Iterable[Pod], plan: Plan, problem: str | None) -> BufferPlan:
    """What became of one buffer's pods."""
    keys = {pod.key for pod in pods}
    counts: Counter[str] = Counter()
    for where, groups in (("existing", plan.placed), ("bought", plan.claims), ("waiting", plan.refused)):
        counts[where] = sum(pod.key in keys for group in groups for pod in group.pods) if keys else 0
    return BufferPlan(name, counts["existing"], counts["bought"], counts["waiting"], problem)


def wire(one: BufferPlan) -> dict[str, object]:
    return {
        "buffer": one.name,
        "pods": one.pods,
        "onExistingNodes": one.existing,
        "onNewNodes": one.bought,
        "pending": one.waiting,
        "status": one.status,
        "reason": one.told,
    }


def text(buffers: Sequence[BufferPlan], width: int | None, paint: Paint) -> str:
    columns = [
        Column("  BUFFER"),
        Column("PODS", right=True),
        Column("FIT", right=True),
        Column("NEW", right=True),
        Column("WAIT", right=True),
        Column("STATUS", rank=1),
    ]
    rows: list[Row] = []
    for one in buffers:
        style = Style.BAD if one.problem is not None or one.waiting else None
        status = Cell(one.status if one.problem is None else one.problem, style)
        rows.append([f"  {one.name}", *map(str, (one.pods, one.existing, one.bought, one.waiting)), status])
    return render(columns, rows, width, paint)
