"""What can be bought, as dashboards of the peer ask for it."""

from __future__ import annotations

from types import SimpleNamespace

from dovetail.clouds.port import Unavailable
from dovetail.controllers.metrics import Metrics
from dovetail.controllers.offering_gauges import OfferingGauges
from dovetail.core.catalog.prices import NANO, Price, Source, SourceKind
from dovetail.core.resources import CPU, MEMORY, Resources

A, B = "us-east-1a", "us-east-1b"


def row(zone: str, capacity_type: str, cents: int | None, launchable: bool = True) -> SimpleNamespace:
    price = None if cents is None else Price(cents * NANO // 100, Source(SourceKind.LIVE))
    return SimpleNamespace(zone=zone, capacity_type=capacity_type, price=price, launchable=launchable)


def catalog(**types: tuple[SimpleNamespace, ...]) -> SimpleNamespace:
    size = Resources({CPU: 2000, MEMORY: 8 * 2**30})
    made = {name.replace("_", "."): SimpleNamespace(capacity=size, offerings=rows) for name, rows in types.items()}
    return SimpleNamespace(types=made)


def page(*catalogs: SimpleNamespace | Exception) -> list[str]:
    """The lines of a scrape by a cluster with a pool for each catalog."""
    pools = [SimpleNamespace(value=SimpleNamespace(problem="", pool=at)) for at in range(len(catalogs))]

    def asked(pool: int, now: float) -> object:
        found = catalogs[pool]
        if isinstance(found, Exception):
            raise found
        return found

    metrics = Metrics()
    gauges = OfferingGauges(SimpleNamespace(pools=pools), SimpleNamespace(catalog=asked), lambda: 0.0)
    gauges.declare(metrics)
    return [one for one in metrics.text().splitlines() if not one.startswith("#")]


def price(capacity_type: str, zone: str) -> str:
    name = "karpenter_cloudprovider_instance_type_offering_price_estimate"
    return f'{name}{{instance_type="m5.large",capacity_type="{capacity_type}",zone="{zone}"}}'


def available(capacity_type: str, zone: str) -> str:
    return price(capacity_type, zone).replace("price_estimate", "available")


def test_types_have_their_size_and_rows_their_price():
    told = page(catalog(m5_large=(row(A, "on-demand", 10), row(A, "spot", 3, launchable=False))))
    assert 'karpenter_cloudprovider_instance_type_cpu_cores{instance_type="m5.large"} 2' in told
    assert f'karpenter_cloudprovider_instance_type_memory_bytes{{instance_type="m5.large"}} {8 * 2**30}' in told
    assert f"{price('on-demand', A)} 0.1" in told
    assert f"{available('on-demand', A)} 1" in told
    assert f"{available('spot', A)} 0" in told


def test_where_nothing_is_reserved_the_series_say_nothing():
    told = page(catalog(m5_large=(row(A, "on-demand", 10),)))
    assert f"{price('reserved', A)} 0" in told
    assert f"{available('reserved', A)} 0" in told


def test_of_several_pools_the_best_counts_and_a_row_without_a_price_has_none():
    one = catalog(m5_large=(row(A, "on-demand", 10, launchable=False), row(B, "spot", None)))
    other = catalog(m5_large=(row(A, "on-demand", 8),))
    told = page(one, other)
    assert f"{price('on-demand', A)} 0.08" in told
    assert f"{available('on-demand', A)} 1" in told
    assert not [line for line in told if line.startswith(price("spot", B))]


def test_a_pool_that_cannot_be_asked_costs_the_others_nothing():
    told = page(Unavailable("not resolved yet"), catalog(m5_large=(row(A, "on-demand", 10),)))
    assert f"{price('on-demand', A)} 0.1" in told
