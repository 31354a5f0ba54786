"""How many machines are left in each reservation, between one look and the next (S3.5, S3.12).

EC2 is asked once a minute. What we launch and end in between is counted by ourselves; what EC2 says later than that
already has it. A reservation EC2 said was full is full until it is asked again. Nobody knows what other clusters do
with a reservation they share: then the count is too high, a launch is refused, and that says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Count:
    left: int
    seen: float


@dataclass(slots=True)
class Counts:
    """By reservation id. Each change makes another generation, so that offerings know when to look again (S0.5)."""

    _by_id: dict[str, _Count] = field(default_factory=dict)
    generation: int = 0

    def saw(self, found: Iterable[tuple[str, int]], at: float) -> None:
        """What EC2 answered to a question asked at a time; those it did not name are left as they are. An answer that
        was told before is told again by everybody who looks at it, and must not undo what was counted since."""
        for name, left in found:
            known = self._by_id.get(name)
            if known is not None and known.seen >= at:
                continue
            if known is None or known.left != left:
                self.generation += 1
            self._by_id[name] = _Count(left, at)

    def launched(self, name: str, at: float) -> None:
        """One was taken, unless EC2 has been asked since."""
        self._change(name, -1, at)

    def ended(self, name: str, at: float) -> None:
        """One came back: its machine is gone."""
        self._change(name, +1, at)

    def exhausted(self, name: str, at: float) -> None:
        """EC2 had none left, whatever we thought."""
        known = self._by_id.get(name)
        if known is None or known.left:
            self.generation += 1
        self._by_id[name] = _Count(0, at)

    def left(self, name: str) -> int:
        """None that is known of, for one nobody has seen."""
        known = self._by_id.get(name)
        return 0 if known is None else known.left

    def forget(self, names: Iterable[str]) -> None:
        for name in names:
            if self._by_id.pop(name, None) is not None:
                self.generation += 1

    def keep(self, selected: Collection[str]) -> None:
        """Forget all but these: no class selects the others any more."""
        self.forget([name for name in self._by_id if name not in selected])

    def _change(self, name: str, by: int, at: float) -> None:
        known = self._by_id.get(name)
        if known is None or known.seen > at:
            return
        changed = max(0, known.left + by)
        if changed != known.left:
            known.left = changed
            self.generation += 1
