"""What AWS's side does, as metrics: under the peer's names, and back-off under ours."""

from __future__ import annotations

import asyncio

import pytest
from tools.aws_server import AwsServer
from tools.aws_server.world import Refuse

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.access import Access, Pace
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.port import Throttled
from dovetail.controllers.aws_metrics import AwsMetrics, declare, declare_user_data
from dovetail.controllers.metrics import Metrics


def test_throttling_on_every_call_is_seen_in_calls_retries_and_seconds_waited(aws_server: AwsServer):
    metrics = Metrics()
    declare(metrics)
    waits: list[float] = []

    async def noted(seconds: float) -> None:
        waits.append(seconds)

    async def scenario() -> None:
        aws_server.world.fail_always("*", Refuse("RequestLimitExceeded", "slow down", 503))
        pace = Pace(sleep=noted)
        async with Aws(Access("us-east-1", aws_server.url, attempts=4), AwsMetrics(metrics), pace) as aws:
            with pytest.raises(Throttled):
                await aws.ask(calls.DESCRIBE_SUBNETS)

    asyncio.run(scenario())
    about = {"service": "ec2", "action": "DescribeSubnets"}
    assert metrics.value("aws_sdk_go_request_total", {**about, "code": "RequestLimitExceeded"}) == 4
    assert metrics.value("aws_sdk_go_request_retry_total", about) == 3 == len(waits)
    assert metrics.value("aws_backoff_seconds_total", about) == pytest.approx(sum(waits))
    assert 'dovetail_aws_backoff_seconds_total{service="ec2",action="DescribeSubnets"}' in metrics.text()


def test_machines_that_stay_and_user_data_have_the_peers_names():
    metrics = Metrics()
    declare(metrics)
    AwsMetrics(metrics).kept("us-east-1a", "use1-az1")
    declare_user_data(metrics, lambda: [("default", 1234)])
    told = metrics.text()
    name = "karpenter_cloudprovider_instance_termination_failures_total"
    assert f'{name}{{zone="us-east-1a",zone_id="use1-az1"}} 1' in told
    assert 'karpenter_ec2nodeclasses_userdata_bytes{nodeclass="default"} 1234' in told
