"""What nodes cost, who says so, and since when nobody has said it again."""

from __future__ import annotations

from types import SimpleNamespace

from dovetail.controllers.costs import ERRORS, Costs
from dovetail.controllers.metrics import Metrics
from dovetail.core import labels
from dovetail.core.catalog.prices import NANO, Price, Source, SourceKind
from dovetail.core.nodepools import NodeClassRef, NodePool

DAY = 86_400.0
#: 2026-11-15 at noon.
NOON = 1_794_744_000.0
LIVE = Source(SourceKind.LIVE, "EC2 price list", "2026-11-14")


def claim(name: str, capacity_type: str = "on-demand", node: str | None = None) -> SimpleNamespace:
    told = {labels.INSTANCE_TYPE: "m5.large", labels.ZONE: "us-east-1a", labels.CAPACITY_TYPE: capacity_type}
    bought = f"aws:///us-east-1a/{name}"
    return SimpleNamespace(
        name=name, provider_id=bought, node_name=name if node is None else node, meta=SimpleNamespace(labels=told)
    )


def costs(*claims: SimpleNamespace, source: Source = LIVE) -> Costs:
    """One pool, in which m5.large costs ten cents on demand and spot prices are known to nobody."""
    row = SimpleNamespace(zone="us-east-1a", capacity_type="on-demand", price=Price(NANO // 10, source))
    spot = SimpleNamespace(zone="us-east-1a", capacity_type="spot", price=None)
    catalog = SimpleNamespace(types={"m5.large": SimpleNamespace(offerings=(row, spot))})
    pool = NodePool("general", NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"))
    record = SimpleNamespace(name="general", pool=pool, problem="")
    held = [SimpleNamespace(value=one) for one in claims]
    cluster = SimpleNamespace(
        pools=[SimpleNamespace(value=record)], claims=held, claims_of_pool=lambda name: list(claims)
    )
    catalogs = SimpleNamespace(catalog=lambda pool, now: catalog)
    return Costs(cluster, catalogs, Metrics(), lambda: NOON)  # type: ignore[arg-type]


def test_each_node_has_its_price_and_who_says_so():
    (found,) = costs(claim("n-1"))._prices()
    about = {"node_name": "n-1", "nodepool": "general", "instance_type": "m5.large"}
    assert found == ({**about, "zone": "us-east-1a", "capacity_type": "on-demand", "source": "live"}, 0.1)


def test_a_price_is_as_old_as_the_day_on_which_it_was_last_said():
    ((_, age),) = costs(claim("n-1"))._ages()
    assert age == 1.5 * DAY


def test_a_price_of_the_future_is_new_and_one_without_a_date_has_no_age():
    for date, ages in (("2027-01-01", [0.0]), (None, []), ("lately", [])):
        assert [age for _, age in costs(claim("n-1"), source=Source(SourceKind.BUNDLED, as_of=date))._ages()] == ages


def test_what_is_not_a_node_yet_or_has_no_price_is_left_out():
    assert not list(costs(claim("n-1", node=""), claim("n-2", "spot"))._prices())


def test_a_pool_costs_what_its_machines_do_and_an_unknown_price_is_an_error_once():
    one = costs(claim("n-1"), claim("n-2", node=""), claim("n-3", "spot"))
    counted: list[str] = []
    one.metrics.count = lambda name, about, amount=1.0: counted.append(name)  # type: ignore[method-assign]
    for _ in range(2):
        assert list(one._costs()) == [({"nodepool": "general"}, 0.2)]
    assert counted == [ERRORS]
