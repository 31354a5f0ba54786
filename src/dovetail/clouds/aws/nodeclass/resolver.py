"""Node classes resolved: all parts looked at, judged together, and kept for whoever launches.

One look at a class asks AWS for its parts side by side, reads what can be judged by reading, tries what only AWS can
judge, and gives one report. Trouble with one part costs that part; trouble with one class costs no other. What could
not be looked at this time stays as it was found before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dovetail.clouds.aws import class_hash
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.class_sample import Sample
from dovetail.clouds.aws.class_terms import ClassTerms, terms_of
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.errors import unavailable
from dovetail.clouds.aws.intervals import Intervals
from dovetail.clouds.aws.launching import PROFILE as PROFILE_NOTE
from dovetail.clouds.aws.nodeclass import (
    amis,
    booting,
    hashing,
    kubelet_rules,
    places,
    reservations,
    statuses,
    validation,
    verdicts,
)
from dovetail.clouds.aws.nodeclass import spec as specs
from dovetail.clouds.aws.nodeclass.home import Surroundings
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.aws.nodeclass.parts import Parts, early_of, networked, resolved_of, status_of
from dovetail.clouds.aws.nodeclass.profiles import Owner, Profiles
from dovetail.clouds.aws.nodeclass.rights import Rights
from dovetail.clouds.aws.nodeclass.spec import ClassSpec
from dovetail.clouds.aws.nodeclass.trials import Trial, Trials
from dovetail.clouds.aws.nodeclass.verdicts import Look, Verdict
from dovetail.clouds.aws.reservation_counts import Counts
from dovetail.clouds.aws.resolved import ResolvedClass, no_user_data
from dovetail.clouds.aws.templates import Templates
from dovetail.clouds.port import ClassReport, CloudError, Misconfigured, NoClass
from dovetail.core.conditions import Conditions, Moment, Status
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef

VALIDATED_SECONDS: Final = 600.0
#: When AWS was busy, or something was just made and is not known everywhere.
SOON: Final = 10.0
#: Words for the `Launched` condition of a claim whose class cannot be judged.
UNKNOWN: Final = "NodeClassReadinessUnknown"
NO_SUBNETS: Final = "SubnetResolutionFailed"
Wire = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kit:
    """What a resolver works with. `probes` off leaves out the dry runs (`disable-dry-run`); `read_only` makes nothing,
    for a controller that only shows what it would do. `isolated`: IAM may be out of reach, and only classes that name a
    role need it. `reserved` off: reservations are nobody's business here, and machines run in open ones as EC2
    likes. `name_server` says the cluster's at any time, "" for none."""

    aws: Aws
    templates: Templates
    home: Home
    kubernetes: Callable[[], str]
    counts: Counts
    now: Callable[[], float]
    probes: bool = True
    read_only: bool = False
    isolated: bool = False
    reserved: bool = True
    name_server: Callable[[], str] = str
    #: What of the catalogue is stale, and what else is not from AWS itself.
    standing: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]] = lambda: ((), ())
    intervals: Intervals = field(default_factory=Intervals)
    #: What a class can launch, to try its rights with; None where nobody knows.
    sample: Callable[[ClassTerms], Sample | None] = lambda terms: None
    #: Whether kubelet blocks may have expressions, and why those of a class cannot be worked out, "" if they can.
    formulas: bool = False
    unworkable: Callable[[ClassTerms, KubeletSettings], str] = lambda terms, kubelet: ""


@dataclass(frozen=True, slots=True)
class Held:
    """A class as it was last looked at. `no_subnets` is why EC2 did not tell its subnets, "" where it did."""

    generation: int
    spec: ClassSpec | None
    resolved: ResolvedClass | None
    conditions: Conditions
    profile: str = ""
    reservations: tuple[reservations.Seen, ...] = ()
    user_data_bytes: int | None = None
    no_subnets: str = ""


