"""A Compute Engine for tests: one server for the whole run, as new for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tools.gcp_server import GcpServer


@pytest.fixture(scope="session")
def gcp_running() -> Iterator[GcpServer]:
    from tools.gcp_server import GcpServer

    with GcpServer() as server:
        yield server


@pytest.fixture
def gcp_server(gcp_running: GcpServer) -> GcpServer:
    """The server, empty. What is asked of it carries no credentials."""
    gcp_running.reset()
    return gcp_running
