"""The one door to Compute Engine: the only module that imports Google's SDK, and only when it is first used.

Everything else in the program works without the extra `gcp`; who asks for GCP without it is told so. Requests go in and
answers come out as plain JSON in the REST API's own words, so nobody outside knows the SDK's types; errors leave sorted
(`errors.sorted_out`).

The SDK has no async client, so each call runs in a thread, of which there are only so many. Nothing is retried: who
asks knows what may be asked twice. Nor does the SDK wait for operations, since the waiting it offers goes to Google's
address whatever endpoint was given.

Credentials are found the way every Google tool finds them: GOOGLE_APPLICATION_CREDENTIALS, gcloud's own, workload
identity, the machine's service account. With an endpoint of one's own, which tests have, none are sent.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

from dovetail.clouds.gcp.errors import Refusal, sorted_out
from dovetail.clouds.port import Misconfigured, Unavailable

Json = dict[str, Any]
T = TypeVar("T")
#: Calls at a time; the SDK keeps ten connections.
THREADS: Final = 8
#: How long Compute Engine may take for an answer. What takes longer is an operation, and answered at once.
SECONDS: Final = 30.0
_PAGE: Final = 500
#: What the SDK puts before a message: the address that was asked.
_ADDRESS: Final = re.compile(r"^[A-Z]+ https?://\S+: ")
NO_SDK: Final = "Google's SDK is not installed; install dovetail[gcp]"
NO_CREDENTIALS: Final = (
    "no GCP credentials are known; set GOOGLE_APPLICATION_CREDENTIALS, run gcloud auth application-default login, "
    "or give the pod a service account with workload identity"
)
NO_PROJECT: Final = "no GCP project is known; name it, or set GOOGLE_CLOUD_PROJECT"


@dataclass(frozen=True, slots=True)
class Access:
    """How Compute Engine is reached; what is left out is found as every Google tool finds it."""

    project: str = ""
    endpoint: str = ""
    seconds: float = SECONDS
    threads: int = THREADS


class Gcp:
    """Compute Engine, as one project. Open it with `async with`."""

    def __init__(self, access: Access | None = None) -> None:
        self._access = access or Access()
        self._threads = ThreadPoolExecutor(self._access.threads, thread_name_prefix="gcp")
        self._sdk: _Sdk | None = None

    async def __aenter__(self) -> Self:
        try:
            self._sdk = await self._in_thread(lambda: _Sdk(self._access))
        except BaseException:
            self._threads.shutdown(wait=False)
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """A call that nobody waits for any more ends by itself, within its time."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def project(self) -> str:
        return self._opened.project

    @property
    def _opened(self) -> _Sdk:
        assert self._sdk is not None, "not opened"
        return self._sdk

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    # ---- the calls, each of which is one request but for the lists

    async def insert_instance(self, zone: str, body: Json, request_id: str) -> Json:
        """The operation; the same id again within the hour is the same operation, however it went."""
        return await self._in_thread(lambda: self._opened.insert_instance(zone, body, request_id))

    async def get_instance(self, zone: str, name: str) -> Json:
        return await self._in_thread(lambda: self._opened.get("instances", zone, instance=name))

    async def delete_instance(self, zone: str, name: str) -> Json:
        """The operation."""
        return await self._in_thread(lambda: self._opened.delete("instances", zone, instance=name))

    async def list_instances(self, matching: str) -> tuple[Json, ...]:
        """Those of every zone."""
        return await self._in_thread(lambda: self._opened.everywhere("instances", matching))

    async def get_operation(self, zone: str, name: str) -> Json:
        return await self._in_thread(lambda: self._opened.get("operations", zone, operation=name))

    async def list_operations(self, matching: str) -> tuple[Json, ...]:
        """Those of every zone and region."""
        return await self._in_thread(lambda: self._opened.everywhere("all_operations", matching))

    async def list_disks(self, matching: str) -> tuple[Json, ...]:
        return await self._in_thread(lambda: self._opened.everywhere("disks", matching))

    async def delete_disk(self, zone: str, name: str) -> Json:
        """The operation."""
        return await self._in_thread(lambda: self._opened.delete("disks", zone, disk=name))


class _Sdk:
    """The SDK, called from threads."""

    def __init__(self, access: Access) -> None:
        try:
            from google.api_core import exceptions
            from google.api_core.client_options import ClientOptions
            from google.auth import exceptions as auth
            from google.cloud import compute_v1
            from google.protobuf import json_format
        except ImportError as missing:
            raise Misconfigured(NO_SDK) from missing
        self._types, self._told = compute_v1, (exceptions.GoogleAPICallError, auth.GoogleAuthError)
        self._nonsense = json_format.ParseError
        self._seconds = access.seconds
        credentials, project = _identity(access, auth.DefaultCredentialsError)
        self.project = access.project or project
        if not self.project:
            raise Misconfigured(NO_PROJECT)
        options = ClientOptions(api_endpoint=access.endpoint) if access.endpoint else None
        known = {"credentials": credentials, "client_options": options, "transport": "rest"}
        self._clients = {
            "instances": compute_v1.InstancesClient(**known),
            "operations": compute_v1.ZoneOperationsClient(**known),
            "all_operations": compute_v1.GlobalOperationsClient(**known),
            "disks": compute_v1.DisksClient(**known),
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


def _identity(access: Access, unknown: type[Exception]) -> tuple[Any, str]:
    """Credentials, and the project they are of."""
    import google.auth
    from google.auth.credentials import AnonymousCredentials

    if access.endpoint:
        return AnonymousCredentials(), ""
    try:
        credentials, project = google.auth.default(scopes=["https://www.googleapis.com/auth/compute"])
    except unknown as nobody:
        raise Misconfigured(NO_CREDENTIALS) from nobody
    return credentials, project or ""


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
