"""What is still open about a node to be bought: its labels, as a state that only narrows.

A claim begins as its pool's template and narrows as pods join it: a selector here, a zone pinned by a spread there. Few
distinct states ever occur, so each is built once, with the types and slots that suit it, and "this state, plus
that demand" is remembered: the step that a pod takes is a look into a dictionary.
"""

from __future__ import annotations

from dovetail.core.requirements import Requirement, Requirements, is_in
from dovetail.core.scheduling.index import PoolIndex
from dovetail.core.scheduling.reserved import Reservable, ReservedSlot


class State:
    """The labels of a claim so far, the types that suit them, and where each further demand leads."""

    __slots__ = (
        "_asked",
        "_domains",
        "_implied",
        "_pinned",
        "_states",
        "alone",
        "index",
        "labels",
        "launches",
        "market",
        "min_values",
        "reserved",
        "slots",
    )

    def __init__(self, states: States, labels: Requirements, slots: int, market: int, reserved: Reservable) -> None:
        self._states = states
        self.index = states.index
        self.labels = labels
        #: How many values of which key a claim must stay open to.
        self.min_values = tuple((one.key, one.min_values) for one in labels if one.min_values)
        self.slots = slots
        #: The types that suit the labels and that the market sells in a suiting slot.
        self.market = market
        #: The reserved rows that suit; and of their types, by minValues, those that keep these by themselves.
        self.reserved = reserved
        self.alone: dict[tuple[tuple[str, int], ...], int] = {}
        #: By set of types and reservation, what was worked out for claims that ended up in this state with those.
        self.launches: dict[tuple[int, str | None], object] = {}
        self._asked: dict[Requirements, State | None] = {}
        self._pinned: dict[tuple[str, str], State | None] = {}
        self._domains: dict[str, tuple[str, ...] | None] = {}
        self._implied: dict[Requirements, bool] = {}

    def asked(self, wanted: Requirements) -> State | None:
        """This state with a pod's demands added; None where the two do not go together."""
        try:
            return self._asked[wanted]
        except KeyError:
            found = self._narrowed(wanted) if self.labels.compatible(wanted, self.index.well_known) else None
            self._asked[wanted] = found
            return found

    def pinned(self, key: str, value: str) -> State | None:
        """This state with one label decided."""
        known = (key, value)
        try:
            return self._pinned[known]
        except KeyError:
            found = self._narrowed(Requirements([is_in(key, value)]))
            self._pinned[known] = found
            return found

    def _narrowed(self, wanted: Requirements) -> State | None:
        labels = self.labels & wanted
        if labels == self.labels:
            return self
        if labels.is_contradictory:
            return None
        return self._states.of(labels)

    def implies(self, wanted: Requirements) -> bool:
        """Whether a node in this state has what is wanted, whichever of its types and slots it becomes."""
        found = self._implied.get(wanted)
        if found is None:
            found = self._implied[wanted] = self._certain(wanted)
        return found

    def _certain(self, wanted: Requirements) -> bool:
        narrowed = self.asked(wanted)
        if narrowed is None or (narrowed.market, narrowed.slots) != (self.market, self.slots):
            return False
        if narrowed.reserved != self.reserved:
            return False
        for one in wanted:
            mine = self.labels.get(one.key)
            if mine is None:
                if not one.absent and self._offered(one.key) is None:
                    return False
            elif mine & one != mine and self._offered(one.key) is None:
                return False
        return True

    def domains(self, key: str) -> tuple[str, ...] | None:
        """The values a label may still take, sorted; None where that is not a list (any text would do)."""
        if key not in self._domains:
            self._domains[key] = self._listed(key)
        return self._domains[key]

    def _listed(self, key: str) -> tuple[str, ...] | None:
        wanted = self.labels.get(key)
        offered = self._offered(key)
        if offered is None:
            if wanted is None or wanted.absent:
                return None
            # A label that must be there with whatever value gets the one that would be chosen for it.
            open_to = wanted.values if not wanted.complement else filter(None, (wanted.any_value(),))
            return tuple(sorted(open_to))
        return tuple(value for value in sorted(offered) if wanted is None or wanted.admits(value))

    def _offered(self, key: str) -> frozenset[str] | None:
        """The values of a label that the types and slots of this state can give it; None where they give it none."""
        found: set[str] = set()
        speaks = False
        for position, slot in enumerate(self.index.slots):
            if self.slots >> position & 1:
                speaks |= _collect(slot.requirements.get(key), found)
        for number in self.reserved.numbers:
            speaks |= self._reserved_offer(self.index.reserved.slots[number], key, found)
        if not speaks:
            for requirement, types in self.index.label_groups(key):
                if types & (self.market | self.reserved.types):
                    speaks |= _collect(requirement, found)
        return frozenset(found) if speaks else None

    def _reserved_offer(self, slot: ReservedSlot, key: str, into: set[str]) -> bool:
        if key not in slot.naming:
            return _collect(slot.sample.get(key), into)
        known = self.index.well_known
        rows = [row.row.requirements for bit, some in slot.rows.items() if bit & self.reserved.types for row in some]
        offers = [_collect(one.get(key), into) for one in rows if self.labels.compatible(one, known)]
        return any(offers)


def _collect(requirement: Requirement | None, into: set[str]) -> bool:
    if requirement is None or requirement.complement:
        return False
    into |= requirement.values
    return True


class States:
    """The states of one pool met so far."""

    __slots__ = ("_by_labels", "index")

    def __init__(self, index: PoolIndex) -> None:
        self.index = index
        self._by_labels: dict[Requirements, State | None] = {}

    def __len__(self) -> int:
        return len(self._by_labels)

    @property
    def start(self) -> State | None:
        """A claim with no pods; None where the pool's own template rules everything out."""
        return self.of(self.index.template)

    def of(self, labels: Requirements) -> State | None:
        """The state with these labels, None where no type can be had with them."""
        if labels not in self._by_labels:
            self._by_labels[labels] = self._made(labels)
        return self._by_labels[labels]

    def _made(self, labels: Requirements) -> State | None:
        index = self.index
        types = index.types_admitting(labels)
        # A slot that only types out of question are sold in would widen the domains a spread looks at.
        slots = index.delivering(index.slots_admitting(labels), types)
        reserved = index.reserved.suiting(labels, types, index.well_known)
        market = types & index.deliverable(slots)
        return State(self, labels, slots, market, reserved) if market or reserved.types else None
