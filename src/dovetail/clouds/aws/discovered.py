"""How much memory nodes really have, once one has joined: measured, not guessed.

Every type's memory is first worked out from a rule (`core.catalog.overhead`). The first node that registers says what
its kernel left, which depends on the type and on the image; the least that any node of both has said is what plans must
fit into from then on. Nothing is kept across a restart: nodes that are there say it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Discovered:
    """Bytes by image and type."""

    _by_image: dict[str, dict[str, int]] = field(default_factory=dict)

    def saw(self, instance_type: str, image_id: str, memory_bytes: int) -> bool:
        """A node of this type and image reports so much. Whether that was news."""
        known = self._by_image.setdefault(image_id, {})
        if memory_bytes <= 0 or known.get(instance_type, memory_bytes + 1) <= memory_bytes:
            return False
        known[instance_type] = memory_bytes
        return True

    def by_type(self, images: Iterable[str]) -> Mapping[str, int]:
        """What is known of types that run any of these images: the least of it."""
        found: dict[str, int] = {}
        for image in images:
            for name, memory in self._by_image.get(image, {}).items():
                found[name] = min(memory, found.get(name, memory))
        return found

    def forget_others(self, images: Iterable[str]) -> None:
        """Images no node class has any more."""
        kept = frozenset(images)
        for gone in [one for one in self._by_image if one not in kept]:
            del self._by_image[gone]
