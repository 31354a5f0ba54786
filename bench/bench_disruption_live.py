"""A thousand pods become two hundred, and a pool of two hundred nodes is rolled, on a real control plane.

Ours beside the peer's own controller for simulated machines, each on a control plane of its own, one after the other,
as in `live`: the same instance types, the same NodePool, kwok for kubelets. The cluster is filled with consolidation
off; then the Deployments are scaled to a fifth and the pool consolidates, or its template changes and a fifth of its
nodes may be away. Time runs until the last node went; the run ends when nothing has happened for two minutes. A pod
born after the change was evicted. Where a side was still at work when a quarter of an hour was over, its row says so.

`DISRUPTION_ONLY=shrink` (or `roll`) measures one of the two, and keeps the other's figures.
"""

import sys
from collections.abc import Iterator
from typing import Final

from bench import live_change, live_peer
from bench.live_change import ROLL, SHRINK, Plan, Result
from bench.live_cluster import OURS, PEER
from bench.report import Row, in_parts, lower, no_worse

NAME = "disruption-live"
#: It takes an hour, and every core.
ON_REQUEST: Final = True
SHRINK_TIMES: Final = 2.0
ROLL_TIMES: Final = 5.0


def run() -> list[Row]:
    parts = {SHRINK: lambda: shrunk(*_both(SHRINK)), ROLL: lambda: rolled(*_both(ROLL))}
    return in_parts(NAME, "DISRUPTION_ONLY", parts)


def _both(change: str) -> tuple[Result, Result | None]:
    peer = live_change.measure(Plan(PEER, change)) if live_peer.built() else None
    ours = live_change.measure(Plan(OURS, change))
    for one in (ours, peer):
        if one is not None:
            print(f"live: {_told(one)}", file=sys.stderr)
    return ours, peer


def shrunk(ours: Result, peer: Result | None) -> Iterator[Row]:
    """What is left and what it costs must hold; how soon is a target."""
    what = f"{live_change.PODS[SHRINK]:,} → {live_change.LEFT} pods"
    yield no_worse(f"{what}: price at the end", "$/h", ours.price, None if peer is None else peer.price)
    yield lower(f"{what}: nodes at the end", "count", ours.nodes, None if peer is None else peer.nodes)
    yield lower(
        f"{what}: until the last node went{_note(peer)}",
        "s",
        ours.seconds,
        None if peer is None else peer.seconds,
        times=SHRINK_TIMES,
    )
    yield lower(f"{what}: pods evicted", "count", ours.evicted, None if peer is None else peer.evicted, times=1)
    yield lower(f"{what}: nodes bought meanwhile", "count", ours.bought, None if peer is None else peer.bought)
    yield from _costs(what, ours, peer)


def rolled(ours: Result, peer: Result | None) -> Iterator[Row]:
    what = f"the nodes of {live_change.PODS[ROLL]:,} pods have drifted, a fifth may be away"
    theirs = None if peer is None else _each(peer)
    yield lower(f"{what}: nodes", "count", ours.nodes_before, None if peer is None else peer.nodes_before)
    yield lower(f"{what}: until the last went{_note(peer)}", "s", ours.seconds, None if peer is None else peer.seconds)
    yield lower(f"{what}: time for each that went", "s", _each(ours), theirs, times=ROLL_TIMES)
    yield lower(f"{what}: pods evicted", "count", ours.evicted, None if peer is None else peer.evicted)
    yield lower(f"{what}: price at the end", "$/h", ours.price, None if peer is None else peer.price)
    yield from _costs(what, ours, peer)


def _each(one: Result) -> float:
    went = one.nodes_before - one.left
    assert went, f"{one.side}: no node went"
    return one.seconds / went


def _costs(what: str, ours: Result, peer: Result | None) -> Iterator[Row]:
    yield lower(f"{what}: processor time of the controller", "s", ours.cpu, None if peer is None else peer.cpu)
    yield lower(f"{what}: peak memory of the controller", "MB", ours.peak, None if peer is None else peer.peak)


def _note(peer: Result | None) -> str:
    return "" if peer is None or not peer.cut_off else " (the peer was not done and was cut off)"


def _told(one: Result) -> str:
    text = f"{one.side}, {one.change}: {one.nodes_before} nodes at ${one.price_before:.2f}/h → {one.nodes} at "
    return f"{text}${one.price:.2f}/h in {one.seconds:.0f} s, {one.evicted} evicted, {one.bought} bought"
