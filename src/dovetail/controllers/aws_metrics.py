"""What AWS's side tells, as metrics: calls and back-off, batches, pools that had none, and how old prices are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from dovetail.controllers.metrics import Metrics

if TYPE_CHECKING:
    from dovetail.clouds.aws.calls import Call
    from dovetail.clouds.aws.options import Miss

#: What only dovetail has.
_OURS: Final = "dovetail_"
_CALL: Final = ("service", "action")


def declare(metrics: Metrics) -> None:
    counter, histogram = metrics.counter, metrics.histogram
    counter("aws_sdk_go_request_total", "Calls to AWS that were answered, by code.", *_CALL, "code")
    counter("aws_sdk_go_request_retry_total", "Calls to AWS that were made again.", *_CALL)
    histogram("aws_sdk_go_request_duration_seconds", "How long AWS took to answer.", *_CALL)
    counter("aws_backoff_seconds_total", "Seconds waited before calls were made again.", *_CALL, prefix=_OURS)
    histogram("cloudprovider_batcher_batch_size", "How many wishes became one call.", "batcher")
    histogram("cloudprovider_batcher_batch_time_seconds", "For how long wishes were collected.", "batcher")
    counter("interruption_received_messages_total", "Messages of the interruption queue, by kind.", "message_type")
    counter("interruption_deleted_messages_total", "Messages of the interruption queue that were dealt with.")
    counter("interruption_parked_messages_total", "Messages that nobody could read.", prefix=_OURS)
    histogram("interruption_message_queue_duration_seconds", "From an event until its message was read.")
    unhealthy = "interruption_instance_status_unhealthy_total"
    counter(unhealthy, "Machines that AWS's own checks found unwell.", "category")
    missed = ("zone", "zone_id", "capacity_type", "reason")
    counter("cloudprovider_instance_launch_failures_total", "Pools a fleet could not be filled from.", *missed)
    kept = "cloudprovider_instance_termination_failures_total"
    counter(kept, "Machines that could not be ended.", "zone", "zone_id")


class _Messages:
    """`clouds.aws.interruption.Watch`."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def received(self, kind: str) -> None:
        self._metrics.count("interruption_received_messages_total", {"message_type": kind})

    def deleted(self, number: int) -> None:
        self._metrics.count("interruption_deleted_messages_total", {}, number)

    def parked(self, why: str) -> None:
        self._metrics.count("interruption_parked_messages_total", {})

    def waited(self, seconds: float) -> None:
        self._metrics.observe("interruption_message_queue_duration_seconds", {}, seconds)


class AwsMetrics:
    """`clouds.aws.access.Watch` and `clouds.aws.options.Ears` in one, as both only count."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics, self.interruptions = metrics, _Messages(metrics)

    def called(self, call: Call, seconds: float, code: str) -> None:
        about = {"service": call.service, "action": call.name}
        self._metrics.count("aws_sdk_go_request_total", {**about, "code": code or "ok"})
        self._metrics.observe("aws_sdk_go_request_duration_seconds", about, seconds)

    def waited(self, call: Call, seconds: float) -> None:
        about = {"service": call.service, "action": call.name}
        self._metrics.count("aws_sdk_go_request_retry_total", about)
        self._metrics.count("aws_backoff_seconds_total", about, seconds)

    def batched(self, batcher: str, size: int, seconds: float) -> None:
        self._metrics.observe("cloudprovider_batcher_batch_size", {"batcher": batcher}, float(size))
        self._metrics.observe("cloudprovider_batcher_batch_time_seconds", {"batcher": batcher}, seconds)

    def missed(self, one: Miss) -> None:
        about = {"zone": one.zone, "zone_id": one.zone_id, "capacity_type": one.capacity_type, "reason": one.reason}
        self._metrics.count("cloudprovider_instance_launch_failures_total", about)

    def kept(self, zone: str, zone_id: str) -> None:
        self._metrics.count("cloudprovider_instance_termination_failures_total", {"zone": zone, "zone_id": zone_id})

    def unhealthy(self, category: str) -> None:
        """`clouds.aws.upkeep.Habits.counted`."""
        self._metrics.count("interruption_instance_status_unhealthy_total", {"category": category})


def declare_ages(metrics: Metrics, ages: Callable[[], Iterable[tuple[str, float]]]) -> None:
    """How long ago what is known of types and prices was true."""
    metrics.gauge(
        "catalog_age_seconds",
        "How old what is known of instance types and prices is.",
        lambda: (({"subject": subject}, age) for subject, age in ages()),
        "subject",
        prefix=_OURS,
    )


def declare_user_data(metrics: Metrics, sizes: Callable[[], Iterable[tuple[str, int]]]) -> None:
    """How much of the user data that EC2 takes the classes need."""
    metrics.gauge(
        "ec2nodeclasses_userdata_bytes",
        "User data of a class's machines, without what pools add.",
        lambda: (({"nodeclass": name}, float(size)) for name, size in sizes()),
        "nodeclass",
    )
