"""The one door to AWS: the only module that imports its SDK, and only when it is first used.

Everything else in the program works without the extra `aws`; who asks for AWS without it is told so. What the SDK would
retry is retried here instead, where deadlines hold, back-off is counted, and only calls that may be made twice are.
Errors leave sorted (`errors.sorted_out`), so nobody outside knows the SDK's.

Credentials and region are found the way every AWS tool finds them: environment, shared files, a pod's web identity or
EKS pod identity, the machine's own role. AWS_ENDPOINT_URL, or `Access.endpoint`, points all services somewhere else.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import datetime
from functools import cache
from typing import Any, Final, Self

from dovetail.clouds.aws import calls, wholeness
from dovetail.clouds.aws.access import Access, Counts, Pace, Watch
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.errors import DRY_RUN, Refusal, code_of, sorted_out
from dovetail.clouds.aws.leaner import leaner
from dovetail.clouds.aws.models import Files
from dovetail.clouds.aws.reading import Reading
from dovetail.clouds.port import CloudError, Misconfigured, Throttled, Unavailable

Answer = dict[str, Any]
#: The first wait after a throttle, and the longest; each is twice the one before, give or take half.
FIRST_WAIT: Final = 0.25
LONGEST_WAIT: Final = 8.0
_CONNECT_SECONDS: Final = 5.0
#: Bytes; reading so much takes a few milliseconds.
_LARGE_ANSWER: Final = 16 * 1024
#: The Pricing service answers in few places; each part of the world has one near by (`spec/aws` §4).
_PRICING: Final = {"ap-": "ap-south-1", "eu-": "eu-central-1", "cn-": "cn-northwest-1"}
_PRICING_HOME: Final = "us-east-1"


class Aws:
    """AWS, as one account and region. Open it with `async with`."""

    def __init__(self, access: Access | None = None, watch: Watch | None = None, pace: Pace | None = None) -> None:
        self._access, self._watch, self._pace = access or Access(), watch or Counts(), pace or Pace()
        #: For whoever reads what was answered; other readers' turns are waited for.
        self.reading = Reading()
        self._sdk = _Sdk(self.reading)
        self._stack = AsyncExitStack()
        self._clients: dict[str, asyncio.Task[Any]] = {}
        self._region = self._access.region

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for one in self._clients.values():
            one.cancel()
        await self._stack.aclose()

    async def region(self) -> str:
        """The region that was given, or is configured, or this machine is in."""
        if not self._region:
            self._region = await self._sdk.region()
        return self._region

    # ---- asking

    async def ask(self, call: Call, **request: Any) -> Answer:
        """Make a call, again if need be, and return its answer before the call's time is over."""
        end = self._pace.now() + call.seconds
        attempt, unheard = 0, False
        while True:
            attempt += 1
            try:
                return await self._once(call, request, end)
            except (Throttled, Unavailable) as failed:
                wait = self._wait(attempt)
                late = self._pace.now() + wait >= end
                if attempt >= self._access.attempts or late or not _again(call, failed):
                    raise
                unheard = unheard or isinstance(failed, Unavailable)
            except CloudError as refused:
                refused.unheard = unheard
                raise
            self._watch.waited(call, wait)
            await self._pace.sleep(wait)

    async def all(self, call: Call, **request: Any) -> tuple[Any, ...]:
        """Every item of every page."""
        return tuple([one async for page in self.pages(call, **request) for one in page])

    async def pages(self, call: Call, **request: Any) -> AsyncIterator[list[Any]]:
        """Page by page, for whoever makes less of a page before the next comes."""
        paged = {**request, **_page_size(call, request)}
        while True:
            answer = await self.ask(call, **paged)
            yield list(answer.get(call.listed) or ())
            token = _next(answer)
            if not token:
                return
            paged["Marker" if call.service == "iam" else "NextToken"] = token

    async def may(self, call: Call, **request: Any) -> None:
        """Ask EC2 whether a call would be allowed, without making it; raises what it would be refused with."""
        try:
            await self.ask(call, **request, DryRun=True)
        except CloudError as told:
            if code_of(told) != DRY_RUN:
                raise

    def _wait(self, attempt: int) -> float:
        return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * (0.5 + self._pace.chance())

    async def _once(self, call: Call, request: Answer, end: float) -> Answer:
        began, code = self._pace.now(), ""
        try:
            async with asyncio.timeout(max(0.001, end - began)):
                client = await self._client(call.service)
                answer = await self._sdk.made(client, call, request)
                lacking = wholeness.lacking(call, answer)
                if lacking:
                    raise Unavailable(f"{call.service} {call.name} gave an answer without {lacking}")
                return answer
        except TimeoutError:
            code = "Timeout"
            raise Unavailable(f"{call.service} {call.name} was not answered within {call.seconds:g} s") from None
        except Refusal as refusal:
            code = refusal.code
            raise sorted_out(refusal) from refusal
        except CloudError as failed:
            code = failed.reason or type(failed).__name__
            raise
        finally:
            self._watch.called(call, self._pace.now() - began, code)

    # ---- clients, made when first used and kept

    async def _client(self, service: str) -> Any:
        task = self._clients.get(service)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = self._clients[service] = asyncio.create_task(self._made(service), name=f"aws {service}")
        return await asyncio.shield(task)

    async def _made(self, service: str) -> Any:
        region = await self.region()
        if not region:
            raise _no_region()
        where = _pricing_region(region) if service == calls.GET_PRODUCTS.service else region
        opened = await self._sdk.client(service, where, self._access)
        return await self._stack.enter_async_context(opened)


def _again(call: Call, failed: CloudError) -> bool:
    """A throttled call was not made; one without an answer may have been."""
    return isinstance(failed, Throttled) or call.repeat


