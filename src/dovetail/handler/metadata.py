"""Questions to the metadata server of the machine this runs on.

The server is on the link itself, so no proxy is ever asked, whatever the environment says, and no redirect is followed.
Answers are short; one that is not is not an answer of a metadata server.

    MetadataError
    ├── Refused        it answered with another status than was hoped for
    └── Unreachable    it did not answer, or not in time
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp

#: Far more than any cloud says about a machine's end.
_LARGEST: Final = 2**18
#: Between two looks a connection stays; servers drop idle ones after a minute or more.
_KEEP_IDLE: Final = 30.0
_USER_AGENT: Final = "dovetail-handler"


class MetadataError(Exception):
    """No usable answer; the text is a sentence."""


class Refused(MetadataError):
    """An answer, but not one to work with."""

    def __init__(self, asked: str, status: int) -> None:
        super().__init__(f"{asked}: the metadata server answered {status}")
        self.status = status


class Unreachable(MetadataError):
    """No answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    text: str
    headers: Mapping[str, str]


class Metadata:
    """One server, asked over connections that are kept. Use it with `async with`."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Metadata:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=8, keepalive_timeout=_KEEP_IDLE, use_dns_cache=False),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": _USER_AGENT, "Accept-Encoding": "identity"},
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        within: float,
        body: bytes | None = None,
    ) -> Answer:
        """One question; any status is an answer. `within` is in seconds, for all of it."""
        assert self._session is not None, "the metadata client is used outside `async with`"
        asked = f"{method} {path.partition('?')[0]}"
        try:
            async with self._session.request(
                method,
                f"{self._url}{path}",
                headers=headers,
                data=body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=within),
            ) as response:
                text = await response.content.read(_LARGEST + 1)
                while len(text) <= _LARGEST and (more := await response.content.read(_LARGEST)):
                    text += more
                if len(text) > _LARGEST:
                    raise Unreachable(f"{asked}: the answer is larger than a metadata server's")
                return Answer(response.status, text.decode("utf-8", "replace"), response.headers.copy())
        except TimeoutError:
            raise Unreachable(f"{asked}: no answer within {within:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise Unreachable(f"{asked}: {problem or type(problem).__name__}") from None
