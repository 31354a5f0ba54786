"""Machines that were bought and are not written down yet.

A claim's status says what its machine is. A machine that joins in the same breath as it is bought is written down
together with its joining, one write for several; until then it is remembered here, and whoever asks the cluster what a
claim has hears of it. To forget is no loss: the order is made again, and the cloud recognises it by the claim's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dovetail.core.instances import Instance
from dovetail.core.lifecycle import launch
from dovetail.core.lifecycle.launch import Bought
from dovetail.core.nodeclaims import LAUNCHED, NodeClaim


class Purchases:
    """By claim, and by the machine's provider id."""

    def __init__(self, changed: Callable[[str], None] = lambda claim: None) -> None:
        """`changed` hears the name of every claim for which something was bought or forgotten."""
        self._changed = changed
        self._held: dict[str, tuple[str, Bought]] = {}
        self._by_provider: dict[str, str] = {}
        #: By claim: how it is written, and how it is with its machine. Everybody asks, all the time.
        self._known: dict[str, tuple[NodeClaim, NodeClaim]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, claim: NodeClaim, instance: Instance, now: float) -> None:
        self.forget(claim.name)
        self._held[claim.name] = (claim.meta.uid, Bought(instance, now))
        self._by_provider[instance.provider_id] = claim.name
        self._changed(claim.name)

    def of(self, claim: NodeClaim) -> Bought | None:
        """What was bought for a claim that does not say so itself."""
        uid, bought = self._held.get(claim.name, ("", None))
        return bought if uid == claim.meta.uid and not claim.is_true(LAUNCHED) else None

    def machines(self) -> Iterator[tuple[str, str]]:
        """Each claim with the provider id of what was bought for it."""
        return ((claim, bought.instance.provider_id) for claim, (_, bought) in self._held.items())

    def owner(self, provider_id: str) -> str | None:
        """The claim a machine was bought for."""
        return self._by_provider.get(provider_id)

    def known(self, claim: NodeClaim) -> NodeClaim:
        """The claim with what is known of its machine, written down or not."""
        bought = self.of(claim) if self._held else None
        if bought is None:
            return claim
        held = self._known.get(claim.name)
        if held is None or held[0] is not claim:
            held = self._known[claim.name] = (claim, launch.launched(claim, bought.instance, bought.at))
        return held[1]

    def forget(self, claim: str) -> None:
        """It is written down, or its claim is gone."""
        _, bought = self._held.pop(claim, ("", None))
        self._known.pop(claim, None)
        if bought is not None:
            self._by_provider.pop(bought.instance.provider_id, None)
            self._changed(claim)
