"""The one door to Azure: the only module that imports its SDK, and only when it is opened.

Everything else in the program works without the extra `azure`; who asks for Azure without it is told so. A request is
made once: who asked knows what may be asked again, and when. What Azure takes time for is not waited for here either:
its answer to a write is returned as soon as it has taken the order, and how far that has come stands in the resource
itself, for this process or for the next. Errors leave sorted (`errors.sorted_out`), so nobody outside knows the SDK's.

Credentials are found the way every Azure tool finds them: environment, workload identity, the machine's own identity,
the command line's login. `Access.endpoint` points both services somewhere else; over plain HTTP, which only a test
server speaks, no credentials are sent.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from typing import Any, Final, Self

from dovetail.clouds.azure.errors import Refusal, sorted_out
from dovetail.clouds.azure.resources import COMPUTE, NETWORK, Resource
from dovetail.clouds.port import Misconfigured, Unavailable

Wire = dict[str, Any]
#: One request; the SDK would wait for five minutes.
SECONDS: Final = 60.0
_CONNECT_SECONDS: Final = 10.0
_PLAIN: Final = "http://"
_SCOPE: Final = "https://management.azure.com/.default"
NO_SDK: Final = "Azure needs the extra `azure`: pip install 'dovetail[azure]'"


@dataclass(frozen=True, slots=True)
class Access:
    """How Azure is reached; without an endpoint, its public cloud."""

    subscription: str
    endpoint: str = ""
    seconds: float = SECONDS


class Azure:
    """Azure, as one subscription. Open it with `async with`."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._stack = AsyncExitStack()
        self._clients: dict[str, Any] = {}
        self._sdk: Any = None

    @property
    def subscription(self) -> str:
        return self.access.subscription

    async def __aenter__(self) -> Self:
        """Beside the event loop: importing the SDK takes a second."""
        if not self.access.subscription:
            raise Misconfigured("no Azure subscription is known; name one")
        self._sdk = await asyncio.to_thread(_imported)
        given = _given(self._sdk, self.access)
        credential = given.pop("credential")
        await self._stack.enter_async_context(credential)
        await self._open(credential, given)
        return self

    async def _open(self, credential: Any, given: Wire) -> None:
        compute, network = await asyncio.to_thread(_services)
        for service, client in ((COMPUTE, compute), (NETWORK, network)):
            made = client(credential, self.access.subscription, **given)
            self._clients[service] = await self._stack.enter_async_context(made)

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    # ---- asking

    async def get(self, kind: Resource, group: str, name: str) -> Wire:
        """Raises NotFound if there is none."""
        more = {"expand": kind.expand} if kind.expand else {}
        # As a stream, which the SDK does not make objects of: that would take as long as the request.
        asked = self._of(kind).get(group, name, cls=_response, stream=True, **more)
        found: Wire = await self._once(f"read {kind.noun} {name}", _read(asked))
        return found

    async def put(self, kind: Resource, group: str, name: str, body: Wire, *, new: bool = False) -> Wire:
        """Have it made, or changed unless it is to be `new`; returns when Azure has taken the order."""
        only = {"match_condition": self._sdk.missing, "etag": "*"} if new else {}
        begun = self._of(kind).begin_create_or_update(group, name, body, polling=False, cls=_wire, **only)
        taken: Wire = await self._once(f"make {kind.noun} {name}", _result(begun))
        return taken

    async def delete(self, kind: Resource, group: str, name: str) -> None:
        """Have it removed; returns when Azure has taken the order."""
        more = {"force_deletion": True} if kind.force else {}
        begun = self._of(kind).begin_delete(group, name, polling=False, **more)
        await self._once(f"remove {kind.noun} {name}", _result(begun))

    async def all(self, kind: Resource, group: str = "") -> tuple[Wire, ...]:
        """Every one in a resource group, or in the subscription."""
        inside, everywhere = kind.listed
        operations = self._of(kind)
        pages = getattr(operations, inside)(group) if group else getattr(operations, everywhere)()
        found: tuple[Wire, ...] = await self._once(f"list {kind.noun}s", _every(pages))
        return found

    async def raw(self, link: str) -> bytes:
        """What is at a link, a path of Azure's or one that it gave, as it was sent."""
        answer: bytes = await self._once("list power states", self._fetched(link))
        return answer

    async def _fetched(self, link: str) -> bytes:
        response = await self._clients[COMPUTE].send_request(self._sdk.request("GET", link), stream=True)
        found: bytes = await response.read()
        response.raise_for_status()
        return found

    def _of(self, kind: Resource) -> Any:
        return getattr(self._clients[kind.service], kind.operations)

    async def _once(self, action: str, asked: Any) -> Any:
        """One request, or the pages of one list; every trouble is a `CloudError`."""
        try:
            async with asyncio.timeout(self.access.seconds):
                return await asked
        except TimeoutError:
            raise Unavailable(f"Azure did not answer within {self.access.seconds:g} s ({action})") from None
        except self._sdk.errors.HttpResponseError as failed:
            refusal = _refusal(action, failed)
            raise sorted_out(refusal) from refusal
        except self._sdk.errors.AzureError as failed:
            raise Unavailable(f"Azure cannot be reached ({action}): {_short(failed)}") from failed
        except (json.JSONDecodeError, UnicodeDecodeError) as nonsense:
            raise Unavailable(f"Azure answered what is no JSON ({action})") from nonsense


