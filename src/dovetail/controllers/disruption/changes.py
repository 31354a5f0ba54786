"""Which changes of the cluster a decision could see. Heartbeats, and times that are only written down, are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dovetail.api.pod_stream import PodRecord
from dovetail.controllers.cluster import Cluster
from dovetail.core.nodeclaims import NodeClaim, NodeObject
from dovetail.core.nodes import GOES_SOON
from dovetail.kube.decoding import Stored


def listen(cluster: Cluster, trigger: Callable[[], None]) -> None:
    """Have `trigger` called for each of them."""

    def heard(is_news: Callable[[Any, Any], bool]) -> Callable[[Any, Any], None]:
        def changed(old: Any, new: Any) -> None:
            if old is None or new is None or is_news(old, new):
                trigger()

        return changed

    cluster.pods.listen(heard(pod_changed))
    cluster.nodes.listen(heard(node_changed))
    cluster.claims.listen(heard(claim_changed))
    cluster.pools.listen(heard(_pool_changed))
    for store in (cluster.budgets, cluster.daemons):
        store.listen(heard(lambda old, new: old.value != new.value))


def pod_changed(old: PodRecord, new: PodRecord) -> bool:
    return (
        old.uid != new.uid
        or old.form is not new.form
        or (old.node, old.state, old.unready, old.rare) != (new.node, new.state, new.unready, new.rare)
    )


def node_changed(old: Stored[NodeObject], new: Stored[NodeObject]) -> bool:
    return _node(old.value) != _node(new.value)


def _node(node: NodeObject) -> NodeObject:
    held = tuple(replace(one, message="", generation=0) for one in node.conditions)
    taints = tuple(one for one in node.taints if one != GOES_SOON)
    return replace(node, meta=replace(node.meta, version=""), conditions=held, taints=taints)


def claim_changed(old: Stored[NodeClaim], new: Stored[NodeClaim]) -> bool:
    """A claim says when pods came or went; that they did was seen of the pods."""
    return _claim(old.value) != _claim(new.value)


def _claim(claim: NodeClaim) -> NodeClaim:
    held = tuple(sorted((replace(one, since=0.0, message="", generation=0) for one in claim.conditions), key=str))
    return replace(claim, meta=replace(claim.meta, version=""), conditions=held, last_pod_event=None)


def _pool_changed(old: Any, new: Any) -> bool:
    before, after = old.value, new.value
    return bool(
        before.meta.generation != after.meta.generation
        or before.meta.annotations != after.meta.annotations
        or before.pool != after.pool
        or {(one.type, one.status) for one in before.conditions} != {(one.type, one.status) for one in after.conditions}
    )
