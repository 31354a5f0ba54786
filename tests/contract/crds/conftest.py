"""The two servers of the contract suite, for the table of resources."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contract.kubernetes.conftest import SERVERS, embedded_server, real_server, server

__all__ = ["embedded_server", "real_server", "server", "verdicts"]


@pytest.fixture(params=SERVERS)
def verdicts(request: pytest.FixtureRequest) -> Any:
    """What one server says to every row, asked once."""
    return request.getfixturevalue(f"{request.param}_verdicts")
