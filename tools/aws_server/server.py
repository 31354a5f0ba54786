"""The server: moto behind a door that counts and fails calls, and the services moto has not got."""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from flask import Flask
from moto.backends import get_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from tools.aws_server import (
    faults,
    fleets,
    graft,
    instances,
    placement,
    prices,
    profiles,
    remembered,
    reservations,
    running,
    statuses,
    templates,
    types,
)
from tools.aws_server.account import REGION, Account, furnish
from tools.aws_server.world import WORLD, Cut, World
from werkzeug.serving import make_server

_SUBJECTS: Final = (fleets, instances, placement, prices, reservations, running, statuses, templates, types)
#: moto's services that hold state here.
_SERVICES: Final = ("ec2", "iam", "sqs", "ssm", "eks", "events", "sts")
Environ = dict[str, Any]
StartResponse = Callable[..., Any]


def grafted() -> graft.Actions:
    """Every EC2 action answered by this package instead of moto."""
    return {name: answer for subject in _SUBJECTS for name, answer in subject.ACTIONS.items()}


class _Quiet(MotoRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002  (werkzeug's name)
        if type == "error":
            logging.getLogger("aws_server").warning(message, *args)


class AwsServer:
    """An AWS on a port of this machine, for as long as the `with` lasts."""

    def __init__(self, port: int = 0) -> None:
        # moto would make 1,301 images of other people for every new account and region.
        os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"
        graft.graft(grafted())
        faults.graft()
        profiles.graft()
        remembered.graft()
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._extra = _extra_services()
        self._server = make_server("127.0.0.1", port, self, threaded=True, request_handler=_Quiet)
        self._server.daemon_threads = True  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def world(self) -> World:
        return WORLD

    def __enter__(self) -> AwsServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def reset(self) -> None:
        """As new: no machines, templates, roles or faults."""
        for service in _SERVICES:
            get_backend(service).reset()
        WORLD.reset()

    def furnished(self, region: str = REGION, cluster: str = "test") -> Account:
        return furnish(region, cluster)

    def __call__(self, environ: Environ, start: StartResponse) -> Iterable[bytes]:
        app = self._extra.get(_service(environ))
        return (app or self._moto)(environ, start)


def _service(environ: Environ) -> str:
    """For which service a request was signed."""
    scope = environ.get("HTTP_AUTHORIZATION", "").split(",")[0].split("/")
    return scope[3] if len(scope) == 5 else ""


def _extra_services() -> dict[str, Flask]:
    """Services in JSON: Pricing, and the shifts of ARC."""
    return {
        "pricing": _json_service("pricing", {"GetProducts": prices.products}),
        "arc-zonal-shift": _json_service("arc-zonal-shift", {"GetManagedResource": _managed}),
    }


def _managed(_: graft.Answer) -> graft.Answer:
    return {"name": "cluster", "appliedWeights": {}, "zonalShifts": list(WORLD.zonal_shifts)}


def _json_service(service: str, actions: graft.Actions) -> Flask:
    from flask import request

    app = Flask(service)

    @app.route("/", defaults={"path": ""}, methods=["GET", "POST"])
    @app.route("/<path:path>", methods=["GET", "POST"])
    def answer(path: str) -> Any:
        name = request.headers.get("X-Amz-Target", "").rpartition(".")[2] or next(iter(actions))
        fault = WORLD.called(name)
        refusal = faults.before(fault, service)
        if refusal is not None:
            status, headers, body = refusal
            return body, status, headers
        found = json.dumps(actions[name](request.get_json(force=True, silent=True) or {}))
        if isinstance(fault, Cut):
            faults.after(fault)
        return found, 200, {"Content-Type": "application/x-amz-json-1.1"}

    return app
