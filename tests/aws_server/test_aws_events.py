"""The interruption queue of the test server, seen by a plain SDK: events come the way they do in an account."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError
from tests.aws_server.asking import client
from tools.aws_server import AwsServer, events


def received(server: AwsServer, name: str = "q") -> list[dict]:
    sqs = client("sqs", server.url)
    url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=20)
    return [json.loads(one["Body"]) for one in found.get("Messages", [])]


def test_an_event_of_ec2_or_health_ends_up_in_the_queue_and_others_do_not(aws_server: AwsServer) -> None:
    events.queue("q")
    for one in (
        events.warning("spot", "i-1", **{"instance-action": "terminate"}),
        events.maintenance("i-2"),
        events.event("aws.s3", "Object Created", {"bucket": "b"}),
    ):
        events.send(one)
    found = received(aws_server)
    assert {one["detail-type"] for one in found} == {"EC2 Spot Instance Interruption Warning", "AWS Health Event"}
    assert all(one["version"] == "0" and one["id"] and one["time"] for one in found)


def test_a_message_that_was_read_is_hidden_until_its_time_is_over(aws_server: AwsServer) -> None:
    events.queue("q")
    events.put("q", json.dumps(events.warning("state", "i-1", state="stopped")))
    assert len(received(aws_server)) == 1
    assert received(aws_server) == []
    assert events.waiting("q") == 1
    events.show_again("q")
    assert len(received(aws_server)) == 1


def test_a_queue_that_was_removed_is_not_there(aws_server: AwsServer) -> None:
    events.queue("q")
    events.remove_queue("q")
    with pytest.raises(ClientError, match="NonExistentQueue"):
        client("sqs", aws_server.url).get_queue_url(QueueName="q")
