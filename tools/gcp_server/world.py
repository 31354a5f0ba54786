"""What there is: instances with their disks, and operations that take time.

Nothing runs here: whoever asks brings the time along, and everything that would have happened by then happens first. So
a day passes as fast as a test's clock. As in Compute Engine:

- a request id that is known is answered with its operation, however that went; after an hour it is forgotten;
- an instance is PROVISIONING while its operation runs, then STAGING, then RUNNING; if the operation fails it was never
  there; with `lag_seconds` it is not even shown for a while;
- one that is preempted is STOPPING for half a minute and then TERMINATED, or deleted where that was asked for;
- a preemptible one is, after a day at the latest; one with `maxRunDuration` when that is over;
- deleting takes an operation, and another delete meanwhile is refused as not ready; disks go with it if they may.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from tools.gcp_server import refusals
from tools.gcp_server.refusals import Refused

Json = dict[str, Any]
DAY: Final = 86400.0
NOTICE: Final = 30.0
REMEMBERED: Final = 3600.0
_STATUSES: Final = {"ZONE_RESOURCE_POOL_EXHAUSTED": 503, "QUOTA_EXCEEDED": 403, "RESOURCE_NOT_FOUND": 404}
COMPUTE: Final = "https://www.googleapis.com/compute/v1"


def date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


@dataclass
class Instance:
    body: Json
    zone: str
    number: int
    made: float
    #: When its operation is over, and when it runs.
    settled: float
    runs: float
    #: From when it stops, and what becomes of it then.
    stops: float | None = None
    deletes: float | None = None
    ends_deleted: bool = False

    @property
    def name(self) -> str:
        return str(self.body["name"])

    @property
    def scheduling(self) -> Json:
        found: Json = self.body.get("scheduling", {})
        return found

    @property
    def is_spot(self) -> bool:
        return self.scheduling.get("provisioningModel") == "SPOT"

    @property
    def is_preemptible(self) -> bool:
        return self.is_spot or bool(self.scheduling.get("preemptible"))

    def last_moment(self) -> float | None:
        """When Compute Engine ends it by itself."""
        if "maxRunDuration" in self.scheduling:
            return self.runs + float(self.scheduling["maxRunDuration"]["seconds"])
        return self.runs + DAY if self.is_preemptible and not self.is_spot else None

    def status(self, now: float) -> str:
        if self.deletes is not None:
            return "STOPPING"
        if self.stops is not None:
            return "STOPPING" if now < self.stops + NOTICE else "TERMINATED"
        if now < self.settled:
            return "PROVISIONING"
        return "RUNNING" if now >= self.runs else "STAGING"


@dataclass
class Operation:
    name: str
    kind: str
    zone: str
    target: str
    began: float
    ends: float
    code: str = ""
    message: str = ""
    #: Whether what it began was undone, since it failed.
    undone: bool = False


@dataclass
class GcpWorld:
    """One project. Everything is asked under its lock."""

    project: str = "p"
    clock: Callable[[], float] = time.time
    operation_seconds: float = 0.0
    boot_seconds: float = 0.0
    lag_seconds: float = 0.0
    #: Types of which there are none, "type" or "type/zone"; and how many instances the quota allows.
    sold_out: set[str] = field(default_factory=set)
    quota: int | None = None
    #: Images, subnets and types that do not exist, by any part of their name.
    missing: set[str] = field(default_factory=set)
    instances: dict[tuple[str, str], Instance] = field(default_factory=dict)
    disks: dict[tuple[str, str], Json] = field(default_factory=dict)
    operations: dict[str, Operation] = field(default_factory=dict)
    #: How many were ever made, and the bodies they were ordered with.
    made: int = 0
    orders: list[Json] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    _requests: dict[str, Operation] = field(default_factory=dict)
    _count: int = 0

    # ---- levers

    def preempt(self, name: str) -> None:
        """The capacity is wanted back."""
        with self.lock:
            one = self._named(name)
            assert one.is_preemptible, f"{name} cannot be preempted"
            self._stop(one, self.clock())

    def stop(self, name: str) -> None:
        """Somebody stops it in the console: it is stopped at once."""
        with self.lock:
            self._named(name).stops = self.clock() - NOTICE

    def age(self, name: str, seconds: float) -> None:
        """It was made so much earlier."""
        with self.lock:
            one = self._named(name)
            one.made, one.settled, one.runs = one.made - seconds, one.settled - seconds, one.runs - seconds

    def forget(self, name: str, *, keep_disks: bool = False) -> None:
        """Somebody deletes it in the console."""
        with self.lock:
            one = self._named(name)
            self._gone(one, keep_disks=keep_disks)

    def running(self) -> list[Json]:
        return [one for one in self.listed() if one["status"] in ("PROVISIONING", "STAGING", "RUNNING")]

    def _named(self, name: str) -> Instance:
        return next(one for one in self.instances.values() if one.name == name)

    # ---- what has happened by now

    def passed(self) -> float:
        now = self.clock()
        for one in list(self.instances.values()):
            last = one.last_moment()
            if one.stops is None and last is not None and now >= last:
                self._stop(one, last)
            deleted = one.deletes is not None and now >= one.deletes
            ended = one.ends_deleted and one.stops is not None and now >= one.stops + NOTICE
            if deleted or ended:
                self._gone(one)
        for operation in self.operations.values():
            key, failed = (operation.zone, operation.target), operation.kind == "insert" and operation.code
            if failed and not operation.undone and now >= operation.ends and key in self.instances:
                self._gone(self.instances[key])
                operation.undone = True
        return now

    def _stop(self, one: Instance, when: float) -> None:
        one.stops = when
        one.ends_deleted = one.scheduling.get("instanceTerminationAction") == "DELETE"

    def _gone(self, one: Instance, *, keep_disks: bool = False) -> None:
        self.instances.pop((one.zone, one.name), None)
        for disk in one.body["disks"]:
            key = (one.zone, disk["made"]) if "made" in disk else None
            if key in self.disks:
                self.disks[key]["users"] = []
                if disk.get("autoDelete") and not keep_disks:
                    del self.disks[key]

    # ---- calls

    def insert(self, zone: str, body: Json, request_id: str, code: str = "") -> Json:
        now = self.passed()
        if request_id:
            refusals.request_id(request_id)
            known = self._requests.get(request_id)
            if known is not None and now - known.began < REMEMBERED:
                return self.shown_operation(known, now)
        refusals.instance(body)
        self._exists(body)
        if (zone, body["name"]) in self.instances:
            link = f"projects/{self.project}/zones/{zone}/instances/{body['name']}"
            raise Refused(409, "alreadyExists", f"The resource '{link}' already exists")
        if (zone, body["name"]) in self.disks:
            link = f"projects/{self.project}/zones/{zone}/disks/{body['name']}"
            raise Refused(409, "alreadyExists", f"The resource '{link}' already exists")
        self.orders.append(copy.deepcopy(body))
        operation = self._begun("insert", zone, body["name"], now)
        operation.code, operation.message = self._refused(body, zone, code)
        if request_id:
            self._requests[request_id] = operation
        self._appear(body, zone, operation)
        return self.shown_operation(operation, now)

    def _exists(self, body: Json) -> None:
        boot = next(one["initializeParams"]["sourceImage"] for one in body["disks"] if one.get("boot"))
        links = [boot, body["machineType"], *(one.get("subnetwork", "") for one in body["networkInterfaces"])]
        for link in links:
            if any(part in link for part in self.missing):
                raise Refused(404, "notFound", f"The resource '{link}' was not found")

    def _refused(self, body: Json, zone: str, code: str) -> tuple[str, str]:
        kind = body["machineType"].rpartition("/")[2]
        if code:
            return code, f"The operation failed: {code}"
        if {kind, f"{kind}/{zone}"} & self.sold_out:
            link = f"projects/{self.project}/zones/{zone}"
            told = f"The zone '{link}' does not have enough resources available to fulfill the request"
            return "ZONE_RESOURCE_POOL_EXHAUSTED", told
        if self.quota is not None and len(self.instances) >= self.quota:
            return "QUOTA_EXCEEDED", "Quota 'PREEMPTIBLE_CPUS' exceeded. Limit: 8.0 in region"
        return "", ""

    def _appear(self, body: Json, zone: str, operation: Operation) -> None:
        self._count += 1
        held = copy.deepcopy(body)
        one = Instance(held, zone, self._count, operation.began, operation.ends, operation.ends + self.boot_seconds)
        self.instances[zone, body["name"]] = one
        self.made += not operation.code
        for at, disk in enumerate(held["disks"]):
            if disk.get("type") == "SCRATCH":
                continue
            disk["made"] = body["name"] if at == 0 else f"{body['name']}-{at}"
            link = f"{COMPUTE}/projects/{self.project}/zones/{zone}"
            self.disks[zone, disk["made"]] = {
                "name": disk["made"],
                "zone": link,
                "labels": disk.get("initializeParams", {}).get("labels", {}),
                "users": [f"{link}/instances/{body['name']}"],
                "status": "READY",
            }

    def get(self, zone: str, name: str) -> Json:
        now = self.passed()
        one = self.instances.get((zone, name))
        if one is None or now < one.made + self.lag_seconds:
            link = f"projects/{self.project}/zones/{zone}/instances/{name}"
            raise Refused(404, "notFound", f"The resource '{link}' was not found")
        return self.shown(one, now)

    def listed(self) -> list[Json]:
        with self.lock:
            now = self.passed()
            return [self.shown(one, now) for one in self.instances.values() if now >= one.made + self.lag_seconds]

    def delete(self, zone: str, name: str, code: str = "") -> Json:
        now = self.passed()
        self.get(zone, name)
        one = self.instances[zone, name]
        if one.deletes is not None:
            raise Refused(400, "resourceNotReady", f"The resource '{name}' is not ready")
        operation = self._begun("delete", zone, name, now)
        if code:
            operation.code, operation.message = code, f"The operation failed: {code}"
        else:
            one.deletes = operation.ends
        self.passed()
        return self.shown_operation(operation, now)

    def delete_disk(self, zone: str, name: str) -> Json:
        now = self.passed()
        disk = self.disks.get((zone, name))
        if disk is None:
            raise Refused(404, "notFound", f"The resource '{name}' was not found")
        if disk["users"]:
            raise Refused(400, "resourceInUseByAnotherResource", f"The disk '{name}' is already being used")
        del self.disks[zone, name]
        return self.shown_operation(self._begun("delete", zone, name, now), now)

    def operation(self, zone: str, name: str) -> Json:
        now = self.passed()
        if name not in self.operations:
            raise Refused(404, "notFound", f"The resource 'operations/{name}' was not found")
        return self.shown_operation(self.operations[name], now)

    def _begun(self, kind: str, zone: str, target: str, now: float) -> Operation:
        name = f"operation-{len(self.operations) + 1}"
        made = Operation(name, kind, zone, target, now, now + self.operation_seconds)
        self.operations[name] = made
        return made

    # ---- as it is told

    def shown_operation(self, one: Operation, now: float) -> Json:
        zone = f"{COMPUTE}/projects/{self.project}/zones/{one.zone}"
        done = now >= one.ends
        told: Json = {
            "kind": "compute#operation",
            "name": one.name,
            "zone": zone,
            "operationType": one.kind,
            "targetLink": f"{zone}/instances/{one.target}",
            "status": "DONE" if done else "RUNNING",
            "insertTime": date(one.began),
        }
        if done and one.code:
            told["error"] = {"errors": [{"code": one.code, "message": one.message}]}
            told["httpErrorStatusCode"] = _STATUSES.get(one.code, 500)
        return told

    def shown(self, one: Instance, now: float) -> Json:
        shown: Json = {key: value for key, value in one.body.items() if key not in ("disks", "networkInterfaces")}
        model = {"provisioningModel": "STANDARD"} | one.scheduling
        shown |= {
            "id": str(10**18 + one.number),
            "zone": f"{COMPUTE}/projects/{self.project}/zones/{one.zone}",
            "status": one.status(now),
            "creationTimestamp": date(one.made),
            "scheduling": model | ({"preemptible": True} if one.is_spot else {}),
            "networkInterfaces": [self._interface(each, one.number) for each in one.body["networkInterfaces"]],
        }
        return shown

    @staticmethod
    def _interface(asked: Json, number: int) -> Json:
        held = {**asked, "networkIP": f"10.0.{number // 250}.{number % 250 + 1}"}
        if "accessConfigs" in asked:
            held["accessConfigs"] = [{**one, "natIP": f"203.0.113.{number % 250}"} for one in asked["accessConfigs"]]
        return held
