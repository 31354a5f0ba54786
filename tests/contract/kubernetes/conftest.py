"""One suite, two servers: every row runs against the embedded server and against the real control plane.

A test here is a coroutine that takes `api` (requests to the server it is about) and mostly `namespace` (one of its
own). What the real server answers is right; a row is written against it first.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
from collections.abc import Iterator

import pytest
from tests.contract.kubernetes.embedded import running
from tests.contract.kubernetes.raw_api import Api, Server
from tests.contract.kubernetes.things import fresh
from tests.control_plane_plugin import GROUP
from tools.control_plane.start import ControlPlane

from dovetail.api.kinds import NAMESPACES, SERVICE_ACCOUNTS

# Every worker may have an embedded server of its own; of the real one there is one in a run.
SERVERS = ["embedded", pytest.param("real", marks=pytest.mark.xdist_group(GROUP))]


@pytest.fixture(scope="session")
def embedded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("embedded")) as server:
        yield server


@pytest.fixture(scope="session")
def real_server(shared_control_plane: ControlPlane) -> Server:
    real = shared_control_plane
    kubectl = real.programs.path("kubectl")

    def restart() -> None:
        real.stop_apiserver()
        real.compact()
        real.start_apiserver()

    return Server("real", real.kubeconfig, kubectl, real.compact, aged, restart, real.reissue_certificate)


def aged(token: str) -> str:
    """The token as if its list had been of version 1.

    The real server answers from snapshots in memory for up to fifteen seconds after etcd has forgotten a version; a
    version from before the kind existed is in no snapshot.
    """
    content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    forged = json.dumps({**content, "rv": 1}).encode()
    return base64.urlsafe_b64encode(forged).decode().rstrip("=")


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    if request.param == "real":
        request.getfixturevalue("control_plane")
    found = request.getfixturevalue(f"{request.param}_server")
    assert isinstance(found, Server)
    return found


@pytest.fixture
def api(server: Server) -> Api:
    return Api(server)


@pytest.fixture
def namespace(server: Server) -> str:
    """A namespace of the test's own, with the service account pods are admitted under."""
    name = fresh("contract")

    async def make() -> None:
        api = Api(server)
        try:
            (await api.post(NAMESPACES.path(), {"metadata": {"name": name}})).ok()
            made = await api.post(SERVICE_ACCOUNTS.path(namespace=name), {"metadata": {"name": "default"}})
            assert made.status in (201, 409), made.body  # a controller may have been quicker
        finally:
            await api.close()

    asyncio.run(make())
    return name


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine test in a loop of its own, and close its connections before the loop ends."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}

    async def scenario() -> None:
        try:
            await pyfuncitem.obj(**wanted)
        finally:
            if isinstance(api := pyfuncitem.funcargs.get("api"), Api):
                await api.close()

    asyncio.run(scenario())
    return True
