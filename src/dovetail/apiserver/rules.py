"""What happens to an object between a request and the storage: which parts of it count, defaults, and rules.

Built-in kinds have their defaults and rules in tables by kind; a custom kind's come from its definition's schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dovetail.api import kinds
from dovetail.apiserver import builtin_types, checks, cleaning, defaults, errors, metadata
from dovetail.apiserver.resources import Resource
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import FieldValidation, Write

if TYPE_CHECKING:
    from dovetail.apiserver.objects import Objects

#: Kinds that may be born with a status: whoever registers a node knows its state.
_BORN_WITH_STATUS: Final = (kinds.NODES,)
#: More than this many unknown fields are not listed; the real server's limit.
_MAX_UNKNOWN: Final = 10


def narrow(resource: Resource, new: Object, old: Object, subresource: str) -> Object:
    """Of a replacement, what it may touch: the main part or one subresource; the rest stays as it was."""
    if subresource == "status":
        return _status_only(resource, new, old)
    if subresource == "finalize":
        kept = {**old, "metadata": new["metadata"]}
        finalizers = (new.get("spec") or {}).get("finalizers")
        return kept | {"spec": {**(old.get("spec") or {}), "finalizers": finalizers or []}}
    if resource.has_status:
        _keep(new, old, "status")
    return new


def _status_only(resource: Resource, new: Object, old: Object) -> Object:
    kept = dict(old)
    _keep(kept, new, "status")
    if resource.definition:
        owners = new["metadata"].get("managedFields")
        kept["metadata"] = {**old["metadata"], **({"managedFields": owners} if owners else {})}
    else:
        kept["metadata"] = new["metadata"]
        _keep(kept["metadata"], old["metadata"], "ownerReferences")
    return kept


def _keep(new: dict[str, Any], old: dict[str, Any], name: str) -> None:
    if name in old:
        new[name] = old[name]
    else:
        new.pop(name, None)


def prepare(objects: Objects, resource: Resource, new: Object, old: Object | None, write: Write) -> None:
    """Fields nobody defined, types, and defaults."""
    if resource.definition is not None:
        if old is None and resource.has_status:
            new.pop("status", None)
        schema = resource.definition.schema
        _clean(resource, new["metadata"], "meta.ObjectMeta", write)
        _tell_unknown(resource, schema.prune(new), write)
        schema.default(new)
        return
    message = builtin_types.message_of(resource.kind)
    if message is None:
        _clean(resource, new["metadata"], "meta.ObjectMeta", write)
    else:
        _clean(resource, new, message.name, write)
    if old is None and resource.has_status and resource.kind not in _BORN_WITH_STATUS:
        new.pop("status", None)
    defaults.fill(objects, resource.kind, new, old)


def check(resource: Resource, new: Object, old: Object | None, subresource: str = "") -> None:
    """Refuse an object that breaks a rule, naming every field that does."""
    causes = list(metadata.check(resource, new["metadata"]))
    if old is not None:
        causes += metadata.check_change(new["metadata"], old["metadata"])
    if resource.definition is not None:
        before = old if old is not None else None
        causes += (
            errors.Cause(one.field, one.reason, one.message) for one in resource.definition.schema.validate(new, before)
        )
    else:
        causes += checks.causes(resource.kind, new, old, subresource)
    if causes:
        raise errors.invalid(resource.kind, new["metadata"].get("name") or "", causes)


def _clean(resource: Resource, value: dict[str, Any], name: str, write: Write) -> None:
    """Make an object, or its metadata, what its type says."""
    message = builtin_types.message(name)
    if message is None:
        return
    within = "metadata" if name == "meta.ObjectMeta" else ""
    try:
        unknown = cleaning.clean(value, message, within)
    except cleaning.WrongType as problem:
        raise undecodable(resource, str(problem)) from None
    _tell_unknown(resource, unknown, write)


def _tell_unknown(resource: Resource, unknown: list[str], write: Write) -> None:
    if not unknown or write.validation is FieldValidation.IGNORE:
        return
    told = [f'unknown field "{path}"' for path in unknown[:_MAX_UNKNOWN]]
    if write.validation is FieldValidation.WARN:
        for one in told:
            write.warn(one)
        return
    raise undecodable(resource, f"strict decoding error: {', '.join(told)}")


def undecodable(resource: Resource, why: str) -> errors.ApiError:
    kind = resource.kind
    return errors.bad_request(f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: {why}')
