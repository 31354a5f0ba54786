"""Disruption decided: every node of a cluster judged, beside the peer on the same cluster, in the same run.

Both sides read the same file (see `bench/disruption_worlds.py`): a thousand nodes and thirty thousand pods of mixed
shapes, spread over zones or hosts, some under PodDisruptionBudgets. Ours is a whole pass, in one process: every
method, a verdict and a sentence for every node, and the choice of the best set of moves within budgets; its first pass,
which looks the catalog up, has a row of its own. The peer is asked by its own method for one node after the other, in
a sample taken evenly from all its candidates until a minute is over: its row is the mean for one node, and the row of
the whole pass is that mean times its candidates, not a measurement. It stops its real pass at the first find, or after
three minutes. What it needs to make its candidates, for each method of each pass, is not in it.

The roll-out is in virtual time, by the laws of `bench/disruption_day.py`; the peer's side is its policy by the book.
"""

import os
import sys
from typing import Final

from bench import disruption_judging, disruption_rollout, measure, peer
from bench.disruption_rollout import BookDrift
from bench.disruption_worlds import PODS_EACH, files
from bench.report import Row, higher, lower

NAME = "disruption"
NODES: Final = 1_000
MANY: Final = 5_000
PEER_LIMIT: Final = "60s"


def run() -> list[Row]:
    _warn_if_busy()
    return [*_thousand(), *_many(), *_changed(), *_rollout()]


def _peer(nodes: int, limit: str = PEER_LIMIT) -> dict[str, float]:
    given = files(nodes)
    return peer.run("disrupt", "--types", str(given.types), "--cluster", str(given.cluster), "--limit", limit)


def _thousand() -> list[Row]:
    theirs, ours = _peer(NODES), disruption_judging.judged(NODES)
    per_node, candidates = theirs.get("per_node"), theirs.get("candidates")
    whole = None if per_node is None or candidates is None else per_node * candidates
    asked = "" if "judged" not in theirs else f" (the peer: {theirs['judged']:.0f} of {candidates:.0f} asked)"
    what = f"{NODES:,} nodes, {NODES * PODS_EACH:,} pods"
    memory = measure.memory("bench.disruption_judging:passed", str(NODES))
    return [
        lower(f"{what}: judge one node{asked}", "s", ours.seconds / ours.judged, per_node, times=100),
        lower(f"{what}: judge every node (the peer: from that sample)", "s", ours.seconds, whole, limit=1.5),
        lower("– the first pass, the catalog looked up as well", "s", ours.first_seconds),
        higher("– nodes with a verdict", "count", ours.judged, candidates),
        higher("– nodes that could go", "%", ours.could_go, _share(theirs)),
        lower("– memory for cluster and pass, at the peak", "MB", memory.peak, theirs.get("peak_rss")),
    ]


def _share(theirs: dict[str, float]) -> float | None:
    return 100 * theirs["found"] / theirs["judged"] if theirs.get("judged") else None


def _many() -> list[Row]:
    what = f"{MANY:,} nodes, {MANY * PODS_EACH:,} pods"
    fresh = disruption_judging.fresh(MANY)
    return [
        lower(f"{what}: judge every node, in a fresh process", "s", fresh.seconds, limit=12),
        lower(f"{what}: memory of that process, all of it, at the peak", "MB", fresh.peak, limit=400),
    ]


def _changed() -> list[Row]:
    took = disruption_judging.after_one_pod(NODES)
    what = f"{NODES:,} nodes, {NODES * PODS_EACH:,} pods, one of them gone: judge what that changed"
    return [lower(what, "s", took, limit=0.050)]


def _rollout() -> list[Row]:
    """A pass of the book's takes what the peer took for one node of a cluster of this size."""
    nodes = disruption_rollout.NODES
    per_node = _peer(nodes, "10s").get("per_node", 0.0)
    ours, book = disruption_rollout.rolled(disruption_rollout.ours()), disruption_rollout.rolled(BookDrift(per_node))
    what = f"{ours.nodes} nodes have drifted, {disruption_rollout.BUDGET} may be away (virtual time)"
    pace = [3600 * one.nodes / one.seconds for one in (ours, book)]
    return [
        higher(f"{what}: pace", "nodes/h", *pace, times=5),
        lower(f"{what}: until the last is gone", "s", ours.seconds, book.seconds),
        lower(f"{what}: pods evicted, of {ours.pods:,}", "count", ours.evicted, book.evicted),
        lower(f"{what}: what it cost beyond the usual", "$", ours.dollars, book.dollars),
    ]


def _warn_if_busy() -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        print(f"The machine is busy (load {load:.1f} on {cores} cores): these ratios may flatter us.", file=sys.stderr)
