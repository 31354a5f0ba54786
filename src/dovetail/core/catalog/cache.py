"""One cache for everything a cloud sells (S0.2).

Asked for a pool's catalog, it compares two generations, fetches only the half that is stale, joins the halves type by
type, puts the user's layers on (see `layers`), and hands out shared references. Nothing is ever copied, and a
change rebuilds the rows it names and no others.

It lives in the core because it decides, and it does no I/O: the market it asks answers from memory, time is an
argument, and the stopwatch for its own metrics is handed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dovetail.core.catalog.layers import Base, Catalog, Twins, View
from dovetail.core.catalog.market import CombinedMarket, Market
from dovetail.core.catalog.overlays import Conflict, NodeOverlay, conflicts, in_order
from dovetail.core.catalog.overrides import Override
from dovetail.core.catalog.pricebook import EMPTY_BOOK, PriceBook
from dovetail.core.catalog.shortages import BELIEVED_SECONDS, NO_SHORTAGES, Shortage, Shortages
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import EMPTY, Requirements


@dataclass(frozen=True, slots=True)
class Counters:
    """How well the cache does (S0.6); the metrics are read off these."""

    hits: int = 0
    misses: int = 0
    specs_refreshed: int = 0
    offerings_refreshed: int = 0
    rows_rebuilt: int = 0
    refresh_seconds: float = 0.0
    types: int = 0
    offerings: int = 0


@dataclass(frozen=True, slots=True)
class _BaseKey:
    """All that decides a pool's specs and offerings: the key is the whole input, so no field can be forgotten."""

    node_class: NodeClassRef
    kubelet: KubeletSettings


@dataclass(slots=True)
class _Entry:
    """One base with the generations it was fetched at, and its views by the pool labels they are for."""

    base: Base
    views: dict[Requirements, View]
    specs_generation: int | None = None
    offerings_generation: int | None = None


