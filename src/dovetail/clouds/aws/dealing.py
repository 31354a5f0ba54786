"""Which machine is whose: a fleet buys for many claims at once, and each gets one.

A claim remembers its machine from the moment it is written down. Before that only this book does, and the tags
(`tags.of_claims`) say for whom a machine may have been bought. All machines of a fleet answer the same request, so any
that is nobody's yet will do for any claim its tags name; what matters is that none is dealt twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.clouds.aws.described import Machine, id_of
from dovetail.clouds.port import NotFound
from dovetail.core.nodeclaims import NodeClaim


class Deals:
    """The book of what was dealt."""

    def __init__(self) -> None:
        self._owner: dict[str, str] = {}
        self._held: dict[str, str] = {}
        self._machine: dict[str, Machine] = {}
        self._doubtful: set[str] = set()

    def resume(self, claims: Iterable[NodeClaim]) -> None:
        """After a start: what claims remember. Those that remember nothing may have been bought for all the same."""
        for claim in claims:
            try:
                self._wrote(claim.name, id_of(claim.provider_id))
            except NotFound:
                if not claim.provider_id:
                    self._doubtful.add(claim.name)

    def doubt(self, name: str) -> None:
        """Something may have been bought for this claim, and nobody heard the answer."""
        self._doubtful.add(name)

    def is_doubtful(self, name: str) -> bool:
        return name in self._doubtful

    def of(self, name: str) -> Machine | None:
        """The machine this process dealt to a claim."""
        return self._machine.get(name)

    def deal(self, name: str, machine: Machine) -> None:
        self._wrote(name, machine.id)
        self._machine[name] = machine
        self._doubtful.discard(name)

    def free_for(self, name: str, machines: Iterable[Machine]) -> Machine | None:
        """The first that may be this claim's and is nobody else's."""
        for one in machines:
            if name in one.claims and self._owner.get(one.id, name) == name and not one.is_leaving:
                return one
        return None

    def claim_of(self, machine: Machine) -> str:
        """Whose a machine is, or, while nobody has it, for whom it may yet be found; "" where nobody can say."""
        names = machine.claims
        known = self._owner.get(machine.id) or next((one for one in names if one in self._doubtful), "")
        return known or (names[0] if len(names) == 1 else "")

    def ended(self, name: str) -> None:
        """The claim is gone, and its machine with it."""
        self._owner.pop(self._held.pop(name, ""), None)
        self._machine.pop(name, None)
        self._doubtful.discard(name)

    def _wrote(self, name: str, instance_id: str) -> None:
        self._owner[instance_id] = name
        self._held[name] = instance_id
