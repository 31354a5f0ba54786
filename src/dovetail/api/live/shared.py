"""Equal values, kept once."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

H = TypeVar("H", bound=Hashable)
#: A value that was not met among so many others, or twice as many, is forgotten: nodes come and go, and each may ask
#: for something of its own.
MEMORY: Final = 1_000


class Shared(Generic[H]):
    def __init__(self) -> None:
        self._lately: dict[H, H] = {}
        self._before: dict[H, H] = {}

    def __len__(self) -> int:
        return len(self._lately) + len(self._before)

    def of(self, made: H) -> H:
        """The value that was met first, of those that equal this one."""
        held = self._lately.get(made)
        if held is None:
            held = self._lately[made] = self._before.get(made, made)
            if len(self._lately) >= MEMORY:
                self._lately, self._before = {}, self._lately
        return held
