"""Clouds of single instances that need a server."""

from __future__ import annotations

import pytest
from tests.contract.machines import aws_machines, azure_machines, gcp_machines
from tests.contract.machines.worlds import World
from tools.aws_server import Account, AwsServer
from tools.gcp_server import GcpServer


@pytest.fixture
def aws(aws_server: AwsServer, aws_account: Account) -> World:
    return aws_machines.aws_world(aws_server, aws_account)


@pytest.fixture
def azure() -> World:
    return azure_machines.azure_world()


@pytest.fixture
def gcp(gcp_server: GcpServer) -> World:
    return gcp_machines.gcp_world(gcp_server)
