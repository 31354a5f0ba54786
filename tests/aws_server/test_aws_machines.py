"""Machines of the test server: when they are seen, run and go; how they are found."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.aws_server.asking import client, code, described, fleet, ids, pools, template
from tools.aws_server.statuses import impair, schedule
from tools.aws_server.world import Nonsense


@pytest.fixture
def ec2(aws_server: Any, aws_account: Any) -> Any:
    ec2 = client("ec2", aws_server.url)
    template(ec2, aws_account)
    return ec2


def buy(ec2: Any, account: Any, tags: dict[str, str] | None = None, count: int = 1) -> list[str]:
    wire = [{"Key": key, "Value": value} for key, value in (tags or {"a": "b"}).items()]
    asked = [{"ResourceType": "instance", "Tags": wire}]
    return ids(fleet(ec2, {"plain": pools(account, "m5.large")}, count=count, TagSpecifications=asked))


def states(ec2: Any) -> list[str]:
    return [one["State"]["Name"] for one in described(ec2)]


def test_a_machine_takes_its_time_to_run_and_to_go(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    world = aws_server.world
    world.waits.boot, world.waits.shutdown = 30.0, 60.0
    found = buy(ec2, aws_account)
    assert states(ec2) == ["pending"]
    world.forward(31)
    assert states(ec2) == ["running"]
    answer = ec2.terminate_instances(InstanceIds=found)["TerminatingInstances"]
    assert answer[0]["PreviousState"]["Name"] == "running"
    assert states(ec2) == ["shutting-down"]
    world.forward(61)
    assert states(ec2) == ["terminated"]
    world.forward(3601)
    assert states(ec2) == []


def test_describes_are_behind(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.waits.seen = 30.0
    found = buy(ec2, aws_account)
    assert described(ec2) == []
    with pytest.raises(ClientError) as caught:
        described(ec2, InstanceIds=found)
    assert code(caught) == "InvalidInstanceID.NotFound"
    aws_server.world.forward(31)
    assert [one["InstanceId"] for one in described(ec2, InstanceIds=found)] == found


def test_filters_of_the_same_name_hold_together(ec2: Any, aws_account: Any) -> None:
    buy(ec2, aws_account, {"a": "1"})
    (both,) = buy(ec2, aws_account, {"a": "1", "b": "2"})
    wanted = [{"Name": "tag-key", "Values": ["a"]}, {"Name": "tag-key", "Values": ["b"]}]
    assert [one["InstanceId"] for one in described(ec2, Filters=wanted)] == [both]
    assert len(described(ec2, Filters=[{"Name": "tag:a", "Values": ["1"]}])) == 2
    assert len(described(ec2, Filters=[{"Name": "tag:a", "Values": ["*"]}])) == 2
    assert described(ec2, Filters=[{"Name": "instance-lifecycle", "Values": ["spot"]}]) == []


def test_pages_hold_every_machine_once(ec2: Any, aws_account: Any) -> None:
    found = buy(ec2, aws_account, count=7)
    listed = ec2.get_paginator("describe_instances").paginate(PaginationConfig={"PageSize": 5})
    seen = [one["InstanceId"] for page in listed for held in page["Reservations"] for one in held["Instances"]]
    assert sorted(seen) == sorted(found)


def test_one_unknown_id_fails_a_whole_termination(ec2: Any, aws_account: Any) -> None:
    found = buy(ec2, aws_account)
    with pytest.raises(ClientError) as caught:
        ec2.terminate_instances(InstanceIds=[*found, "i-0"])
    assert code(caught) == "InvalidInstanceID.NotFound"
    assert states(ec2) == ["running"]


def test_terminating_twice_is_terminating_once(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    aws_server.world.waits.shutdown = 60.0
    found = buy(ec2, aws_account)
    ec2.terminate_instances(InstanceIds=found)
    aws_server.world.forward(40)
    ec2.terminate_instances(InstanceIds=found)
    aws_server.world.forward(40)
    assert states(ec2) == ["terminated"]


def test_addresses_come_back(ec2: Any, aws_account: Any) -> None:
    small = aws_account.add_subnet("us-east-1a", "10.0.255.240/28")
    answer = fleet(ec2, {"plain": [{"InstanceType": "m5.large", "SubnetId": small}]}, count=11)
    ec2.terminate_instances(InstanceIds=ids(answer))
    free = ec2.describe_subnets(SubnetIds=[small])["Subnets"][0]["AvailableIpAddressCount"]
    assert free == 11


def test_a_restart_is_counted(ec2: Any, aws_server: Any, aws_account: Any) -> None:
    (found,) = buy(ec2, aws_account)
    ec2.reboot_instances(InstanceIds=[found])
    assert aws_server.world.lives[found].boots == 1


def test_health_checks_and_events_are_told(ec2: Any, aws_account: Any) -> None:
    sick, well, planned = buy(ec2, aws_account, count=3)
    impair(sick, "SystemStatus")
    schedule(planned, "instance-retirement", 2e9)

    def found(name: str, *values: str) -> list[str]:
        answer = ec2.describe_instance_status(Filters=[{"Name": name, "Values": list(values)}])
        return [one["InstanceId"] for one in answer["InstanceStatuses"]]

    assert found("system-status.status", "impaired") == [sick]
    assert found("event.code", "instance-retirement", "system-reboot") == [planned]
    assert well in found("instance-status.status", "ok")


def test_every_call_is_counted_and_any_may_fail(ec2: Any, aws_server: Any) -> None:
    world = aws_server.world
    world.throttle("DescribeInstances", times=2)
    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            ec2.describe_instances()
        assert code(caught) == "RequestLimitExceeded"
    ec2.describe_instances()
    world.fail("*", Nonsense())
    with pytest.raises(ClientError) as caught:
        ec2.describe_subnets()
    assert code(caught) == "500"
    assert world.calls["DescribeInstances"] == 3
    assert world.calls["DescribeSubnets"] == 1


@pytest.mark.parametrize(("service", "ask"), [("iam", "list_roles"), ("sqs", "list_queues"), ("eks", "list_clusters")])
def test_other_services_fail_in_their_own_words(aws_server: Any, service: str, ask: str) -> None:
    aws_server.world.throttle()
    with pytest.raises(ClientError) as caught:
        getattr(client(service, aws_server.url), ask)()
    assert code(caught) == "RequestLimitExceeded"