class Resolver:
    """`clouds.port.NodeClasses` for EC2NodeClass. `generation` changes whenever a class becomes another one to the
    market: its spec, its zones, images, reservations, or whether it can be launched with (S0.5)."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._memory = Memory(kit.aws, kit.now, kit.intervals)
        self._surroundings = Surroundings(kit.home, kit.kubernetes, self._memory, kit.name_server)
        self._profiles = Profiles(kit.aws, kit.home.name, kit.now)
        self._trials = Trials(kit.aws, kit.templates, kit.now)
        self._rights = Rights(kit.aws, kit.home.name, kit.now)
        self._held: dict[str, Held] = {}
        self._current: dict[str, tuple[int, bool]] = {}
        self.generation = 0

    # ---- for those who launch and sell

    def resolved(self, ref: NodeClassRef) -> ResolvedClass:
        """The class to launch with. Raises Misconfigured for one that is not ready, Unavailable for one that is not
        looked at yet or could not be, NoClass for one that is not there."""
        held, (generation, leaving) = self._held.get(ref.name), self._current.get(ref.name, (0, False))
        if leaving or (held is None and not generation):
            raise NoClass(f"there is no EC2NodeClass {ref.name}, or it is being deleted")
        if held is None or (generation and held.generation != generation):
            raise unavailable(f"EC2NodeClass {ref.name} is new, or was changed, and is being looked at", UNKNOWN)
        if held.resolved is not None:
            return held.resolved
        wrong = [one for one in held.conditions if one.status is Status.FALSE and one.type in _DEPENDENTS]
        if wrong:
            told = "; ".join(f"{one.type}: {one.message}" for one in wrong)
            raise Misconfigured(f"EC2NodeClass {ref.name} is not ready: {told}")
        if held.no_subnets:
            raise unavailable(f"the subnets of EC2NodeClass {ref.name} are not known: {held.no_subnets}", NO_SUBNETS)
        raise unavailable(f"EC2NodeClass {ref.name} is still being looked at", UNKNOWN)

    def spec(self, ref: NodeClassRef) -> ClassSpec | None:
        """What the class says, read; None where it cannot be read or is not known."""
        held = self._held.get(ref.name)
        return None if held is None else held.spec

    def selected_reservations(self, ref: NodeClassRef) -> tuple[reservations.Seen, ...]:
        """The reservations a class selects, with what EC2 said of their counts; `Counts` knows better how many are
        left by now."""
        held = self._held.get(ref.name)
        return () if held is None else held.reservations

    def user_data_sizes(self) -> list[tuple[str, int]]:
        """In bytes, of each class whose user data can be written at all."""
        sizes = ((name, held.user_data_bytes) for name, held in sorted(self._held.items()))
        return [(name, size) for name, size in sizes if size is not None]

    def note(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        """A class as the API server has it now, None when it is gone (`Cloud.set_node_class`): what was found for an
        older version of it is not launched with."""
        if wire is None:
            self._current.pop(ref.name, None)
            self.forget(ref)
        else:
            self._current[ref.name] = (statuses.generation(wire), statuses.is_leaving(wire))

    def forget(self, ref: NodeClassRef) -> None:
        """The class is gone."""
        if self._held.pop(ref.name, None) is not None:
            self.generation += 1
            self._count(())

    # ---- clouds.port.NodeClasses

    async def resolve(self, ref: NodeClassRef, wire: Mapping[str, object], claims: Sequence[NodeClaim]) -> ClassReport:
        try:
            spec = specs.read(wire)
            class_hash.class_hash(_spec_of(wire))
        except BadInput as bad:
            return self._unreadable(ref, wire, bad)
        parts = await self._looked(spec, Owner(ref.name, statuses.uid(wire), statuses.profile_in(wire)))
        home, judged, again = await self._validated(ref, spec, parts)
        found = networked(parts)
        number = "" if home is None else class_hash.class_hash(_spec_of(wire), home.authority)
        conditions = self._conditions(wire, (*found, judged, verdicts.fresh(*self._kit.standing())))
        resolved = None if home is None else self._resolved(ref, spec, parts, home, number)
        held = Held(statuses.generation(wire), spec, resolved, conditions, statuses.profile_in(wire))
        size = None if home is None else validation.size(spec, home)
        unseen = "" if parts.subnets.value is not None else str(parts.subnets.problem)
        self._put(ref, self._settled(ref, parts, replace(held, user_data_bytes=size, no_subnets=unseen)))
        return ClassReport(
            status=status_of(parts),
            conditions=conditions,
            annotations=hashing.notes(number) if number else {},
            claims=hashing.migrated(claims, number) if number else {},
            again=min(again, *(SOON if one.is_doubtful else one.again for one in parts.all)),
            problems=tuple(one.problem for one in parts.all if one.problem is not None),
        )

    async def release(self, ref: NodeClassRef, wire: Mapping[str, object]) -> None:
        if self._kit.read_only:
            return
        try:
            await self._profiles.remove(Owner(ref.name, statuses.uid(wire), statuses.profile_in(wire)))
        except CloudError:
            if not self._kit.isolated or _spec_of(wire).get("role"):
                raise  # else it may never have had one, and IAM may never answer
        await self._kit.templates.remove_class(ref.name)
        self.forget(ref)

    async def sweep(self, claims: Iterable[NodeClaim]) -> None:
        """Whoever calls this has looked at every class there is: profiles of the others go."""
        if self._kit.read_only or self._kit.isolated:
            return
        used = {claim.meta.annotations.get(PROFILE_NOTE, "") for claim in claims}
        await self._profiles.sweep(used | {one.profile for one in self._held.values()})

    # ---- looking

    async def _looked(self, spec: ClassSpec, owner: Owner) -> Parts:
        memory = self._memory
        return Parts(
            *await asyncio.gather(
                amis.look(memory, spec, self._surroundings.version),
                reservations.look(memory, spec.reservations),
                places.placement(memory, spec.placement),
                places.subnets(memory, spec.subnets),
                places.groups(memory, spec.groups),
                self._profile(spec, owner),
            )
        )

    async def _profile(self, spec: ClassSpec, owner: Owner) -> Look[str]:
        if spec.profile:
            return Look(verdicts.good(verdicts.PROFILE), spec.profile)
        if self._kit.read_only:
            told = "" if owner.current else "nothing is made in a dry run: the profile is missing"
            return Look(verdicts.good(verdicts.PROFILE, told), owner.current or "dry-run")
        try:
            name = await self._profiles.ensure(owner, spec.role, spec.tags)
        except CloudError as error:
            return Look(verdicts.failed(verdicts.PROFILE, error), None, places.AGAIN, error)
        return Look(verdicts.good(verdicts.PROFILE), name)

    # ---- judging

    async def _validated(self, ref: NodeClassRef, spec: ClassSpec, parts: Parts) -> tuple[Home | None, Verdict, float]:
        """The cluster, if it is known, what is to be said of the class as a whole, and when to look again."""
        try:
            home = await self._surroundings.home(needs_cidr=spec.family == "AL2023")
        except CloudError as error:
            return None, validation.no_home(error), SOON
        wrong = validation.read(spec, home, formulas=self._kit.formulas)
        if wrong is not None:
            return home, wrong, VALIDATED_SECONDS
        waiting = validation.dependencies(networked(parts))
        if waiting is not None:
            return home, await self._waiting(ref, spec, parts, waiting), VALIDATED_SECONDS if waiting.is_bad else SOON
        resolved = self._resolved(ref, spec, parts, home)
        if resolved is None:
            return home, validation.passed(spec, home), VALIDATED_SECONDS
        terms = terms_of(resolved, spec.family, spec.ephemeral_bytes, spec.raid0)
        told = self._kit.unworkable(terms, kubelet_rules.settings(spec.kubelet))
        if told:
            return home, validation.unworkable(told), VALIDATED_SECONDS
        if not self._kit.probes or self._kit.read_only:
            return home, validation.passed(spec, home), VALIDATED_SECONDS
        sample = None if spec.is_windows else self._kit.sample(terms)
        trial = Trial(resolved, booting.sample(spec, home), self._surroundings.name, bool(spec.profile), sample)
        found = await self._trials.problem(trial)
        if found is None:
            return home, validation.passed(spec, home), VALIDATED_SECONDS
        return home, found, VALIDATED_SECONDS if found.is_bad else SOON

    def _resolved(
        self, ref: NodeClassRef, spec: ClassSpec, parts: Parts, home: Home, number: str = ""
    ) -> ResolvedClass | None:
        found = resolved_of(ref, spec, parts, home, number)
        return found if found is None or self._kit.reserved else replace(found, opts_out=False)

    async def _waiting(self, ref: NodeClassRef, spec: ClassSpec, parts: Parts, waiting: Verdict) -> Verdict:
        """What is said of a class that is not whole: also which rights it will lack when it is."""
        if not waiting.is_bad or not self._kit.probes or self._kit.read_only:
            return waiting
        denied = await self._rights.denied(early_of(ref, spec, parts))
        if denied is None:
            return waiting
        return verdicts.bad(verdicts.VALIDATED, denied.reason, f"{denied.message}; {waiting.message}")

    def _conditions(self, wire: Wire, found: Iterable[Verdict]) -> Conditions:
        at = Moment(self._kit.now(), statuses.generation(wire))
        return verdicts.judged(statuses.conditions_in(wire), found, statuses.created(wire), at)

    def _unreadable(self, ref: NodeClassRef, wire: Wire, bad: BadInput) -> ClassReport:
        told = verdicts.bad(verdicts.VALIDATED, "InvalidSpec", str(bad))
        conditions = self._conditions(wire, (told,))
        profile = statuses.profile_in(wire)
        self._put(ref, Held(statuses.generation(wire), None, None, conditions, profile))
        return ClassReport({}, conditions, {}, {}, VALIDATED_SECONDS)

    # ---- keeping

    def _settled(self, ref: NodeClassRef, parts: Parts, found: Held) -> Held:
        """What could not be looked at this time is what it was before; launched with is only what is ready."""
        before = self._held.get(ref.name)
        resolved, seen, profile = found.resolved, parts.reservations.value, parts.profile.value
        if before is not None:
            resolved = before.resolved if resolved is None and before.generation == found.generation else resolved
            seen = before.reservations if seen is None else seen
            profile = profile or before.profile
        ready = any(one.type == _ROOT and one.status is Status.TRUE for one in found.conditions)
        return replace(
            found, resolved=resolved if ready else None, profile=profile or found.profile, reservations=seen or ()
        )

    def _put(self, ref: NodeClassRef, held: Held) -> None:
        before = self._held.get(ref.name)
        if before is None or _essence(before) != _essence(held):
            self.generation += 1
        self._held[ref.name] = held
        self._count(held.reservations)

    def _count(self, seen: Iterable[reservations.Seen]) -> None:
        """Tell the counts what EC2 said, and drop those no class selects any more."""
        for one in seen:
            self._kit.counts.saw([(one.held.id, one.available)], one.asked)
        selected = {one.held.id for held in self._held.values() for one in held.reservations}
        self._kit.counts.keep(selected)


_ROOT: Final = verdicts.CLASS_CONDITIONS.root
_DEPENDENTS: Final = frozenset(verdicts.CLASS_CONDITIONS.dependents)


def _spec_of(wire: Wire) -> Wire:
    found = wire.get("spec")
    return found if isinstance(found, Mapping) else {}


def _essence(held: Held) -> tuple[object, ...]:
    """What of a class makes a difference to what can be bought. How many addresses are free does not."""
    one = held.resolved
    if one is None:
        return (held.spec, None)
    subnets = frozenset((subnet.id, subnet.zone, subnet.zone_id) for subnet in one.subnets)
    return (held.spec, subnets, replace(one, user_data=no_user_data, subnets=()))
