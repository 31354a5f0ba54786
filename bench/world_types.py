"""The instance types of the scheduling benchmark's worlds, in the kwok provider's format."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from dovetail.clouds.kwok.export import export_types
from dovetail.clouds.load import load
from dovetail.core.labels import CAPACITY_TYPE, ON_DEMAND, RESERVED, SPOT, ZONE

Json = dict[str, Any]

ZONES: Final = ("test-zone-1", "test-zone-2", "test-zone-3")
TYPES: Final = 400
RESERVATION: Final = "karpenter.kwok.sh/reservation-id"
_LINEAR_ROWS: Final = (
    (ZONES[0], SPOT),
    (ZONES[1], SPOT),
    (ZONES[0], ON_DEMAND),
    (ZONES[1], ON_DEMAND),
    (ZONES[2], ON_DEMAND),
)


def _linear_types() -> Iterator[Json]:
    """400 types that grow by a core, 2 GiB and ten pods each, priced by size alone; spot in two of the three zones."""
    for cpus in range(1, TYPES + 1):
        yield {
            "name": f"fake-it-{cpus - 1}",
            "offerings": [_offering(_linear_price(cpus), zone, kind) for zone, kind in _LINEAR_ROWS],
            "architecture": "amd64",
            "operatingSystems": ["darwin", "linux", "windows"],
            "resources": {"cpu": str(cpus), "memory": f"{2 * cpus}Gi", "pods": str(10 * cpus)},
        }


def _linear_price(cpus: int) -> float:
    """A tenth of a dollar for each core and each 10⁹ bytes, in whole nanodollars so that both sides add up the same."""
    return round(0.1 * cpus + 0.1 * (2 * cpus * 2**30) / 1e9, 9)


def _offering(price: float, zone: str, kind: str) -> Json:
    told = {CAPACITY_TYPE: kind, ZONE: zone}
    return {
        "Price": price,
        "Available": True,
        "Requirements": [{"key": key, "operator": "In", "values": [value]} for key, value in told.items()],
    }


def _reserved_types() -> Iterator[Json]:
    """The same types; of the smallest, one instance is reserved."""
    for number, one in enumerate(_linear_types()):
        if number == 0:
            held = _offering(round(_linear_price(1) / 1000, 9), ZONES[0], RESERVED)
            held["Requirements"].append({"key": RESERVATION, "operator": "In", "values": ["cr-1"]})
            one["offerings"].append({**held, "ReservationCapacity": 1})
        yield one


def _aws_types() -> Iterator[Json]:
    """A real region. What cannot be bought is left out, for the peer's loader calls every row available."""
    for one in export_types(load("aws", "us-east-1")):
        rows = [row for row in one["offerings"] if row["Available"]]
        if rows:
            yield {**one, "offerings": rows}


KINDS: Final[dict[str, Callable[[], Iterable[Json]]]] = {
    "linear": _linear_types,
    "reserved": _reserved_types,
    "aws": _aws_types,
}
