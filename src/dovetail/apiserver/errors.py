"""What a refused request gets: a `Status`, worded as Kubernetes words it.

Clients act on the code and the reason, tests and people on the text, so both follow the real server. The constructors
below are the only makers of `ApiError`: each stands for one way to be refused.

    ApiError           code, reason, message, details
    └── Cause          one field that is wrong, within an Invalid
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dovetail.api.kinds import Kind

CONFLICT_TEXT: Final = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong, and where. `message` is without the field's name: `Required value`."""

    field: str
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"

    def wire(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}


class ApiError(Exception):
    """A request that is refused."""

    def __init__(self, code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.continue_token = ""

    def status(self) -> dict[str, Any]:
        """The `Status` object a client reads."""
        found: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_token} if self.continue_token else {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        if not self.details:
            del found["details"]
        return found


def about(kind: Kind, name: str = "", *, by_kind: bool = False) -> dict[str, Any]:
    """The details that say which object a refusal is about."""
    found: dict[str, Any] = {}
    if name:
        found["name"] = name
    if kind.group:
        found["group"] = kind.group
    found["kind"] = kind.name if by_kind else kind.plural
    return found


def not_found(kind: Kind, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{kind} "{name}" not found', about(kind, name))


def nothing_served() -> ApiError:
    """The whole path is unknown: the kind's definition is missing, or there never was one."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists", f'{kind} "{name}" already exists', about(kind, name))


def conflict(kind: Kind, name: str, why: str = CONFLICT_TEXT) -> ApiError:
    text = f'Operation cannot be fulfilled on {kind} "{name}": {why}'
    return ApiError(409, "Conflict", text, about(kind, name))


def apply_conflict(causes: Sequence[Cause], message: str) -> ApiError:
    return ApiError(409, "Conflict", message, {"causes": [cause.wire() for cause in causes]})


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    shown = [str(cause) for cause in causes]
    told = shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
    details = about(kind, name, by_kind=True) | {"causes": [cause.wire() for cause in causes]}
    full = f"{kind.name}.{kind.group}" if kind.group else kind.name
    return ApiError(422, "Invalid", f'{full} "{name}" is invalid: {told}', details)


def unprocessable() -> ApiError:
    """A JSON patch that cannot be carried out: its test failed or its path leads nowhere."""
    return ApiError(422, "Invalid", "the server rejected our request due to an error in our request")


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiError:
    details = about(kind, name)
    if causes:
        details["causes"] = [cause.wire() for cause in causes]
    return ApiError(403, "Forbidden", f'{kind} "{name}" is forbidden: {why}', details)


def terminating(kind: Kind, name: str, namespace: str) -> ApiError:
    """Nothing new is made in a namespace that is going."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = Cause("metadata.namespace", "NamespaceTerminating", f"namespace {namespace} is being terminated")
    return forbidden(kind, name, why, [cause])


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_old(asked: int, oldest: int) -> ApiError:
    return expired(f"too old resource version: {asked} ({oldest})")


def too_new(asked: int, current: int) -> ApiError:
    """The client has seen a revision that is still to come here; it should ask again shortly."""
    message = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def too_many(message: str, causes: Sequence[Mapping[str, str]] = (), retry_after: int = 0) -> ApiError:
    details: dict[str, Any] = {}
    if causes:
        details["causes"] = [dict(cause) for cause in causes]
    if retry_after:
        details["retryAfterSeconds"] = retry_after
    return ApiError(429, "TooManyRequests", message, details)


def too_large(limit: int) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")


def not_acceptable() -> ApiError:
    message = "only the following media types are accepted: application/json, application/json;stream=watch"
    return ApiError(406, "NotAcceptable", message)


def unsupported_media(accepted: Sequence[str]) -> ApiError:
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(accepted)
    return ApiError(415, "UnsupportedMediaType", message)


def internal(message: str) -> ApiError:
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", {"causes": [{"message": message}]})


# --- single fields -------------------------------------------------------------------------------------------------


def required(field: str, detail: str = "") -> Cause:
    return Cause(field, "FieldValueRequired", f"Required value: {detail}" if detail else "Required value")


def bad_value(field: str, value: object, detail: str) -> Cause:
    return Cause(field, "FieldValueInvalid", f"Invalid value: {quoted(value)}: {detail}")


def unsupported(field: str, value: object, known: Sequence[str]) -> Cause:
    choices = ", ".join(f'"{one}"' for one in known)
    return Cause(field, "FieldValueNotSupported", f"Unsupported value: {quoted(value)}: supported values: {choices}")


def field_forbidden(field: str, detail: str) -> Cause:
    return Cause(field, "FieldValueForbidden", f"Forbidden: {detail}")


def duplicate(field: str, value: object) -> Cause:
    return Cause(field, "FieldValueDuplicate", f"Duplicate value: {quoted(value)}")


def missing_reference(field: str, value: object) -> Cause:
    return Cause(field, "FieldValueNotFound", f"Not found: {quoted(value)}")


def quoted(value: object) -> str:
    """A value as the real server shows it in a refusal."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, int | float):
        return str(value)
    if value is None:
        return "null"
    import msgspec

    return msgspec.json.encode(value).decode()
