"""Google's SDK: called from threads of this process, or, as a program, by another one (`clouds.apart`).

Requests go in and answers come out as plain JSON in the REST API's own words. Nothing is retried: who asks knows what
may be asked twice. Nor does the SDK wait for operations, since the waiting it offers goes to Google's address whatever
endpoint was given.

The package imports the clients of all of Compute Engine's hundred services when any of them is, which is forty
megabytes and most of a second. Here it is imported without, as its own list of lazy modules has it for a Python that
knows such: the services that are used import what they need of it by themselves.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import Any, Final, TypeVar

from dovetail.clouds import apart, port
from dovetail.clouds.gcp.errors import Refusal, sorted_out
from dovetail.clouds.gcp.identity import THREADS, Access, identity
from dovetail.clouds.port import CloudError, Misconfigured, Unavailable

Json = dict[str, Any]
T = TypeVar("T")
_PAGE: Final = 500
#: What the SDK puts before a message: the address that was asked.
_ADDRESS: Final = re.compile(r"^[A-Z]+ https?://\S+: ")
_PACKAGE: Final = "google.cloud.compute_v1"


@contextmanager
def only_what_is_used() -> Iterator[None]:
    """The package without what its own file would import: modules of it are found as ever. Afterwards whoever imports
    the package itself gets it whole."""
    if _PACKAGE in sys.modules:
        yield
        return
    spec = find_spec(_PACKAGE)
    assert spec is not None, "identity() says so before"
    sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        yield
    finally:
        del sys.modules[_PACKAGE]


class Sdk:
    """The SDK, called from threads."""

    def __init__(self, access: Access) -> None:
        credentials, self.project = identity(access)
        with only_what_is_used():
            from google.api_core import exceptions
            from google.api_core.client_options import ClientOptions
            from google.auth import exceptions as auth
            from google.cloud.compute_v1.services.disks import DisksClient
            from google.cloud.compute_v1.services.global_operations import GlobalOperationsClient
            from google.cloud.compute_v1.services.instances import InstancesClient
            from google.cloud.compute_v1.services.zone_operations import ZoneOperationsClient
            from google.cloud.compute_v1.types import compute
            from google.protobuf import json_format
        self._types, self._told = compute, (exceptions.GoogleAPICallError, auth.GoogleAuthError)
        self._nonsense = json_format.ParseError
        self._seconds = access.seconds
        options = ClientOptions(api_endpoint=access.endpoint) if access.endpoint else None
        known = {"credentials": credentials, "client_options": options, "transport": "rest"}
        self._clients = {
            "instances": InstancesClient(**known),
            "operations": ZoneOperationsClient(**known),
            "all_operations": GlobalOperationsClient(**known),
            "disks": DisksClient(**known),
        }

    def insert_instance(self, zone: str, body: Json, request_id: str) -> Json:
        try:
            instance = self._types.Instance.from_json(json.dumps(body))
        except self._nonsense as bad:
            raise Misconfigured(f"Compute Engine knows no such instance: {bad}") from bad
        request = self._types.InsertInstanceRequest(
            project=self.project, zone=zone, instance_resource=instance, request_id=request_id
        )
        return self._asked("make an instance", lambda: self._clients["instances"].insert_unary(request, **self._how))

    def get(self, what: str, zone: str, **named: str) -> Json:
        client, words = self._clients[what], f"show {_shown(named)}"
        return self._asked(words, lambda: client.get(project=self.project, zone=zone, **named, **self._how))

    def delete(self, what: str, zone: str, **named: str) -> Json:
        client, words = self._clients[what], f"delete {_shown(named)}"
        return self._asked(words, lambda: client.delete_unary(project=self.project, zone=zone, **named, **self._how))

    def everywhere(self, what: str, matching: str) -> tuple[Json, ...]:
        """All pages of all zones. A zone that does not answer fails the whole: half a list would be taken for all."""
        request = {"project": self.project, "filter": matching, "max_results": _PAGE}

        def pages() -> list[Any]:
            scopes: Iterable[tuple[str, Any]] = self._clients[what].aggregated_list(request, **self._how)
            field = "operations" if what == "all_operations" else what
            return [one for _, scope in scopes for one in getattr(scope, field)]

        return tuple(_json(one) for one in self._called(f"list {what.replace('all_', '')}", pages))

    @property
    def _how(self) -> Json:
        return {"retry": None, "timeout": self._seconds}

    def _asked(self, action: str, call: Callable[[], Any]) -> Json:
        return _json(self._called(action, call))

    def _called(self, action: str, call: Callable[[], T]) -> T:
        try:
            return call()
        except self._told as told:
            raise _refusal(action, told)  # noqa: B904  (its cause is what GCP said, sorted by)
        except (self._nonsense, ValueError) as nonsense:
            raise Unavailable(f"GCP's answer could not be read when asked to {action}") from nonsense
        except OSError as lost:
            # What the SDK's transport raises is one: a connection cut, refused, or silent for too long.
            raise Unavailable(f"GCP did not answer when asked to {action}: {type(lost).__name__}") from lost


def _refusal(action: str, told: Any) -> Exception:
    """An answer that is a refusal, or credentials that could not be had."""
    status = getattr(told, "code", None)
    if not isinstance(status, int):
        return _unauthorized(action, told)
    first = next((one for one in getattr(told, "errors", ()) if isinstance(one, dict)), {})
    message = first.get("message") or _ADDRESS.sub("", str(told.message))
    return sorted_out(Refusal(action, int(status), str(first.get("reason", "")), str(message), _wait(told)))


def _unauthorized(action: str, told: Any) -> Exception:
    """Whoever hands out tokens may be away for a moment, or may know nobody of that name."""
    if getattr(told, "retryable", False):
        return Unavailable(f"GCP's credentials could not be had when asked to {action}: {type(told).__name__}")
    return sorted_out(Refusal(action, 401, "credentials", str(told)))


def _wait(told: Any) -> float | None:
    headers = getattr(getattr(told, "response", None), "headers", None) or {}
    try:
        return float(headers.get("Retry-After", ""))
    except ValueError:
        return None


def _json(message: Any) -> Json:
    """As the REST API writes it; long numbers are text there."""
    found: Json = json.loads(
        type(message).to_json(message, use_integers_for_enums=False, always_print_fields_with_no_presence=False)
    )
    return found


def _shown(named: Json) -> str:
    return " ".join(f"{kind} {name}" for kind, name in named.items())


# ------------------------------------------------------------------------------------------------ in its own process


def shown(error: CloudError) -> Json:
    """An error as a line can hold it."""
    cause = error.__cause__
    known = vars(cause) if isinstance(cause, Refusal) else None
    return {"kind": type(error).__name__, "message": str(error), "refusal": known}


def raised(told: Json) -> CloudError:
    """The error that was shown."""
    if told["refusal"] is not None:
        return sorted_out(Refusal(**told["refusal"]))
    kind = {"Misconfigured": Misconfigured, "NotFound": port.NotFound}.get(told["kind"], Unavailable)
    return kind(told["message"])


def _opened(told: Json) -> Callable[[str, Json], Any]:
    sdk = Sdk(Access(**told))
    calls = {one.__name__: one for one in (sdk.insert_instance, sdk.get, sdk.delete, sdk.everywhere)}
    return lambda call, named: calls[call](**named)


if __name__ == "__main__":
    apart.serve(_opened, shown, THREADS)