class CatalogCache:
    """The catalogs of all pools of one cloud."""

    def __init__(
        self,
        market: Market | CombinedMarket,
        *,
        region: str = "",
        caching: bool = True,
        stopwatch: Callable[[], float] = float,
    ) -> None:
        """`caching` is the gate InstanceTypeCaching (S0.4); `stopwatch` reads seconds, for the metrics only."""
        self._market = market
        self._split = market if caching and isinstance(market, Market) else None
        self._region = region
        self._stopwatch = stopwatch
        self._entries: dict[_BaseKey, _Entry] = {}
        self._twins = Twins()
        #: By pool name, what each was last told where nothing is kept; overlays are still judged over all of them.
        self._unshared: dict[str, View] = {}
        self._pools: dict[str, NodePool] = {}
        self._book: PriceBook = EMPTY_BOOK
        self._overrides: dict[str, Override] = {}
        self._overlays: tuple[NodeOverlay, ...] = ()
        self._overlay_keys: frozenset[str] = frozenset()
        self._refused: dict[str, Conflict] = {}
        self._shortages: Shortages = NO_SHORTAGES
        self._counted: Counter[str] = Counter()
        self._refresh_seconds = 0.0

    # ---- reading

    def catalog(self, pool: NodePool, now: float) -> Catalog:
        """What this pool can buy at this moment."""
        self._let_lapse(now)
        self._know(pool)
        market = self._split
        if market is None:
            return self._combined(pool)
        key = _BaseKey(pool.node_class, pool.kubelet)
        entry = self._entries.get(key)
        if entry is None:
            entry = _Entry(Base(market.spec_rules(pool), self._region, self._twins), {})
            self._entries[key] = entry
        fresh = self._freshened(entry, pool, market)
        self._counted["hits" if fresh else "misses"] += 1
        labels = self._labels_told_apart(pool)
        if labels not in entry.views:
            self._judge(self._view_added(entry, labels))
        return entry.views[labels].catalog

    def counters(self) -> Counters:
        views = self._views()
        return Counters(
            **self._counted,
            refresh_seconds=self._refresh_seconds,
            types=sum(len(view.catalog) for view in views),
            offerings=sum(view.catalog.offering_count for view in views),
        )

    @property
    def shortages(self) -> Shortages:
        return self._shortages

    @property
    def refused_overlays(self) -> Mapping[str, Conflict]:
        """The overlays that are kept out, by name, and why; the rest are in force."""
        return dict(self._refused)

    # ---- changing

    def mark(self, shortage: Shortage, now: float, seconds: float = BELIEVED_SECONDS) -> int:
        """The market ran out of something: flip the rows it names until that lapses (S0.3). How many rows of types."""
        return self.mark_all((shortage,), now, seconds)

    def mark_all(self, shortages: Iterable[Shortage], now: float, seconds: float = BELIEVED_SECONDS) -> int:
        """The same for all that one answer of the market names; a type is built again once, however many name it."""
        self._let_lapse(now)
        told = tuple(shortages)
        if not told:
            return 0
        news = [one for one in told if one not in self._shortages.until]
        self._shortages = self._shortages.with_all(told, now + seconds)
        return self._rebuild_named(news) if news else 0

    def set_overrides(self, overrides: Iterable[Override]) -> int:
        """InstanceType resources, all of them; only types whose resource changed are built again."""
        news = {one.name: one for one in overrides}
        names = news.keys() | self._overrides.keys()
        changed = frozenset(name for name in names if news.get(name) != self._overrides.get(name))
        self._overrides = news
        return self._rebuild_bases(changed)

    def set_book(self, book: PriceBook) -> int:
        """The user's prices; they may speak of any row, so all are built again."""
        if book == self._book:
            return 0
        self._book = book
        return self._rebuild_bases(None)

    def set_overlays(self, overlays: Iterable[NodeOverlay]) -> int:
        """NodeOverlays, all of them; only types that a changed overlay touched or touches are built again."""
        ordered = tuple(in_order(overlays))
        before = {one.name: one for one in self._overlays}
        after = {one.name: one for one in ordered}
        changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        if not changed:
            return 0
        self._overlays = ordered
        self._overlay_keys = frozenset(one.key for overlay in ordered for one in overlay.requirements)
        self._drop_unused()
        touched: dict[View, set[str]] = {view: set() for view in self._views()}
        for view in touched:
            for name in changed:
                touched[view] |= view.rematch(after[name]) if name in after else view.drop_overlay(name)
        for pool in self._pools.values():
            entry = self._entries.get(_BaseKey(pool.node_class, pool.kubelet))
            if entry is not None:
                touched.update(self._view_added(entry, self._labels_told_apart(pool)))
        return self._judge(touched)

    def forget(self, pool_name: str) -> None:
        """A pool is gone; what only it needed goes with it."""
        if self._pools.pop(pool_name, None) is not None:
            self._drop_unused()
            self._judge({})

    # ---- within

    def _know(self, pool: NodePool) -> None:
        before = self._pools.get(pool.name)
        self._pools[pool.name] = pool
        if before is not None and before is not pool and before != pool:
            self._drop_unused()
            self._judge({})

    def _freshened(self, entry: _Entry, pool: NodePool, market: Market) -> bool:
        """Fetch the stale half, if any; whether there was none."""
        specs, offerings = market.specs_generation(pool), market.offerings_generation(pool)
        if specs == entry.specs_generation and offerings == entry.offerings_generation:
            return True
        started = self._stopwatch()
        changed: frozenset[str] = frozenset()
        # Both answers first: a market that fails on the second must not leave the first half adopted but not built.
        new_specs = market.specs(pool) if specs != entry.specs_generation else None
        new_offerings = market.offerings(pool) if offerings != entry.offerings_generation else None
        if new_specs is not None:
            entry.base.rules = market.spec_rules(pool)
            changed |= entry.base.take_specs(new_specs)
            entry.specs_generation = specs
            self._counted["specs_refreshed"] += 1
        if new_offerings is not None:
            changed |= entry.base.take_offerings(new_offerings)
            entry.offerings_generation = offerings
            self._counted["offerings_refreshed"] += 1
        self._rebuild_base(entry, changed)
        self._refresh_seconds += self._stopwatch() - started
        return False

    def _combined(self, pool: NodePool) -> Catalog:
        """Without the gate, or for a cloud that only answers the old question: everything anew at every call."""
        started = self._stopwatch()
        base = Base(self._market.spec_rules(pool), self._region)
        if isinstance(self._market, CombinedMarket):
            types = self._market.instance_types(pool)
            base.take_specs({name: one.spec for name, one in types.items()})
            base.take_offerings({name: one.offerings for name, one in types.items()})
        else:
            base.take_specs(self._market.specs(pool))
            base.take_offerings(self._market.offerings(pool))
        base.rebuild(base.specs, self._book, self._overrides)
        view = self._unshared[pool.name] = View(base, pool.label_requirements)
        for one in self._overlays:
            view.rematch(one)
        self._judge({view: set(base.rows)})
        self._counted["misses"] += 1
        self._refresh_seconds += self._stopwatch() - started
        return view.catalog

    def _labels_told_apart(self, pool: NodePool) -> Requirements:
        """The pool's labels that some overlay speaks of; pools equal in these see the same rows."""
        if not self._overlay_keys:
            return EMPTY
        return Requirements(one for one in pool.label_requirements if one.key in self._overlay_keys)

    def _view_added(self, entry: _Entry, labels: Requirements) -> dict[View, set[str]]:
        """Make a view if there is none for these labels; it, with all its rows still to build."""
        if labels in entry.views:
            return {}
        view = entry.views[labels] = View(entry.base, labels)
        for one in self._overlays:
            view.rematch(one)
        return {view: set(entry.base.rows)}

    def _views(self) -> list[View]:
        shared = [view for entry in self._entries.values() for view in entry.views.values()]
        return [*shared, *self._unshared.values()]

    def _drop_unused(self) -> None:
        """Let go of what no pool looks at any more."""
        wanted: dict[_BaseKey, set[Requirements]] = {}
        for pool in self._pools.values():
            key = _BaseKey(pool.node_class, pool.kubelet)
            wanted.setdefault(key, set()).add(self._labels_told_apart(pool))
        self._entries = {key: entry for key, entry in self._entries.items() if key in wanted}
        for key, entry in self._entries.items():
            entry.views = {labels: view for labels, view in entry.views.items() if labels in wanted[key]}
        self._unshared = {name: view for name, view in self._unshared.items() if name in self._pools}

    def _judge(self, touched: Mapping[View, set[str]]) -> int:
        """Decide anew which overlays are let in, and build the rows touched, or whose overlay came or went."""
        before = self._refused
        self._refused = conflicts(self._overlays, [view.matches for view in self._views()])
        turned = before.keys() ^ self._refused.keys()
        allowed = [one for one in self._overlays if one.name not in self._refused]
        built = 0
        for view in self._views():
            names = set(touched.get(view, ()))
            for name in turned:
                names |= view.matches.get(name, {}).keys()
            if names:
                built += view.rebuild(names, allowed, self._shortages)
        self._counted["rows_rebuilt"] += built
        return built

    def _rebuild_bases(self, names: frozenset[str] | None) -> int:
        """Build some types again in every base, all of them where `names` is None."""
        return sum(
            self._rebuild_base(entry, frozenset(entry.base.specs) if names is None else names)
            for entry in self._entries.values()
        )

    def _rebuild_base(self, entry: _Entry, names: frozenset[str]) -> int:
        entry.base.rebuild(names, self._book, self._overrides)
        touched: dict[View, set[str]] = {}
        for view in entry.views.values():
            touched[view] = set(names)
            for overlay in self._overlays:
                view.rematch(overlay, names)
        return self._judge(touched) if touched and names else 0

    def _let_lapse(self, now: float) -> None:
        soonest = self._shortages.next_lapse
        if soonest is None or soonest > now:
            return
        gone = self._shortages.lapsed(now)
        self._shortages = self._shortages.without(gone)
        self._rebuild_named(gone)

    def _rebuild_named(self, shortages: Iterable[Shortage]) -> int:
        named = tuple(shortages)
        allowed = [one for one in self._overlays if one.name not in self._refused]
        built = sum(view.rebuild(view.named_by(named), allowed, self._shortages) for view in self._views())
        self._counted["rows_rebuilt"] += built
        return built
