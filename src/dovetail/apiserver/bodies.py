"""What clients send: bodies of a bounded size, in JSON or YAML, and options in the query or in a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from dovetail.apiserver import errors, protobuf
from dovetail.apiserver.storage import decode
from dovetail.apiserver.writes import (
    ApplyPatch,
    Deletion,
    FieldValidation,
    JsonPatch,
    MergePatch,
    Patch,
    Propagation,
    StrategicPatch,
    Write,
)
from dovetail.core.errors import BadInput

#: The real server's limit for one request.
MAX_BYTES: Final = 3 * 1024 * 1024
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_MAX_MANAGER: Final = 128


async def read(request: web.BaseRequest) -> bytes:
    """The whole body, unless it is too large."""
    found = bytearray()
    async for piece in request.content.iter_any():
        found += piece
        if len(found) > MAX_BYTES:
            raise errors.too_large(MAX_BYTES)
    return bytes(found)


def parsed(body: bytes, media: str) -> Any:
    """A body's value: JSON, or YAML where the client says so."""
    if media == protobuf.MEDIA:
        return protobuf.decode(body)
    try:
        if "yaml" in media and not body.lstrip().startswith(b"{"):
            return _yaml(body.decode())
        return decode(body)
    except msgspec.DecodeError as problem:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {problem}") from None
    except (RecursionError, UnicodeDecodeError):
        raise errors.bad_request(
            "couldn't get version/kind; json parse error: it is nested too deep or no text"
        ) from None


def _yaml(text: str) -> Any:
    # YAML takes a while to load, and most clients never send any.
    from dovetail.api import yaml_documents

    documents = list(yaml_documents.read(text, "body"))
    if len(documents) != 1 or isinstance(documents[0], BadInput):
        raise errors.bad_request(f"error decoding YAML: {documents[0] if documents else 'no document'}")
    return documents[0].value


async def mapping(request: web.BaseRequest) -> dict[str, Any]:
    """A body that must be an object."""
    found = parsed(await read(request), request.content_type)
    if not isinstance(found, dict):
        raise errors.bad_request("couldn't get version/kind; json parse error: the body is not an object")
    return found


async def patch(request: web.BaseRequest) -> Patch:
    body = parsed(await read(request), request.content_type)
    media = request.content_type
    if media == "application/json-patch+json":
        if not isinstance(body, list) or not all(isinstance(one, dict) for one in body):
            raise errors.bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
        return JsonPatch(body)
    if not isinstance(body, dict):
        raise errors.bad_request("json: cannot unmarshal the patch into an object")
    match media:
        case "application/merge-patch+json":
            return MergePatch(body)
        case "application/strategic-merge-patch+json":
            return StrategicPatch(body)
        case "application/apply-patch+yaml":
            return ApplyPatch(body, flag(request.query, "force"))
    raise errors.unsupported_media(_PATCHES)


def flag(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "").lower() in ("true", "1", "t")


def number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name, "") or "0"
    if not text.lstrip("-").isdigit() or len(text) > 18:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def write(request: web.BaseRequest, warn: Callable[[str], None]) -> Write:
    """How a change is to be made, of what the query says."""
    query = request.query
    manager = query.get("fieldManager") or request.headers.get("User-Agent", "unknown").partition("/")[0]
    if len(manager) > _MAX_MANAGER:
        raise errors.bad_request(f"fieldManager: may not be longer than {_MAX_MANAGER}")
    chosen = query.get("fieldValidation") or "Warn"
    if chosen not in FieldValidation._value2member_map_:
        raise errors.bad_request(f"fieldValidation: Unsupported value: {chosen!r}")
    return Write(manager, dry_run(query.getall("dryRun", [])), FieldValidation(chosen), warn)


def dry_run(values: list[str]) -> bool:
    if any(value not in ("All", "") for value in values):
        raise errors.bad_request(f'dryRun: Unsupported value: "{values[0]}": supported values: "All"')
    return "All" in values


async def deletion(request: web.BaseRequest) -> Deletion:
    """How to delete: options in the body, or in the query."""
    body = await read(request)
    options = parsed(body, request.content_type) if body else {}
    return deletion_of(options if isinstance(options, dict) else {}, request)


def deletion_of(options: Mapping[str, Any], request: web.BaseRequest) -> Deletion:
    query = request.query
    grace = options.get("gracePeriodSeconds")
    if grace is None and "gracePeriodSeconds" in query:
        grace = number(query, "gracePeriodSeconds")
    policy = options.get("propagationPolicy") or query.get("propagationPolicy")
    orphan = options.get("orphanDependents", query.get("orphanDependents"))
    if policy is None and orphan is not None:
        policy = "Orphan" if orphan in (True, "true") else "Background"
    if policy is not None and policy not in Propagation._value2member_map_:
        raise errors.bad_request(f"propagationPolicy: Unsupported value: {policy!r}")
    preconditions = options.get("preconditions") or {}
    return Deletion(
        grace=grace,
        propagation=Propagation(policy) if policy else None,
        uid=preconditions.get("uid") or "",
        revision=preconditions.get("resourceVersion") or "",
        dry_run=dry_run([*(options.get("dryRun") or ()), *query.getall("dryRun", [])]),
    )