async def _result(begun: Any) -> Any:
    return await (await begun).result()


async def _every(pages: Any) -> tuple[Wire, ...]:
    return tuple([one.as_dict() async for one in pages])


async def _read(asked: Any) -> Wire:
    response = await asked
    await response.read()
    found = response.json()
    if not isinstance(found, dict):
        raise Unavailable("Azure answered with something that is no resource")
    return found


def _response(response: Any, read: Any, headers: Any) -> Any:
    return response.http_response


def _wire(response: Any, read: Any, headers: Any) -> Any:
    """The answer as it was sent; what the SDK makes of it leaves out what its version does not know."""
    return response.http_response.json()


# ------------------------------------------------------------------------------------------------ what it says no with


def _refusal(action: str, failed: Any) -> Refusal:
    error, response = getattr(failed, "error", None), getattr(failed, "response", None)
    status = int(getattr(failed, "status_code", None) or 0)
    code = str(getattr(error, "code", None) or ("CredentialUnavailable" if response is None else status))
    message = str(getattr(error, "message", None) or _short(failed))
    headers = response.headers if response is not None else {}
    return Refusal(action, code, message, status, _wait(headers.get("Retry-After")))


def _short(failed: BaseException) -> str:
    return next(iter(str(failed).splitlines()), "")[:300]


def _wait(written: str | None) -> float | None:
    """Seconds, or a date."""
    if not written:
        return None
    if written.strip().isdecimal():
        return float(written)
    try:
        until = parsedate_to_datetime(written)
    except ValueError:
        return None
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


# ------------------------------------------------------------------------------------------------ the SDK


def _imported() -> SimpleNamespace:
    """Its core: errors, credentials, the pipeline."""
    try:
        from azure.core import MatchConditions, exceptions
        from azure.core.pipeline.policies import SansIOHTTPPolicy
        from azure.core.rest import HttpRequest
        from azure.identity.aio import DefaultAzureCredential
    except ImportError:
        raise Misconfigured(NO_SDK) from None
    return SimpleNamespace(
        pipeline=_pipeline,
        credential=DefaultAzureCredential,
        errors=exceptions,
        missing=MatchConditions.IfMissing,
        request=HttpRequest,
        nothing=SansIOHTTPPolicy,
    )


def _services() -> tuple[Any, Any]:
    """Compute and network: sixty megabytes."""
    try:
        from azure.mgmt.compute.aio import ComputeManagementClient
        from azure.mgmt.network.aio import NetworkManagementClient
    except ImportError:
        raise Misconfigured(NO_SDK) from None
    return ComputeManagementClient, NetworkManagementClient


def _pipeline(credential: Any, given: Wire) -> Any:
    """A client of no service in particular, with the policies that one of a service would have."""
    from azure.core import AsyncPipelineClient
    from azure.core.pipeline import policies
    from azure.mgmt.core.policies import AsyncARMChallengeAuthenticationPolicy

    scopes = given.get("credential_scopes") or [_SCOPE]
    chain = [
        policies.RequestIdPolicy(),
        policies.HeadersPolicy(),
        policies.UserAgentPolicy(given["user_agent"]),
        policies.ProxyPolicy(),
        policies.ContentDecodePolicy(),
        policies.AsyncRedirectPolicy(),
        given["retry_policy"],
        given.get("authentication_policy") or AsyncARMChallengeAuthenticationPolicy(credential, *scopes),
    ]
    kept = {name: given[name] for name in ("connection_timeout", "read_timeout", "use_env_settings") if name in given}
    return AsyncPipelineClient(given.get("base_url", ""), policies=chain, **kept)


def _given(sdk: Any, access: Access) -> Wire:
    """What both clients are made with. The policy that does nothing stands where the SDK would ask again."""
    given: Wire = {
        "retry_policy": sdk.nothing(),
        "connection_timeout": _CONNECT_SECONDS,
        "read_timeout": access.seconds,
        "user_agent": "dovetail",
    }
    if access.endpoint:
        given["base_url"] = access.endpoint.rstrip("/")
        given["credential_scopes"] = [f"{access.endpoint.rstrip('/')}/.default"]
    if access.endpoint.startswith(_PLAIN):
        nobody: Wire = {"credential": _Nobody(), "authentication_policy": sdk.nothing(), "use_env_settings": False}
        return {**given, **nobody}
    return {**given, "credential": sdk.credential()}


class _Nobody:
    """Stands for credentials where none are sent."""

    async def get_token(self, *scopes: str, **more: Any) -> Any:
        raise AssertionError("no credentials are sent over plain HTTP")

    async def close(self) -> None:
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return
