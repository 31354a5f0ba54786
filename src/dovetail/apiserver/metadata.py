"""The part all objects share: names, stamps, generations, and what of them never changes."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from dovetail.apiserver import errors
from dovetail.apiserver.errors import Cause
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.selectors import is_label_key, is_label_value

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_RFC1035: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_GENERATED: Final = "bcdfghjklmnpqrstvwxz2456789"
_MAX_ANNOTATIONS: Final = 256 * 1024

_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_RFC1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_KEY_RULE: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
#: Kinds whose names become DNS labels.
_LABEL_NAMED: Final = {"namespaces"}
#: Kinds whose names may hold anything a path may: `system:node` is a role.
_PATH_NAMED: Final = {"clusterroles", "clusterrolebindings", "roles", "rolebindings"}
#: What the server alone decides.
_OWNED: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation")


def stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def fill_name(metadata: dict[str, Any]) -> None:
    """Make a name of `generateName`, as the real server does: cut to leave room for five characters."""
    if not metadata.get("name") and metadata.get("generateName"):
        base = str(metadata["generateName"])[:58]
        metadata["name"] = base + "".join(secrets.choice(_GENERATED) for _ in range(5))


def birth(resource: Resource, metadata: dict[str, Any], now: datetime) -> None:
    """What every new object is given; what a client says of it does not count."""
    for name in (*_OWNED, "resourceVersion", "selfLink"):
        metadata.pop(name, None)
    metadata["uid"] = str(uuid.uuid4())
    metadata["creationTimestamp"] = stamp(now)
    if resource.generation:
        metadata["generation"] = 1


def carry_over(new: dict[str, Any], old: dict[str, Any]) -> None:
    """What the server alone decides stays as it was."""
    for name in (*_OWNED, "generateName"):
        if name in old:
            new[name] = old[name]
        else:
            new.pop(name, None)
    new.pop("selfLink", None)
    new["resourceVersion"] = old["resourceVersion"]


def count_generation(resource: Resource, new: dict[str, Any], old: dict[str, Any]) -> None:
    """The generation goes up when anything but metadata and status changes."""
    if not resource.generation:
        return
    apart = {"metadata", "apiVersion", "kind"}
    if resource.has_status:
        apart.add("status")
    if any(new.get(name) != old.get(name) for name in {*new, *old} - apart):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def check(resource: Resource, metadata: dict[str, Any]) -> Iterator[Cause]:
    """What is wrong with an object's metadata."""
    yield from _check_name(resource, metadata)
    if resource.kind.namespaced and not metadata.get("namespace"):
        yield errors.required("metadata.namespace")
    if not resource.kind.namespaced and metadata.get("namespace"):
        yield errors.field_forbidden("metadata.namespace", "not allowed on this type")
    yield from check_labels("metadata.labels", metadata.get("labels"))
    yield from _check_annotations(metadata.get("annotations"))
    yield from _check_owners(metadata.get("ownerReferences"))
    for name in metadata.get("finalizers") or ():
        if not is_label_key(name):
            yield errors.bad_value("metadata.finalizers", name, _KEY_RULE)


def check_change(new: dict[str, Any], old: dict[str, Any]) -> Iterator[Cause]:
    """What may not change in an object that is there."""
    if "deletionTimestamp" in old:
        added = [one for one in new.get("finalizers") or () if one not in (old.get("finalizers") or ())]
        if added:
            shown = ", ".join(f'"{one}"' for one in added)
            yield errors.field_forbidden(
                "metadata.finalizers",
                "no new finalizers can be added if the object is being deleted, found new finalizers "
                f"[]string{{{shown}}}",
            )


def _check_name(resource: Resource, metadata: dict[str, Any]) -> Iterator[Cause]:
    name = metadata.get("name")
    if not name:
        yield errors.required("metadata.name", "name or generateName is required")
        return
    yield from name_causes(resource.kind.plural if not resource.definition else "", name)


def name_causes(plural: str, name: str) -> Iterator[Cause]:
    if plural in _PATH_NAMED:
        if name in (".", "..") or "/" in name or "%" in name:
            yield errors.bad_value("metadata.name", name, "may not contain '/' or '%'")
    elif plural == "services":
        if not _RFC1035.fullmatch(name):
            yield errors.bad_value("metadata.name", name, _RFC1035_RULE)
    elif plural in _LABEL_NAMED:
        if not _LABEL.fullmatch(name):
            yield errors.bad_value("metadata.name", name, _LABEL_RULE)
    elif len(name) > 253:
        yield errors.bad_value("metadata.name", name, "must be no more than 253 characters")
    elif not _SUBDOMAIN.fullmatch(name):
        yield errors.bad_value("metadata.name", name, _SUBDOMAIN_RULE)


def label_name_cause(field: str, name: object) -> Cause | None:
    """What is wrong with a name that must be a DNS label: a container's, a volume's."""
    if not name:
        return errors.required(field)
    if not isinstance(name, str) or not _LABEL.fullmatch(name):
        return errors.bad_value(field, name, _LABEL_RULE)
    return None


def check_labels(field: str, labels: dict[str, Any] | None) -> Iterator[Cause]:
    for key, value in (labels or {}).items():
        if not is_label_key(key):
            yield errors.bad_value(field, key, _KEY_RULE)
        if not isinstance(value, str):
            yield errors.bad_value(field, value, "must be a string")
        elif len(value) > 63:
            yield Cause(
                field, "FieldValueInvalid", f"Invalid value: {errors.quoted(value)}: must be no more than 63 bytes"
            )
        elif not is_label_value(value):
            yield errors.bad_value(field, value, _VALUE_RULE)


def _check_annotations(annotations: dict[str, Any] | None) -> Iterator[Cause]:
    size = 0
    for key, value in (annotations or {}).items():
        if not is_label_key(key.lower()):
            yield errors.bad_value("metadata.annotations", key, _KEY_RULE)
        size += len(key) + len(str(value))
    if size > _MAX_ANNOTATIONS:
        yield Cause(
            "metadata.annotations", "FieldValueTooLong", f"Too long: may not be more than {_MAX_ANNOTATIONS} bytes"
        )


def _check_owners(owners: list[dict[str, Any]] | None) -> Iterator[Cause]:
    controllers = []
    for number, owner in enumerate(owners or ()):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                detail = {"apiVersion": "version must not be empty", "uid": "uid must not be empty"}.get(
                    name, f"{name} must not be empty"
                )
                yield errors.bad_value(f"metadata.ownerReferences[{number}].{name}", "", detail)
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind')}/{owner.get('name')}")
    if len(controllers) > 1:
        yield errors.bad_value(
            "metadata.ownerReferences",
            owners,
            'Only one reference can have Controller set to true. Found "true" in references for '
            f"{controllers[0]} and {controllers[1]}",
        )
