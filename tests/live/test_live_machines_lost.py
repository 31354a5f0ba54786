"""An instance that is gone before its id is on record is not bought again (R9, R10).

The process is ended between its order and the record of its instance's id, the cloud takes back and forgets whatever it
has made, and another process finds nothing. Whether there was something it knows from what was written before: where
there was, the Machine has failed and its set makes another; where there was not, it is bought as ever.
"""

from __future__ import annotations

import pytest
from tests.live import aws_time, virtual_time
from tests.live.dying import After, watched
from tests.live.live_azure_machines import LiveAzure
from tests.live.live_ec2_machines import LiveEc2
from tests.live.live_gcp_machines import LiveGcp
from tests.live.live_machines import LiveMachines
from tools.aws_server import Account, AwsServer
from tools.gcp_server import GcpServer

from dovetail.api import kinds
from dovetail.core.machines import names
from dovetail.core.machines.effects import Buy, Effect, SaveInfra

SPOT = {"sim": {}, "aws": {}, "gcp": {"provisioningModel": "Spot"}, "azure": {"evictionPolicy": "Delete"}}
SLOW = ("gcp", "azure")


def is_ordered(effect: Effect) -> bool:
    return isinstance(effect, SaveInfra) and names.ORDERED in effect.after.meta.annotations


def is_answered(effect: Effect) -> bool:
    return isinstance(effect, Buy)


def is_taken(effect: Effect) -> bool:
    return (
        is_ordered(effect) and isinstance(effect, SaveInfra) and "taken" in effect.after.meta.annotations[names.ORDERED]
    )


class Lost:
    """A set of one machine, whose process dies once."""

    def __init__(self, server: AwsServer, account: Account, gcp: GcpServer) -> None:
        self.makes = {
            "sim": LiveMachines,
            "aws": lambda: LiveEc2(server, account),
            "gcp": lambda: LiveGcp(gcp),
            "azure": LiveAzure,
        }

    def run(self, cloud: str, killer: After, away: float = 0.0) -> tuple[list[str], list[str]]:
        """Names of what was bought in the end, and of Machines that failed."""
        found: list[tuple[list[str], list[str]]] = []
        started = virtual_time.run if cloud in ("sim", "azure") else aws_time.run
        started(self._life(cloud, killer, away, found))
        return found[0]

    async def _life(self, cloud: str, killer: After, away: float, found: list[tuple[list[str], list[str]]]) -> None:
        one = self.makes[cloud]()
        one.boundary = killer
        async with one, watched(one, one.vanish, away):
            one.check()
            one.workers(1, spot=SPOT[cloud])
            await one.until(lambda: killer.where, 600)
            await one.until(lambda: one.running() == 1, 1200 + away)
            failed = [said.about.name for said in one.said if said.reason == "InstanceNotFound"]
            found.append((one.bought, failed))
            one.delete(kinds.MACHINE_SETS, "s")
            await one.until(lambda: one.is_empty() and not one.all(kinds.MACHINE_SETS), 600)
            assert one.cloud.running == ()


@pytest.fixture
def lost(aws_server: AwsServer, aws_account: Account, gcp_server: GcpServer) -> Lost:
    return Lost(aws_server, aws_account, gcp_server)


@pytest.mark.parametrize("cloud", list(SPOT))
def test_R9_an_order_that_was_on_record_and_never_sent_is_sent_by_the_next_process(lost: Lost, cloud: str):
    bought, failed = lost.run(cloud, After(is_ordered))
    assert (len(bought), failed) == (1, [])


@pytest.mark.parametrize("cloud", list(SPOT))
def test_R10_an_instance_that_is_gone_before_its_id_is_on_record_is_not_bought_again(lost: Lost, cloud: str):
    bought, failed = lost.run(cloud, After(is_answered))
    assert len(bought) == len(set(bought)) == 2
    assert cloud == "aws" or failed == [bought[0]]


@pytest.mark.parametrize("cloud", SLOW)
def test_R10_nor_is_one_whose_order_the_cloud_had_taken(lost: Lost, cloud: str):
    bought, failed = lost.run(cloud, After(is_taken))
    assert len(bought) == len(set(bought)) == 2
    assert failed == [bought[0]]


def test_R10_an_order_from_so_long_ago_that_no_cloud_remembers_it_is_not_sent_again(lost: Lost):
    bought, failed = lost.run("sim", After(is_ordered), away=7200.0)
    assert len(bought) == 1
    assert len(failed) == 1
    assert failed != bought
