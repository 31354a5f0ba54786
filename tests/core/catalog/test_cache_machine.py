"""Whatever happens, in whatever order, the cache answers as one built this minute from the same inputs would (S0.2).

A machine draws a life: prices move, types come and go, users write overlays, overrides and contracts, the market runs
out of things, pools appear, change and leave, time passes. Now and then every pool is asked, and its catalog compared
with that of a fresh cache told only how things stand now, and with that of one with the gate off (S0.4). Catalogs
handed out on the way must never change afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.builders import (
    LIVE,
    FakeMarket,
    Rows,
    expression,
    hardware,
    node_class,
    overlay,
    override,
    pool,
    reservation,
    reserved_row,
    row,
    rows,
)

from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.generations import ChangeSource
from dovetail.core.catalog.layers import Catalog
from dovetail.core.catalog.offerings import InstanceType, sorted_offerings
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.catalog.overlays import NodeOverlay
from dovetail.core.catalog.overrides import Override
from dovetail.core.catalog.pricebook import EMPTY_BOOK, Discount, ListedPrice, PriceBook, Scope
from dovetail.core.catalog.reservations import pooled
from dovetail.core.catalog.shortages import BELIEVED_SECONDS, Shortage
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodePool
from dovetail.core.requirements import Requirements
from dovetail.core.resources import GIB, Resources

TYPES = ("c5.large", "m5.large", "m5.xlarge", "p5.huge")
CLASSES = ("one", "two")
#: Every step takes a while, so that shortages lapse between all kinds of other news.
STEP_SECONDS = 20.0
names = st.sampled_from(TYPES)


def offered(on_demand: str, spot: str | None, zones: str, ids: list[str], available: bool) -> Rows:
    """What a type is for sale at: several zones, sometimes unpriced spot, sometimes reservations."""
    found = [row(zone, "on-demand", on_demand, available=available) for zone in zones]
    found += [row(zone, "spot", spot) for zone in zones]
    behind = pooled(reservation(one, zone=zones[0], available=2) for one in ids)
    return sorted_offerings([*found, *(reserved_row(one, on_demand) for one in behind.values())])


stock = st.builds(
    offered,
    st.sampled_from(["0.1", "0.2", "1"]),
    st.sampled_from([None, "0.03", "0.1"]),
    st.sampled_from(["a", "ab", "bc"]),
    st.lists(st.sampled_from(["cr-1", "cr-2"]), unique=True),
    st.booleans(),
) | st.just(())

shortages = st.one_of(
    st.builds(Shortage, names, st.none() | st.sampled_from("abc"), st.none() | st.sampled_from(["spot", "on-demand"])),
    st.builds(
        Shortage,
        zone=st.sampled_from("abc"),
        family=st.sampled_from(["m5", "c5"]),
        min_cpu_millis=st.sampled_from([0, 3000]),
    ),
    st.builds(Shortage, capacity_type=st.sampled_from(["spot", "reserved"])),
    st.builds(Shortage, reservation_id=st.sampled_from(["cr-1", "cr-2", "cr-3"])),
)

asks = st.sampled_from(
    [
        expression(labels.INSTANCE_TYPE, "In", "m5.large m5.xlarge"),
        expression(labels.INSTANCE_TYPE, "NotIn", "m5.large"),
        expression(labels.CAPACITY_TYPE, "In", "spot"),
        expression(labels.ZONE, "In", "a"),
        expression(labels.NODEPOOL, "In", "pool-1"),
        expression("team", "In", "blue"),
        expression("team", "Exists"),
        expression("team", "DoesNotExist"),
        expression("cores", "Gt", "2"),
    ]
)
overlays = st.builds(
    lambda name, wanted, change, capacity, weight: overlay(
        name, Requirements(wanted), price=change[0], adjust=change[1], capacity=capacity, weight=weight
    ),
    st.sampled_from("vwxyz"),
    st.lists(asks, max_size=2),
    st.sampled_from([("0.5", None), ("0.01", None), (None, "-10%"), (None, "+0.05"), (None, "-9")]),
    st.dictionaries(st.sampled_from(["dongle", "hugepages-1Gi"]), st.sampled_from([1, 2 * GIB, 20 * GIB]), max_size=2),
    st.sampled_from([0, 0, 0, 1]),
)
entries = st.lists(
    st.tuples(
        st.fixed_dictionaries(
            {}, optional={labels.ZONE: st.sampled_from("abz"), labels.CAPACITY_TYPE: st.just("spot")}
        ),
        st.sampled_from([None, "0.05", "2"]),
    ),
    max_size=3,
)
overrides = st.builds(
    lambda name, offers, overhead, amounts: override(name, offers, overhead, **amounts),
    names,
    st.none() | entries,
    st.none() | st.just(Resources({"memory": GIB})),
    st.dictionaries(st.sampled_from(["cpu", "memory", "pods", "dongle"]), st.sampled_from([3, 4 * GIB]), max_size=2),
)
scopes = st.builds(
    Scope, st.sampled_from(["*", "m5.*", "m5.large"]), st.none() | st.just("spot"), st.none() | st.just("a")
)
books = st.builds(
    PriceBook,
    st.lists(st.builds(ListedPrice, scopes, st.sampled_from([10**7, 10**9]), st.just(LIVE)), max_size=2).map(tuple),
    st.lists(st.builds(Discount, scopes, st.sampled_from([Fraction(10), Fraction(50)])), max_size=2).map(tuple),
) | st.just(EMPTY_BOOK)
pools = st.builds(
    pool,
    st.integers(1, 4).map("pool-{}".format),
    st.sampled_from(CLASSES),
    st.sampled_from([KubeletSettings(), KubeletSettings(max_pods=9)]),
    st.fixed_dictionaries({}, optional={"team": st.sampled_from(["blue", "red"]), "cores": st.just("4")}),
)


def differences(found: dict[str, Catalog], fresh: dict[str, Catalog]) -> Iterator[str]:
    """Pool and type of every row that is not as it should be: short, where a diff of catalogs would fill a screen."""
    for name, catalog in found.items():
        for kind in sorted({*catalog.types, *fresh[name].types}):
            if catalog.types.get(kind) != fresh[name].types.get(kind):
                yield f"{name}: {kind}"


class CacheMachine(RuleBasedStateMachine):
    """One cache lives through everything; `self` remembers only how things stand."""

    def __init__(self) -> None:
        super().__init__()
        self.market = FakeMarket({name: rows() for name in TYPES[:3]}, NodeRules())
        self.market.discovered(hardware("m5.xlarge", cpu=4, labelled={"cores": "4"}))
        self.cache = CatalogCache(self.market, region="here")
        self.now = 0.0
        self.steps, self.every = 0, 1
        self.pools: dict[str, NodePool] = {}
        self.overlays: list[NodeOverlay] = []
        self.overrides: list[Override] = []
        self.book = EMPTY_BOOK
        self.until: dict[Shortage, float] = {}
        self.handed_out: list[tuple[Catalog, dict[str, InstanceType]]] = []

    @initialize(first=pools, second=pools, every=st.sampled_from([1, 2, 5]))
    def two_pools(self, first: NodePool, second: NodePool, every: int) -> None:
        """`every`: after how many steps all is compared; rarely lets changes pile up, always catches each by itself."""
        self.every = every
        for one in (first, second):
            self.a_pool_is_asked(one)

    # What a cloud does.

    @rule(name=names, offered=stock)
    def prices_move(self, name: str, offered: Rows) -> None:
        self.market.listed(name, offered)

    @rule(name=names, cpu=st.sampled_from([2, 4]), gib=st.sampled_from([8, 16]))
    def a_type_is_discovered(self, name: str, cpu: int, gib: int) -> None:
        self.market.discovered(hardware(name, cpu=cpu, gib=gib, labelled={"cores": str(cpu)}))

    @rule(name=names)
    def a_type_is_withdrawn(self, name: str) -> None:
        self.market.withdrew(name)

    @rule(name=names, gib=st.sampled_from([7, 6]))
    def a_node_reports_its_memory(self, name: str, gib: int) -> None:
        self.market.memory_seen[name] = gib * GIB
        self.market.moved(ChangeSource.TYPES)

    @rule(of=st.sampled_from(CLASSES), withheld=st.frozensets(names, max_size=2))
    def a_node_class_changes(self, of: str, withheld: frozenset[str]) -> None:
        self.market.withheld[node_class(of)] = withheld
        self.market.moved(ChangeSource.NODE_CLASS, node_class(of))

    @rule(share=st.sampled_from([Fraction(0), Fraction(1, 10)]))
    def the_rules_of_the_cloud_change(self, share: Fraction) -> None:
        self.market.rules = NodeRules(vm_overhead=FlatOverhead(share))
        self.market.moved(ChangeSource.NODE_CLASS)

    @rule(source=st.sampled_from(ChangeSource))
    def a_generation_moves_for_nothing(self, source: ChangeSource) -> None:
        self.market.moved(source)

    @rule(shortage=shortages)
    def the_market_runs_out(self, shortage: Shortage) -> None:
        self.cache.mark(shortage, self.now)
        self.until[shortage] = self.now + BELIEVED_SECONDS

    @rule(seconds=st.sampled_from([60, 180, 1000]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.until = {one: until for one, until in self.until.items() if until > self.now}

    # What users do.

    @rule(some=st.lists(overlays, max_size=4, unique_by=lambda one: one.name))
    def overlays_are_written(self, some: list[NodeOverlay]) -> None:
        self.overlays = some
        self.cache.set_overlays(some)

    @rule(one=overlays)
    def one_overlay_is_edited(self, one: NodeOverlay) -> None:
        self.overlays = [*(other for other in self.overlays if other.name != one.name), one]
        self.cache.set_overlays(self.overlays)

    @rule(some=st.lists(overrides, max_size=3, unique_by=lambda one: one.name))
    def overrides_are_written(self, some: list[Override]) -> None:
        self.overrides = some
        self.cache.set_overrides(some)

    @rule(book=books)
    def a_contract_is_signed(self, book: PriceBook) -> None:
        self.book = book
        self.cache.set_book(book)

    @rule(one=pools)
    def a_pool_is_asked(self, one: NodePool) -> None:
        """A new one, a known one, or one that has changed."""
        self.pools[one.name] = one
        self.remember(self.cache.catalog(one, self.now))

    @precondition(lambda self: self.pools)
    @rule(data=st.data())
    def a_pool_is_deleted(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.pools)))
        del self.pools[name]
        self.cache.forget(name)

    # What must hold.

    @invariant()
    def every_pool_is_answered_as_by_a_fresh_cache_now_and_then(self) -> None:
        self.steps += 1
        self.time_passes(STEP_SECONDS)
        if self.steps % self.every == 0:
            self.every_pool_is_answered_as_by_a_fresh_cache()

    def every_pool_is_answered_as_by_a_fresh_cache(self) -> None:
        found = self.asked(self.cache)
        for caching in (True, False):
            fresh = self.told_how_things_stand(caching)
            assert not list(differences(found, self.asked(fresh)))
            assert self.refusals(self.cache) == self.refusals(fresh)
        for catalog in found.values():
            assert list(catalog.types) == sorted(catalog.types)
            self.remember(catalog)
        again = {one.name: self.cache.catalog(one, self.now) for one in self.pools.values()}
        assert [name for name in found if again[name] is not found[name]] == []

    @invariant()
    def what_was_handed_out_stays_as_it_was(self) -> None:
        for catalog, types in self.handed_out:
            assert len(catalog) == len(types)
            assert all(catalog.types[name] is one for name, one in types.items())

    @invariant()
    def only_what_is_believed_now_is_kept(self) -> None:
        until = {one: end for one, end in self.cache.shortages.until.items() if end > self.now}
        assert until == self.until

    def teardown(self) -> None:
        self.every_pool_is_answered_as_by_a_fresh_cache()

    def asked(self, cache: CatalogCache) -> dict[str, Catalog]:
        """Every pool's answer once all are known: a conflict in one pool is one in all."""
        for one in self.pools.values():
            cache.catalog(one, self.now)
        return {name: cache.catalog(one, self.now) for name, one in self.pools.items()}

    def told_how_things_stand(self, caching: bool) -> CatalogCache:
        fresh = CatalogCache(self.market, region="here", caching=caching)
        fresh.set_book(self.book)
        fresh.set_overrides(self.overrides)
        fresh.set_overlays(reversed(self.overlays))
        for one, until in self.until.items():
            fresh.mark(one, self.now, until - self.now)
        return fresh

    def refusals(self, cache: CatalogCache) -> dict[str, str]:
        return {name: one.other for name, one in cache.refused_overlays.items()}

    def remember(self, *catalogs: Catalog) -> None:
        known: Iterable[Catalog] = (one for one, _ in self.handed_out)
        seen = {id(one) for one in known}
        self.handed_out += [(one, dict(one.types)) for one in catalogs if id(one) not in seen]


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)
