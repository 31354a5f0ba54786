"""Answers other than the true ones, taken by the next request they are meant for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


class Refused(Exception):
    """ARM says no, in its own form."""

    def __init__(self, status: int, code: str, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.headers = status, code, message, headers

    def response(self) -> web.Response:
        return error(self.status, self.code, self.message, self.headers)


def error(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    body = {"error": {"code": code, "message": message}}
    return web.json_response(body, status=status, headers=headers)


@dataclass
class Fault:
    """What befalls requests of this method whose path has `path` in it. With `lost` the work is done and the connection
    cut; `seconds` is how long it takes first; `text` is sent instead of an error in ARM's form."""

    method: str = ""
    path: str = ""
    status: int = 503
    code: str = "ServiceUnavailable"
    message: str = "The service is unavailable."
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    seconds: float = 0.0
    lost: bool = False
    #: Only slow: answered truly in the end.
    honest: bool = False
    text: str | None = None

    def fits(self, method: str, path: str) -> bool:
        return self.times > 0 and self.method in ("", method) and self.path.lower() in path.lower()

    def response(self) -> web.Response:
        if self.text is not None:
            return web.Response(status=self.status, text=self.text, headers=self.headers)
        return error(self.status, self.code, self.message, self.headers)


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
