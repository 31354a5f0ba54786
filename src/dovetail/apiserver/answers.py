"""Responses: bytes with a length, refusals as `Status`, and streams that may be cut by a scripted fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.storage import encode

if TYPE_CHECKING:
    from dovetail.apiserver.faults import Faults

JSON: Final = "application/json"


def ok(body: bytes | dict[str, Any], status: int = 200, media: str = JSON) -> web.Response:
    data = body if isinstance(body, bytes) else encode(body)
    return web.Response(body=data, status=status, headers={"Content-Type": media})


def refusal(problem: ApiError) -> web.Response:
    headers = {"Content-Type": JSON}
    if wait := problem.details.get("retryAfterSeconds"):
        headers["Retry-After"] = str(wait)
    return web.Response(body=encode(problem.status()), status=problem.code, headers=headers)


def success(details: dict[str, Any], status: int = 200) -> web.Response:
    found = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return ok(found | ({"details": details} if details else {}) | ({"code": status} if status != 200 else {}), status)


def text(body: str, status: int = 200) -> web.Response:
    return web.Response(text=body, status=status)


async def pieces(request: web.BaseRequest, found: Sequence[bytes]) -> web.StreamResponse:
    """A long answer, sent piece by piece; its length is known."""
    if len(found) <= 3:
        return ok(b"".join(found))
    response = web.StreamResponse(headers={"Content-Type": JSON})
    response.content_length = sum(len(piece) for piece in found)
    await response.prepare(request)
    for piece in found:
        await response.write(piece)
    await response.write_eof()
    return response


class Stream:
    """A watch's way out. A fault may have it break off in the middle of an object."""

    def __init__(self, request: web.BaseRequest, faults: Faults) -> None:
        self._request = request
        self._faults = faults
        self._response = web.StreamResponse(headers={"Content-Type": JSON, "Cache-Control": "no-cache, private"})
        self._response.enable_chunked_encoding()
        self._sent = 0

    async def open(self) -> web.StreamResponse:
        writer = await self._response.prepare(self._request)
        # A client waits for these; the first event may be hours away.
        if writer is not None and hasattr(writer, "send_headers"):
            writer.send_headers()
        return self._response

    async def write(self, data: bytes) -> None:
        limit = self._faults.cut_after
        if limit is not None and self._sent + len(data) > limit:
            self._faults.cut_after = None
            await self._response.write(data[: max(0, limit - self._sent)])
            self.abort()
            return
        self._sent += len(data)
        await self._response.write(data)

    def abort(self) -> None:
        """Break the connection, without an end."""
        if self._request.transport is not None:
            self._request.transport.abort()
