"""What Compute Engine says of instances, operations and disks, as far as it is read here."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from dovetail.clouds.port import Unavailable
from dovetail.core import timestamps
from dovetail.core.errors import BadInput


class Answer(msgspec.Struct, frozen=True, rename="camel"):
    """Fields nobody here reads are passed over."""


class AccessConfig(Answer, frozen=True):
    nat_ip: str = msgspec.field(default="", name="natIP")


class Interface(Answer, frozen=True):
    network_ip: str = msgspec.field(default="", name="networkIP")
    access_configs: tuple[AccessConfig, ...] = ()


class Scheduling(Answer, frozen=True):
    preemptible: bool = False
    provisioning_model: str = ""


class Instance(Answer, frozen=True):
    name: str
    zone: str
    status: str = ""
    creation_timestamp: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    scheduling: Scheduling = Scheduling()
    network_interfaces: tuple[Interface, ...] = ()

    @property
    def zone_name(self) -> str:
        return last(self.zone)


class Problem(Answer, frozen=True):
    code: str = ""
    message: str = ""


class Problems(Answer, frozen=True):
    errors: tuple[Problem, ...] = ()


class Operation(Answer, frozen=True):
    """Work under way. `error` is how it went wrong, if it did; until it is done that is not known."""

    name: str
    status: str = ""
    target_link: str = ""
    operation_type: str = ""
    error: Problems = Problems()
    http_error_status_code: int = 0
    http_error_message: str = ""
    insert_time: str = ""

    @property
    def begun(self) -> float:
        """When it began; long ago where nobody says."""
        try:
            return timestamps.seconds(self.insert_time)
        except BadInput:
            return 0.0

    @property
    def is_done(self) -> bool:
        return self.status == "DONE"

    @property
    def problem(self) -> Problem | None:
        if self.error.errors:
            return self.error.errors[0]
        return Problem("", self.http_error_message) if self.http_error_status_code >= 400 else None


class Disk(Answer, frozen=True):
    name: str
    zone: str
    #: Instances it is attached to.
    users: tuple[str, ...] = ()
    status: str = ""

    @property
    def zone_name(self) -> str:
        return last(self.zone)


A = TypeVar("A", bound=Answer)


def read(kind: type[A], wire: dict[str, Any]) -> A:
    try:
        return msgspec.convert(wire, kind)
    except msgspec.ValidationError as bad:
        raise Unavailable(f"GCP described its {kind.__name__.lower()} so that it cannot be read: {bad}") from bad


def last(link: str) -> str:
    """The name at the end of a link to something."""
    return link.rpartition("/")[2]
