"""EventBridge's events as AWS sends them, and the queue they end up in.

EC2 here emits nothing by itself: a test says what happened, and the event goes the way it goes in an account, from a
rule on the default bus to the queue.
"""

from __future__ import annotations

import itertools
import json
from typing import Any, Final

from moto.events.models import events_backends
from moto.sqs.models import sqs_backends
from tools.aws_server.parameters import ACCOUNT
from tools.aws_server.wire import instant
from tools.aws_server.world import WORLD

_numbers = itertools.count(1)
Event = dict[str, Any]
_WARNINGS: Final = {
    "spot": "EC2 Spot Instance Interruption Warning",
    "rebalance": "EC2 Instance Rebalance Recommendation",
    "state": "EC2 Instance State-change Notification",
    "reservation": "EC2 Capacity Reservation Instance Interruption Warning",
}


def queue(name: str, region: str = "us-east-1") -> None:
    """An interruption queue as the peer's documentation sets it up, with rules that fill it."""
    made = sqs_backends[ACCOUNT][region].create_queue(name, {"MessageRetentionPeriod": "300"})
    events = events_backends[ACCOUNT][region]
    for number, source in enumerate(("aws.ec2", "aws.health")):
        rule = f"{name}-{number}"
        events.put_rule(name=rule, event_pattern=json.dumps({"source": [source]}), state="ENABLED")
        events.put_targets(rule, None, [{"Id": "queue", "Arn": made.queue_arn}])


def remove_queue(name: str, region: str = "us-east-1") -> None:
    del sqs_backends[ACCOUNT][region].queues[name]


def waiting(name: str, region: str = "us-east-1") -> int:
    """How many messages nobody has deleted."""
    held = sqs_backends[ACCOUNT][region].queues[name]
    return len(held.messages) + held.approximate_number_of_messages_not_visible


def show_again(name: str, region: str = "us-east-1") -> None:
    """As if everybody who has read a message had let its time run out."""
    held = sqs_backends[ACCOUNT][region].queues[name]
    for one in held._messages:
        one.visible_at = 0


def put(name: str, body: str, region: str = "us-east-1") -> None:
    """Something straight into the queue."""
    sqs_backends[ACCOUNT][region].send_message(name, body)


def send(event: Event, region: str = "us-east-1") -> None:
    """By way of EventBridge."""
    events_backends[ACCOUNT][region].put_events(
        [
            {
                "Source": event["source"],
                "DetailType": event["detail-type"],
                "Detail": json.dumps(event["detail"]),
                "Resources": event["resources"],
                "Time": WORLD.now,
            }
        ]
    )


def warning(kind: str, instance_id: str, **detail: Any) -> Event:
    """An event about one machine: spot, rebalance, state or reservation."""
    return event("aws.ec2", _WARNINGS[kind], {"instance-id": instance_id, **detail}, _arn(instance_id))


def maintenance(*instances: str, starts: str = "Sat, 5 Dec 2026 15:05:00 GMT", **detail: Any) -> Event:
    """AWS plans something with machines."""
    told = {
        "service": "EC2",
        "eventTypeCode": "AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED",
        "eventTypeCategory": "scheduledChange",
        "startTime": starts,
        "affectedEntities": [{"entityValue": one} for one in instances],
        **detail,
    }
    return event("aws.health", "AWS Health Event", told, *map(_arn, instances))


def event(source: str, detail_type: str, detail: Event, *resources: str) -> Event:
    return {
        "version": "0",
        "id": f"12345678-0000-0000-0000-{next(_numbers):012x}",
        "detail-type": detail_type,
        "source": source,
        "account": ACCOUNT,
        "time": instant(WORLD.now).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "us-east-1",
        "resources": list(resources),
        "detail": detail,
    }


def _arn(instance_id: str) -> str:
    return f"arn:aws:ec2:us-east-1:{ACCOUNT}:instance/{instance_id}"
