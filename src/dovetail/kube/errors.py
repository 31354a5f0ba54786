"""What the API server, or the way to it, can answer instead of what was asked for.

    KubeError
    ├── NotFound           the object is gone, or never was; success for a delete
    ├── UnknownKind        the whole resource is not served: its CRD is missing; ask again later
    ├── AlreadyExists      somebody made it first; read it
    ├── Conflict           it changed since it was read, or a precondition failed; read it again
    ├── Invalid            the object is wrong; `causes` names the fields
    ├── Expired            the resource version or continue token is too old; list anew
    ├── TooManyRequests    ask again after `wait`; for an eviction, a disruption budget is in the way
    ├── Forbidden          the account lacks a right; a person must act
    ├── Unauthorized       the credentials are refused, after a fresh set was tried
    │   └── NoCredentials  no credentials could be had: a plugin failed, a file is gone
    ├── TooLarge           the request or the answer exceeds what one side takes
    ├── BadAnswer          what came back cannot be read
    └── Unavailable        5xx, refused and reset connections, timeouts; ask again later
        ├── Unsent         no connection came about; the server has seen nothing of it
        ├── Untrusted      the certificate of one side is refused by the other; it may be in change
        └── StreamCut      a watch ended in the middle; resume from the last version seen

Each carries the HTTP status (0 where there was no answer), Kubernetes' reason, and a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass


class KubeError(Exception):
    """Something asked of the API server did not happen. The text is a sentence."""

    def __init__(self, sentence: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.status = status
        self.reason = reason or type(self).__name__


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing wrong with an object: the path to the field, and what is wrong there."""

    field: str
    message: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class NotFound(KubeError):
    """The object is not there."""


class UnknownKind(KubeError):
    """The resource itself is not served."""


class AlreadyExists(KubeError):
    """An object of that name is there already."""


class Conflict(KubeError):
    """The object is not the one the caller saw."""


class Invalid(KubeError):
    """The object was refused for what it says."""

    def __init__(self, sentence: str, *, status: int = 0, reason: str = "", causes: tuple[Cause, ...] = ()) -> None:
        super().__init__(sentence, status=status, reason=reason)
        self.causes = causes


class Expired(KubeError):
    """The version asked for is no longer kept."""


class TooManyRequests(KubeError):
    """The server asks for patience; `wait` is in seconds where it said how much."""

    def __init__(
        self,
        sentence: str,
        *,
        status: int = 429,
        reason: str = "",
        wait: float | None = None,
        causes: tuple[Cause, ...] = (),
    ) -> None:
        super().__init__(sentence, status=status, reason=reason)
        self.wait = wait
        self.causes = causes

    @property
    def by_disruption_budget(self) -> bool:
        """Whether a disruption budget refused an eviction, rather than a busy server anything at all."""
        return any(cause.reason == "DisruptionBudget" for cause in self.causes)


class Forbidden(KubeError):
    """The account may not do this."""


class Unauthorized(KubeError):
    """The server does not know who is asking."""


class NoCredentials(Unauthorized):
    """There is nothing to show the server."""


class TooLarge(KubeError):
    """More than one side is willing to take."""


class BadAnswer(KubeError):
    """The answer cannot be read."""


class Unavailable(KubeError):
    """The server cannot be reached, or cannot answer now; `wait` is in seconds where it said how long."""

    def __init__(self, sentence: str, *, status: int = 0, reason: str = "", wait: float | None = None) -> None:
        super().__init__(sentence, status=status, reason=reason)
        self.wait = wait


class Unsent(Unavailable):
    """No connection came about, so the server has seen nothing of the request."""


class Untrusted(Unavailable):
    """The two sides do not believe who the other is."""


class StreamCut(Unavailable):
    """A watch broke off; what had arrived whole was handed on, the rest never is."""
