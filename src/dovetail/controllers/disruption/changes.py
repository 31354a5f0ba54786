"""Which changes of the cluster a decision could see. Heartbeats, and times that are only written down, are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any, Final

from dovetail.api.pod_stream import PodRecord
from dovetail.controllers.cluster import Cluster
from dovetail.core.nodeclaims import Meta, NodeClaim, NodeObject
from dovetail.core.nodes import GOES_SOON
from dovetail.kube.decoding import Stored


def _all_but(of: type, *names: str) -> Callable[[Any], tuple[object, ...]]:
    return attrgetter(*(one.name for one in fields(of) if one.name not in names))


_META: Final = _all_but(Meta, "version")
_NODE: Final = _all_but(NodeObject, "meta", "taints", "conditions")
_CLAIM: Final = _all_but(NodeClaim, "meta", "conditions", "last_pod_event")


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


def _node(node: NodeObject) -> tuple[object, ...]:
    held = [(one.type, one.status, one.reason, one.since) for one in node.conditions]
    taints = [one for one in node.taints if one != GOES_SOON]
    return (held, taints, _META(node.meta), _NODE(node))


def claim_changed(old: Stored[NodeClaim], new: Stored[NodeClaim]) -> bool:
    """A claim says when pods came or went; that they did was seen of the pods."""
    return _claim(old.value) != _claim(new.value)


def _claim(claim: NodeClaim) -> tuple[object, ...]:
    held = sorted((one.type, one.status, one.reason) for one in claim.conditions)
    return (held, _META(claim.meta), _CLAIM(claim))


def _pool_changed(old: Any, new: Any) -> bool:
    before, after = old.value, new.value
    return bool(
        before.meta.generation != after.meta.generation
        or before.meta.annotations != after.meta.annotations
        or before.pool != after.pool
        or {(one.type, one.status) for one in before.conditions} != {(one.type, one.status) for one in after.conditions}
    )
