"""Instance profiles: how a machine comes by its role. A class that names a role has one made and kept for it.

A profile is named after the class and the role, so whoever makes it again makes the same one, also after dying
half-way. Another role is another profile: machines that run keep the one they were bought with, until none names it
any more. One that a peer made for the class, and that has the role, is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.errors import code_of
from dovetail.clouds.port import CloudError, Misconfigured, NotFound

KNOWN_SECONDS: Final = 900.0
NO_ROLE_SECONDS: Final = 60.0
#: A machine may be on its way with a profile that no object names yet.
PROTECTED_SECONDS: Final = 3600.0
_EXISTS: Final = "EntityAlreadyExists"
Wire = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The class a profile is for. `current` is the one its status names."""

    name: str
    uid: str
    current: str = ""


class Profiles:
    """The profiles of this cluster's classes in this region."""

    def __init__(self, aws: Aws, cluster: str, now: Callable[[], float]) -> None:
        self._aws, self._cluster, self._now = aws, cluster, now
        self._known: dict[tuple[str, str], tuple[float, str]] = {}
        self._no_role: dict[str, tuple[float, Misconfigured]] = {}
        self._protected: dict[str, float] = {}

    async def ensure(self, owner: Owner, role: str, wanted: Mapping[str, str]) -> str:
        """The name of a profile that has the role, made if there is none. Raises Misconfigured for a role that is not
        there, without trying to make a profile for it again and again."""
        role = role.rpartition("/")[2]
        at, name = self._known.get((owner.uid, role), (0.0, ""))
        if name and 0 <= self._now() - at < KNOWN_SECONDS:
            return name
        since, absent = self._no_role.get(role, (0.0, None))
        if absent is not None and 0 <= self._now() - since < NO_ROLE_SECONDS:
            raise absent.with_traceback(None)
        name = await self._kept(owner, role) or await self._made(owner, role, wanted)
        self._known[owner.uid, role] = (self._now(), name)
        for one in (name, owner.current):
            self._protected[one] = self._now()
        return name

    async def _kept(self, owner: Owner, role: str) -> str:
        """The one the class has, if it is ours and has the role."""
        wire = await self._get(owner.current) if owner.current else None
        ours = wire is not None and str(wire.get("Path", "")).startswith(await self._path(owner.uid))
        return owner.current if ours and wire is not None and role in _roles(wire) else ""

    async def _made(self, owner: Owner, role: str, wanted: Mapping[str, str]) -> str:
        name = await self._name(owner, role)
        created = await self._created(name, owner, wanted)
        held = () if created else _roles(await self._get(name) or {})
        if role in held:
            return name
        try:
            for other in held:
                await self._aws.ask(calls.REMOVE_ROLE, InstanceProfileName=name, RoleName=other)
            await self._aws.ask(calls.ADD_ROLE, InstanceProfileName=name, RoleName=role)
        except CloudError as failed:
            if created or not held:
                with contextlib.suppress(CloudError):
                    await self._delete(name, ())
            if isinstance(failed, NotFound) and "role" in str(failed.__cause__).lower():
                raise self._without_role(owner, role) from failed
            raise
        return name

    def _without_role(self, owner: Owner, role: str) -> Misconfigured:
        error = Misconfigured(f"there is no IAM role {role}, which spec.role names; create it, or name another")
        error.reason = "RoleNotFound"
        self._no_role[role] = (self._now(), error)
        return error

    async def _created(self, name: str, owner: Owner, wanted: Mapping[str, str]) -> bool:
        """Whether it was made just now; False if it is there already."""
        region = await self._aws.region()
        told = {**wanted, **tags.of_cluster(self._cluster), tags.NODE_CLASS: owner.name}
        told["topology.kubernetes.io/region"] = region
        try:
            await self._aws.ask(
                calls.CREATE_PROFILE,
                InstanceProfileName=name,
                Path=await self._path(owner.uid),
                Tags=tags.on_wire(told),
            )
        except CloudError as failed:
            if code_of(failed) != _EXISTS:
                raise
            return False
        return True

    async def _get(self, name: str) -> Wire | None:
        try:
            answer = await self._aws.ask(calls.GET_PROFILE, InstanceProfileName=name)
        except NotFound:
            return None
        found: Wire = answer["InstanceProfile"]
        return found

    async def _name(self, owner: Owner, role: str) -> str:
        text = "\n".join((await self._aws.region(), owner.name, owner.uid, role))
        return f"{self._cluster}_{int(hashlib.sha256(text.encode()).hexdigest()[:16], 16)}"

    async def _path(self, uid: str = "") -> str:
        below = f"/karpenter/{await self._aws.region()}/{self._cluster}/"
        return f"{below}{uid}/" if uid else below

    # ---- going

    async def remove(self, owner: Owner) -> int:
        """Delete all that were made for a class, which is going. How many there were."""
        wires = list(await self._aws.all(calls.LIST_PROFILES, PathPrefix=await self._path(owner.uid)))
        legacy = await self._get(owner.current) if owner.current else None
        if legacy is not None and self._is_for(legacy, owner.name):
            wires.append(legacy)
        for one in {str(wire["InstanceProfileName"]): wire for wire in wires}.values():
            await self._delete(one["InstanceProfileName"], _roles(one))
        self._known = {key: value for key, value in self._known.items() if key[0] != owner.uid}
        return len(wires)

    def _is_for(self, wire: Wire, class_name: str) -> bool:
        """Whether one that lies elsewhere was made for the class: older peers had no paths, and tagged theirs."""
        told = tags.read(wire.get("Tags"))
        mine = tags.of_cluster(self._cluster).items() <= told.items()
        return mine and told.get(tags.NODE_CLASS) == class_name

    async def sweep(self, in_use: Iterable[str]) -> int:
        """Delete those that neither a class nor a claim names. How many went."""
        oldest = self._now() - PROTECTED_SECONDS
        self._protected = {name: at for name, at in self._protected.items() if at > oldest}
        kept = {*in_use, *self._protected}
        wires = await self._aws.all(calls.LIST_PROFILES, PathPrefix=await self._path())
        unused = [one for one in wires if one["InstanceProfileName"] not in kept]
        for one in unused:
            await self._delete(one["InstanceProfileName"], _roles(one))
        return len(unused)

    async def _delete(self, name: str, roles: Iterable[str]) -> None:
        try:
            for role in roles:
                await self._aws.ask(calls.REMOVE_ROLE, InstanceProfileName=name, RoleName=role)
            await self._aws.ask(calls.DELETE_PROFILE, InstanceProfileName=name)
        except NotFound:
            return


def _roles(wire: Wire) -> tuple[str, ...]:
    return tuple(str(one["RoleName"]) for one in wire.get("Roles") or ())
