"""Machines of Cluster API on EC2, in this process: `live_machines`, but what is bought is bought with the real SDK from
the test server, in virtual time. A process that is started anew knows nothing of what the one before it made."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from moto.ec2.models import ec2_backends
from tests.live.aws_time import AwsLoop, HeldAws
from tests.live.live_machines import LiveMachines
from tools.aws_server import Account, AwsServer
from tools.aws_server.instances import view
from tools.aws_server.lives import end, everyone, is_live
from tools.aws_server.parameters import ACCOUNT

from dovetail.clouds.aws.machines import states
from dovetail.clouds.aws.machines.ec2 import Ec2Machines, Habits
from dovetail.core.machines.infra_objects import Found

ZONE = "us-east-1a"


class Ec2Cloud(Ec2Machines):
    """What is bought from, and what EC2 itself knows about it."""

    def __init__(self, aws: HeldAws, habits: Habits, server: AwsServer) -> None:
        super().__init__(aws, habits)
        self._server = server

    @property
    def running(self) -> tuple[Found, ...]:
        """What is paid for."""
        return tuple(states.found(view(one)) for one in everyone(_backend()) if is_live(one))

    @property
    def made(self) -> int:
        return len(self._server.world.runs)

    @property
    def parts(self) -> int:
        """Disks and interfaces that are left."""
        return len(_backend().volumes) + len(_backend().enis)

    def take_away(self, name: str) -> None:
        """EC2 wants it back."""
        for one in everyone(_backend()):
            if states.found(view(one)).name == name and is_live(one):
                end(one)


def _backend() -> Any:
    return ec2_backends[ACCOUNT]["us-east-1"]


def left_on_ec2() -> list[str]:
    """Instances that are paid for, disks and interfaces."""
    backend = _backend()
    up = [states.found(view(one)).name for one in everyone(backend) if is_live(one)]
    return [*up, *backend.volumes, *backend.enis]


class LiveEc2(LiveMachines):
    """One cluster and its account. Instances boot for five seconds, and describes are three behind."""

    cloud: Ec2Cloud

    def __init__(self, server: AwsServer, account: Account) -> None:
        super().__init__()
        self.ec2, self.account = server, account
        self.asked = {"ami": {"id": account.images["al2023", "x86_64"]}, "subnet": {"id": account.subnets[ZONE]}}
        loop = asyncio.get_running_loop()
        assert isinstance(loop, AwsLoop)
        world = server.world
        world.clock, world.waits.boot, world.waits.shutdown, world.waits.seen = loop.date, 5.0, 3.0, 3.0

    async def __aenter__(self) -> Self:
        self.aws = await self._opened.enter_async_context(HeldAws(self.ec2.url))
        return await super().__aenter__()

    def start(self) -> None:
        self.cloud = Ec2Cloud(self.aws, Habits(self.world.now), self.ec2)
        super().start()

    async def stop(self) -> None:
        await super().stop()
        await self.cloud.close()

    # ---- what EC2 has

    @property
    def bought(self) -> list[str]:
        tags = (one["TagSpecifications"][0]["Tags"] for one in self.ec2.world.runs)
        return [next(tag["Value"] for tag in held if tag["Key"] == "Name") for held in tags]

    def vanish(self) -> None:
        for one in everyone(_backend()):
            end(one)