def _page_size(call: Call, request: Answer) -> Answer:
    """EC2 takes no page size beside a list of ids."""
    if not call.page_size or any(key.endswith("Ids") and value for key, value in request.items()):
        return {}
    return {"MaxItems" if call.service == "iam" else "MaxResults": call.page_size}


def _next(answer: Answer) -> str:
    return str(answer.get("NextToken") or answer.get("Marker") or "")


def _pricing_region(region: str) -> str:
    return next((place for part, place in _PRICING.items() if region.startswith(part)), _PRICING_HOME)


def _no_region() -> Misconfigured:
    return _problem("NoRegion", "no AWS region is known; set AWS_REGION, or region in ~/.aws/config")


class _Parsers:
    """The SDK's readers of answers, but a large answer is read beside the event loop: a page of instance types takes a
    twentieth of a second. Times, of which a history of prices is full, are not guessed at but read as they are written.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def create_parser(self, protocol: str) -> _Parser:
        from aiobotocore.parsers import AioResponseParserFactory

        factory = AioResponseParserFactory()
        factory.set_parser_defaults(timestamp_parser=_moment)
        return _Parser(factory.create_parser(protocol), self._reading)


class _Parser:
    def __init__(self, parser: Any, reading: Reading) -> None:
        self._parser, self._reading = parser, reading

    async def parse(self, response: Answer, shape: Any) -> Any:
        body = response.get("body")
        if isinstance(body, bytes) and len(body) > _LARGE_ANSWER:
            return await self._reading(self._read, response, shape)
        return await self._parser.parse(response, shape)

    def _read(self, response: Answer, shape: Any) -> Any:
        """The SDK's parser is a coroutine that waits for nothing, so it needs no loop to be run by."""
        lean = {**response, "body": leaner(shape.name, response["body"])}
        try:
            self._parser.parse(lean, shape).send(None)
        except StopIteration as done:
            return done.value
        raise RuntimeError("the SDK's parser waits for something")


def _moment(value: Any) -> Any:
    from botocore.utils import parse_timestamp

    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return parse_timestamp(value)
    return found if found.tzinfo is not None else parse_timestamp(value)


@cache
def _models() -> Any:
    """AWS's own descriptions of its services, as far as we need them, each read once."""
    from botocore.loaders import Loader

    return Loader(file_loader=Files())


def _read_ahead(service: str) -> None:
    """Have all files read that a client is made of: made on the event loop, it would read them there."""
    loader = _models()
    loader.load_data_with_path("endpoints")
    for name in ("sdk-default-configuration", "partitions", "_retry"):
        loader.load_data(name)
    for name in ("service-2", "endpoint-rule-set-1"):
        loader.load_service_model(service, name)


def _session(reading: Reading) -> Any:
    try:
        from aiobotocore.session import get_session
    except ImportError:
        raise _problem("ExtraMissing", "AWS needs the extra `aws`: pip install 'dovetail[aws]'") from None
    session = get_session()
    session.register_component("data_loader", _models())
    session.register_component("response_parser_factory", _Parsers(reading))
    return session


class _Sdk:
    """aiobotocore, imported when it is first needed."""

    def __init__(self, reading: Reading) -> None:
        self._session: Any = None
        self._reading = reading
        self._opening = asyncio.Lock()

    async def _opened(self) -> Any:
        """Beside the event loop: importing the SDK takes a while."""
        async with self._opening:
            if self._session is None:
                self._session = await self._reading(_session, self._reading)
        return self._session

    async def region(self) -> str:
        session = await self._opened()
        from aiobotocore.utils import AioIMDSRegionProvider

        configured = session.get_config_variable("region")
        return str(configured or await AioIMDSRegionProvider(session=session).provide() or "")

    async def client(self, service: str, region: str, access: Access) -> Any:
        """A client, not yet entered. Reading the files it is made of takes a while and is done beside the loop."""
        session = await self._opened()
        from aiobotocore.config import AioConfig
        from botocore.exceptions import BotoCoreError

        config = AioConfig(
            retries={"total_max_attempts": 1},
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=calls.FLEET_SECONDS,
            max_pool_connections=access.connections,
            user_agent_extra="dovetail",
        )
        try:
            await self._reading(_read_ahead, service)
            return session.create_client(
                service, region_name=region, endpoint_url=access.endpoint or None, config=config
            )
        except (BotoCoreError, ValueError) as failed:
            raise _problem("ClientFailed", f"AWS {service} in {region} cannot be reached: {failed}") from failed

    async def made(self, client: Any, call: Call, request: Answer) -> Answer:
        """One request, one answer; every trouble is a `Refusal` or a `CloudError`."""
        from botocore import exceptions, parsers, xform_name

        try:
            answer: Answer = await getattr(client, xform_name(call.name))(**request)
        except exceptions.ClientError as failed:
            raise _refusal(call, failed.response) from None
        except (exceptions.ParamValidationError, exceptions.ValidationError) as failed:
            raise _problem("LaunchFailed", f"{call.service} {call.name} cannot be asked so: {failed}") from None
        except (exceptions.HTTPClientError, exceptions.ConnectionError, parsers.ResponseParserError, OSError) as failed:
            raise Unavailable(f"{call.service} {call.name} was not answered: {failed}") from None
        except exceptions.BotoCoreError as failed:
            raise _problem("CredentialsMissing", f"there are no AWS credentials to ask with: {failed}") from None
        return answer


def _refusal(call: Call, response: Answer) -> Refusal:
    told = response.get("Error") or {}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", "")
    return Refusal(call.service, call.name, str(told.get("Code") or status), str(told.get("Message") or ""))


def _problem(reason: str, message: str) -> Misconfigured:
    error = Misconfigured(message)
    error.reason = reason
    return error
