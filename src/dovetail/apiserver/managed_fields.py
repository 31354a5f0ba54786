"""Who owns which field: `metadata.managedFields`, and server-side apply, which rests on it.

Every write leaves its manager owning what it changed. A manager that *applies* says all it wants: what it wanted
before and no longer names is taken away, unless somebody else owns it too; what others own it may not change, unless
it says `force`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dovetail.apiserver import applying, errors, field_sets, shapes
from dovetail.apiserver.errors import Cause
from dovetail.apiserver.field_sets import Path, Paths
from dovetail.apiserver.metadata import stamp
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Object

_STATUS: Final = "f:status"
#: A client sends this to be rid of all records of ownership.
_RESET: Final[list[dict[str, Any]]] = [{}]


@dataclass(frozen=True, slots=True)
class Manager:
    """In whose name a write is made. One name may own through several doors: `applies` and `subresource`."""

    name: str
    subresource: str = ""
    applies: bool = False

    @property
    def operation(self) -> str:
        return "Apply" if self.applies else "Update"

    def matches(self, entry: dict[str, Any]) -> bool:
        return (
            entry.get("manager") == self.name
            and entry.get("operation") == self.operation
            and (entry.get("subresource") or "") == self.subresource
        )

    def entry(self, api_version: str, paths: Paths, time: str) -> dict[str, Any]:
        found = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": api_version,
            "time": time,
            "fieldsType": "FieldsV1",
            "fieldsV1": field_sets.wire(paths),
        }
        return found | ({"subresource": self.subresource} if self.subresource else {})


def track(resource: Resource, new: Object, old: Object | None, manager: Manager, now: datetime) -> None:
    """Note in the new object who owns what it changes."""
    entries = _entries(new, old)
    if manager.applies:
        _date_apply(new, old, manager, now)
        return
    difference = field_sets.between(old or {}, new, shapes.of(resource))
    if difference:
        mine = next((one for one in entries if manager.matches(one)), None)
        # A kind that is born with a status got it from the server; through this door nobody owns any of it.
        taken = _within(resource, difference.added | difference.changed | difference.maps, manager)
        owned = (field_sets.read(mine["fieldsV1"]) if mine else set()) | taken
        lost = taken | difference.removed
        entries = [one for one in (_without(one, lost) for one in entries if one is not mine) if one]
        owned -= difference.removed
        if owned:
            entries.append(manager.entry(resource.kind.api_version, owned, stamp(now)))
    _set_entries(new, entries)


def _entries(new: Object, old: Object | None) -> list[dict[str, Any]]:
    """The records so far. A client may send back what it read, or say what they should be, or wipe them."""
    sent = new["metadata"].get("managedFields")
    if sent == _RESET:
        return []
    return list(sent or ((old or {}).get("metadata") or {}).get("managedFields") or ())


def _set_entries(obj: Object, entries: list[dict[str, Any]]) -> None:
    if entries:
        obj["metadata"]["managedFields"] = entries
    else:
        obj["metadata"].pop("managedFields", None)


def _without(entry: dict[str, Any], lost: Paths) -> dict[str, Any] | None:
    """A record less some fields; None when nothing is left of it."""
    owned = field_sets.read(entry["fieldsV1"])
    left = owned - lost
    if len(left) == len(owned):
        return entry
    return {**entry, "fieldsV1": field_sets.wire(left)} if left else None


def _date_apply(new: Object, old: Object | None, manager: Manager, now: datetime) -> None:
    """An apply that changes nothing leaves its time alone, so that the object stays the same."""
    before = [one for one in ((old or {}).get("metadata") or {}).get("managedFields") or () if manager.matches(one)]
    for entry in new["metadata"].get("managedFields") or ():
        if manager.matches(entry):
            same = bool(before) and before[0].get("fieldsV1") == entry["fieldsV1"]
            entry["time"] = before[0].get("time") if same else stamp(now)


def applied(
    resource: Resource, wanted: Object, old: Object | None, manager: Manager, *, force: bool
) -> tuple[Object, list[dict[str, Any]]]:
    """The object after an apply, and the records of ownership that go with it."""
    if wanted["metadata"].get("managedFields"):
        raise errors.bad_request("metadata.managedFields must be nil")
    shape = shapes.of(resource)
    live = old or {}
    wanted = _own_part(resource, wanted, live, manager)
    entries = list((live.get("metadata") or {}).get("managedFields") or ())
    mine = next((one for one in entries if manager.matches(one)), None)
    others = [one for one in entries if one is not mine]
    owned = _within(resource, field_sets.of(wanted, shape), manager)
    found = applying.merged(live, wanted, shape)
    if mine is not None:
        dropped = field_sets.read(mine["fieldsV1"]) - owned
        kept = set().union(*(field_sets.read(one["fieldsV1"]) for one in others)) if others else set()
        found = applying.without(found, _unclaimed(dropped, kept | owned), shape)
    difference = field_sets.between(live, found, shape)
    taken = difference.added | difference.changed
    _refuse_conflicts(others, taken, force=force)
    left = [one for one in (_without(one, taken | difference.removed) for one in others) if one]
    if owned:
        left.append(manager.entry(resource.kind.api_version, owned, ""))
    return found, left


def _own_part(resource: Resource, wanted: Object, live: Object, manager: Manager) -> Object:
    """Of what is applied, what this door lets through: the status, or everything but it."""
    if manager.subresource == "status":
        named: Object = {name: wanted[name] for name in ("apiVersion", "kind", "metadata", "status") if name in wanted}
        kept = {"name", "namespace", "uid", "resourceVersion"}
        named["metadata"] = {name: value for name, value in wanted["metadata"].items() if name in kept}
        return named
    if resource.has_status:
        return {name: value for name, value in wanted.items() if name != "status"}
    return wanted


def _within(resource: Resource, paths: Paths, manager: Manager) -> Paths:
    if manager.subresource == "status":
        return {path for path in paths if path[0] == _STATUS}
    return {path for path in paths if path[0] != _STATUS} if resource.has_status else paths


def _unclaimed(dropped: Paths, claimed: Paths) -> Paths:
    """Fields that nobody wants any more, nor anything below them."""
    above = {path[:length] for path in claimed for length in range(1, len(path) + 1)}
    return {path for path in dropped if path not in above}


def _refuse_conflicts(others: list[dict[str, Any]], taken: Paths, *, force: bool) -> None:
    if force:
        return
    found: list[tuple[str, Path]] = []
    for entry in others:
        clash = sorted(field_sets.read(entry["fieldsV1"]) & taken, key=field_sets.text)
        found += [(_shown(entry), path) for path in clash]
    if not found:
        return
    causes = [
        Cause(field_sets.text(path), "FieldManagerConflict", f"conflict with {manager}") for manager, path in found
    ]
    raise errors.apply_conflict(causes, _message(found))


def _shown(entry: dict[str, Any]) -> str:
    name = f'"{entry.get("manager", "")}"'
    if entry.get("subresource"):
        name += f' with subresource "{entry["subresource"]}"'
    return f"{name} using {entry.get('apiVersion', '')}" if entry.get("operation") == "Update" else name


def _message(found: list[tuple[str, Path]]) -> str:
    if len(found) == 1:
        manager, path = found[0]
        return f"Apply failed with 1 conflict: conflict with {manager}: {field_sets.text(path)}"
    parts = []
    for manager in sorted({manager for manager, _ in found}):
        lines = "\n".join(f"- {field_sets.text(path)}" for one, path in found if one == manager)
        parts.append(f"conflicts with {manager}:\n{lines}")
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(parts)
