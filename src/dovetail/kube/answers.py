"""From an answer that is not a success to the error it means.

An API server says what is wrong in a `Status` object. A proxy, a load balancer or a server still starting says it in
plain text or HTML, or in nothing but a number; the number then decides. A watch carries the same `Status` inside an
event of type ERROR, where its own `code` stands for the number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from dovetail.kube.errors import (
    AlreadyExists,
    BadAnswer,
    Cause,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnknownKind,
)

#: Of a page somebody's proxy wrote, so much is enough to recognise it by.
_QUOTED: Final = 160
_TAGS: Final = re.compile(r"<(style|script|head)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")
#: Nobody means to be asked again only in a week; a wait this long is cut to this.
LONGEST_WAIT: Final = 120.0


class StatusCause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    field: str = ""


class StatusDetails(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: tuple[StatusCause, ...] | None = None
    retry_after_seconds: float = 0


class Status(msgspec.Struct, frozen=True):
    """Kubernetes' own account of what happened."""

    kind: str = ""
    status: str = ""
    message: str = ""
    reason: str = ""
    code: int = 0
    details: StatusDetails | None = None

    @property
    def causes(self) -> tuple[Cause, ...]:
        found = self.details.causes if self.details else None
        return tuple(Cause(one.field, one.message, one.reason) for one in found or ())


_status: Final = msgspec.json.Decoder(Status)


def read_status(body: bytes) -> Status | None:
    """The Status in a body, or None where the body is something else."""
    try:
        found = _status.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return found if found.kind == "Status" else None


def error_of_status(status: Status, asked: str) -> KubeError:
    """The error in an event of type ERROR, or in any Status that came without an HTTP number of its own."""
    return _sorted(status.code or 500, status, asked, wait_of({}, status))


def error_of(code: int, headers: Mapping[str, str], body: bytes, asked: str) -> KubeError:
    """The error that an answer means; `asked` says what was wanted: `get pods default/web`."""
    status = read_status(body)
    wait = wait_of(headers, status)
    return _sorted(code, status or Status(message=_prose(body)), asked, wait)


def _sorted(code: int, status: Status, asked: str, wait: float | None) -> KubeError:
    sentence = f"{asked}: {status.message or f'the server answered {code} and nothing else'}"
    reason, causes = status.reason, status.causes
    if code == 404:
        whole = status.details is None or not (status.details.name or status.details.kind)
        return UnknownKind(sentence, status=404) if whole else NotFound(sentence, status=404, reason=reason)
    if code == 409:
        already = reason == "AlreadyExists"
        return (AlreadyExists if already else Conflict)(sentence, status=409, reason=reason)
    if code == 429:
        return TooManyRequests(sentence, reason=reason, wait=wait, causes=causes)
    if code == 422 and any(cause.field == "metadata.uid" for cause in causes):
        # A patch that names the object it means by its uid, and meets another: a precondition in all but the number.
        return Conflict(sentence, status=422, reason=reason)
    if code in (400, 422):
        return Invalid(sentence, status=code, reason=reason, causes=causes)
    if code >= 500 or code == 408:
        return Unavailable(sentence, status=code, reason=reason, wait=wait)
    return _PLAIN.get(code, _odd)(sentence, status=code, reason=reason)


def _odd(sentence: str, *, status: int, reason: str) -> KubeError:
    if 300 <= status < 400:
        sentence += f" (a redirect, {status}; the address in the kubeconfig leads to something that is no API server)"
    return BadAnswer(sentence, status=status, reason=reason)


_PLAIN: Final[Mapping[int, Callable[..., KubeError]]] = {
    401: Unauthorized,
    403: Forbidden,
    410: Expired,
    413: TooLarge,
}


def wait_of(headers: Mapping[str, str], status: Status | None = None) -> float | None:
    """How long the server asks to be left alone, in seconds, where it says so in a way that can be read.

    A date is allowed by HTTP but not sent by API servers, and would be read with our clock rather than theirs.
    """
    told = headers.get("Retry-After", "").strip()
    if told.isascii() and told.isdecimal():
        return min(float(told), LONGEST_WAIT)
    if status and status.details and status.details.retry_after_seconds > 0:
        return min(status.details.retry_after_seconds, LONGEST_WAIT)
    return None


def _prose(body: bytes) -> str:
    """What a body that is no Status says, on one line and short."""
    text = body[: 20 * _QUOTED].decode("utf-8", "replace")
    text = _SPACE.sub(" ", _TAGS.sub(" ", text)).strip()
    text = "".join(letter for letter in text if letter.isprintable())
    return text if len(text) <= _QUOTED else text[:_QUOTED] + "…"
