"""An AWS for tests: one server for the whole run, as new for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tools.aws_server import Account, AwsServer

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": "/nonexistent",
    "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
}
_UNSET = ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_SESSION_TOKEN")


@pytest.fixture(scope="session")
def aws_running() -> Iterator[AwsServer]:
    from botocore import session
    from tools.aws_server import AwsServer

    with pytest.MonkeyPatch.context() as patched, AwsServer() as server:
        # Each test has sessions of its own, and each session would read what AWS's services are, a megabyte, anew.
        patched.setattr(session, "create_loader", cache(session.create_loader))
        yield server


@pytest.fixture
def aws_server(aws_running: AwsServer, monkeypatch: pytest.MonkeyPatch) -> AwsServer:
    """The server, empty, and credentials that it takes; nothing of this machine's own AWS is looked at."""
    aws_running.reset()
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
    return aws_running


@pytest.fixture
def aws_account(aws_server: AwsServer) -> Account:
    """Something to launch into, in us-east-1."""
    return aws_server.furnished()
