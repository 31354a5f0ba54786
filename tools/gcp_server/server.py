"""The server: Compute Engine's paths over HTTP, each call under its REST name, with what was asked kept in `asked`."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from tools.gcp_server.faults import Fault, Faults
from tools.gcp_server.partial import chosen, cut
from tools.gcp_server.refusals import Refused
from tools.gcp_server.world import GcpWorld

Json = dict[str, Any]
LOOPBACK: Final = "127.0.0.1"
_ZONE: Final = r"/compute/v1/projects/(?P<project>[^/]+)/zones/(?P<zone>[^/]+)"
_ALL: Final = r"/compute/v1/projects/(?P<project>[^/]+)/aggregated"
ROUTES: Final = tuple(
    (name, method, re.compile(path))
    for name, method, path in (
        ("instances.insert", "POST", rf"{_ZONE}/instances"),
        ("instances.get", "GET", rf"{_ZONE}/instances/(?P<name>[^/]+)"),
        ("instances.delete", "DELETE", rf"{_ZONE}/instances/(?P<name>[^/]+)"),
        ("instances.list", "GET", rf"{_ALL}/instances"),
        ("operations.get", "GET", rf"{_ZONE}/operations/(?P<name>[^/]+)"),
        ("operations.list", "GET", rf"{_ALL}/operations"),
        ("disks.list", "GET", rf"{_ALL}/disks"),
        ("disks.delete", "DELETE", rf"{_ZONE}/disks/(?P<name>[^/]+)"),
    )
)
#: One comparison of a filter: labels.key = "value", labels.key:*, status != "DONE", targetLink eq ".*/pattern".
_TERM: Final = re.compile(r'([\w.-]+)\s*(!=|=|:|\beq\b)\s*(?:"([^"]*)"|(\*)|(\w+))')


@dataclass
class Asked:
    call: str
    path: str
    query: dict[str, str]
    body: Json | None


@dataclass
class GcpServer:
    """One server on loopback; `url` is the endpoint."""

    world: GcpWorld = field(default_factory=GcpWorld)
    faults: Faults = field(default_factory=Faults)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Self:
        outer = self

        class Handler(_Handler):
            gcp = outer

        self._http = ThreadingHTTPServer((LOOPBACK, self.port), Handler)
        self._http.daemon_threads = True
        self.port = self._http.server_port
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True, name="gcp server").start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def reset(self, world: GcpWorld | None = None) -> None:
        """As new."""
        self.world, self.asked = world or GcpWorld(), []
        self.faults.clear()

    def calls(self, name: str = "") -> int:
        return sum(one.call == name or not name for one in self.asked)

    # ---- answering

    def answer(self, asked: Asked, found: dict[str, str], code: str) -> Json:
        world, zone, name = self.world, found.get("zone", ""), found.get("name", "")
        with world.lock:
            match asked.call:
                case "instances.insert":
                    return world.insert(zone, asked.body or {}, asked.query.get("requestId", ""), code)
                case "instances.get":
                    return world.get(zone, name)
                case "instances.delete":
                    return world.delete(zone, name, code)
                case "operations.get":
                    return world.operation(zone, name)
                case "disks.delete":
                    return world.delete_disk(zone, name)
                case _:
                    return self._listed(asked)

    def _listed(self, asked: Asked) -> Json:
        world, now = self.world, self.world.passed()
        kind = asked.call.partition(".")[0]
        held: dict[str, Callable[[], list[Json]]] = {
            "instances": world.listed,
            "disks": lambda: list(world.disks.values()),
            "operations": lambda: [world.shown_operation(one, now) for one in world.operations.values()],
        }
        matching = [one for one in held[kind]() if fits(one, asked.query.get("filter", ""))]
        size, start = int(asked.query.get("maxResults", "500")), int(asked.query.get("pageToken") or 0)
        items: Json = {}
        for one in matching[start : start + size]:
            zone = one["zone"].rpartition("/")[2]
            items.setdefault(f"zones/{zone}", {}).setdefault(kind, []).append(one)
        told: Json = {"items": items}
        return told | ({"nextPageToken": str(start + size)} if start + size < len(matching) else {})


def fits(one: Json, text: str) -> bool:
    terms = _TERM.findall(text)
    assert terms or not text, f"a filter nobody reads: {text}"
    for path, sign, quoted, star, word in terms:
        held: Any = one
        for part in path.split(".", 1):
            held = held.get(part) if isinstance(held, dict) else None
        if not (held is not None if star else _compared(sign, held, quoted or word)):
            return False
    return True


def _compared(sign: str, held: object, value: str) -> bool:
    if sign == "eq":
        return re.fullmatch(value, str(held)) is not None
    return (held == value) == (sign == "=")


class _Handler(BaseHTTPRequestHandler):
    gcp: GcpServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def _do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        for name, method, path in ROUTES:
            found = path.fullmatch(url.path)
            if found and method == self.command:
                asked = Asked(name, url.path, query, json.loads(body) if body else None)
                break
        else:
            asked, found = Asked("unknown", url.path, query, None), None
        self.gcp.asked.append(asked)
        self._answer(asked, found.groupdict() if found else {})

    do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _do  # noqa: N815  (the names http.server calls)

    def _answer(self, asked: Asked, found: dict[str, str]) -> None:
        fault = self.gcp.faults.take(asked.call)
        if fault is not None and fault.seconds:
            time.sleep(fault.seconds)
        if fault is not None and not fault.code and not fault.after:
            self._fail(fault)
            return
        try:
            if asked.call == "unknown":
                raise Refused(404, "notFound", f"{self.command} {asked.path} is not known here")
            told = self.gcp.answer(asked, found, fault.code if fault else "")
            if "fields" in asked.query:
                told = cut(told, chosen(asked.query["fields"]))
        except Refused as refused:
            self._send(refused.status, _error(refused.status, refused.reason, refused.message))
            return
        if fault is not None and fault.after:
            self._fail(fault)
        else:
            self._send(200, told)

    def _fail(self, fault: Fault) -> None:
        if not fault.status:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault.text:
            self._write(fault.status, fault.text.encode(), "text/html", fault.headers)
        else:
            self._send(fault.status, _error(fault.status, fault.reason, fault.message), fault.headers)

    def _send(self, status: int, told: Json, headers: dict[str, str] | None = None) -> None:
        self._write(status, json.dumps(told).encode(), "application/json", headers or {})

    def _write(self, status: int, data: bytes, kind: str, headers: dict[str, str]) -> None:
        """All at once: in two pieces the second would wait for the first's acknowledgement."""
        lines = {"Content-Type": kind, "Content-Length": str(len(data)), **headers}
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        head += "".join(f"{key}: {value}\r\n" for key, value in lines.items())
        try:
            self.wfile.write(head.encode() + b"\r\n" + data)
        except OSError:
            # Whoever asked is gone.
            self.close_connection = True


def _error(status: int, reason: str, message: str) -> Json:
    return {
        "error": {
            "code": status,
            "message": message,
            "errors": [{"message": message, "domain": "global", "reason": reason}],
        }
    }
