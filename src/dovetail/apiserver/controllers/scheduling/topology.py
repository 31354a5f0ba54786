"""Where other pods allow a pod: spread constraints, affinity and anti-affinity, worked out once for an attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.apiserver.controllers.scheduling.cluster import Cluster
from dovetail.apiserver.controllers.scheduling.nodes import NodeInfo
from dovetail.apiserver.controllers.scheduling.shapes import PodShape
from dovetail.apiserver.controllers.scheduling.tallies import Question, Tallies, question_of
from dovetail.core.pods import PodTerm, Policy, Spread

SPREAD: Final = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL: Final = "node(s) didn't match pod topology spread constraints (missing required label)"
NEAR: Final = "node(s) didn't match pod affinity rules"
APART: Final = "node(s) didn't match pod anti-affinity rules"
REPELLED: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
#: What would not change if pods were taken away.
HOPELESS: Final = frozenset({SPREAD_LABEL, NEAR})


@dataclass(frozen=True, slots=True)
class Domains:
    """Values of one label, allowed or forbidden, and what is said of a node that does not comply."""

    key: str
    values: frozenset[str]
    allowed: bool
    why: str
    why_without_label: str = ""

    def complaint(self, labels: Mapping[str, str]) -> str | None:
        value = labels.get(self.key)
        if value is None:
            return (self.why_without_label or self.why) if self.allowed else None
        return None if (value in self.values) == self.allowed else self.why


def domains_of(pod: PodShape, cluster: Cluster) -> list[Domains]:
    """Everything other pods demand, in the order a real scheduler complains about it."""
    shape, nodes, tallies = pod.shape, cluster.nodes, cluster.tallies
    found = [_spread(one, pod, cluster) for one in shape.spread if one.hard]
    found += [
        Domains(key, _values(key, counts, nodes), allowed=False, why=REPELLED) for key, counts in tallies.repelled(pod)
    ]
    found += [_near(term, pod, nodes, tallies) for term in shape.near.required]
    for term in shape.apart.required:
        counts = tallies.count(question_of(term, shape.namespace))
        found.append(Domains(term.key, _values(term.key, counts, nodes), allowed=False, why=APART))
    return found


def _values(key: str, names: Iterable[str], nodes: Mapping[str, NodeInfo]) -> frozenset[str]:
    return frozenset(nodes[name].labels[key] for name in names if name in nodes and key in nodes[name].labels)


def _near(term: PodTerm, pod: PodShape, nodes: Mapping[str, NodeInfo], tallies: Tallies) -> Domains:
    """Where such pods are; the first of a group that wants to be near itself may go anywhere."""
    question = question_of(term, pod.shape.namespace)
    values = _values(term.key, tallies.count(question), nodes)
    if not values and _wants_itself(pod):
        values = frozenset(node.labels[term.key] for node in nodes.values() if term.key in node.labels)
    return Domains(term.key, values, allowed=True, why=NEAR)


def _wants_itself(pod: PodShape) -> bool:
    labels = dict(pod.shape.labels)
    return all(
        question_of(term, pod.shape.namespace).selector.matches(labels)
        and pod.shape.namespace in question_of(term, pod.shape.namespace).namespaces
        for term in pod.shape.near.required
    )


def _spread(one: Spread, pod: PodShape, cluster: Cluster) -> Domains:
    """The values where one more pod keeps the skew."""
    where = _counted_nodes(one, pod, cluster)
    totals = dict.fromkeys(where.values(), 0)
    counts = cluster.tallies.count(Question(one.selector, frozenset({pod.shape.namespace})))
    for name, count in counts.items():
        if name in where:
            totals[where[name]] += count
    least = min(totals.values(), default=0)
    if one.min_domains is not None and len(totals) < one.min_domains:
        least = 0
    itself = int(one.selector.matches(dict(pod.shape.labels)))
    values = frozenset(value for value, total in totals.items() if total + itself - least <= one.max_skew)
    return Domains(one.key, values, allowed=True, why=SPREAD, why_without_label=SPREAD_LABEL)


def _counted_nodes(one: Spread, pod: PodShape, cluster: Cluster) -> dict[str, str]:
    """The nodes a constraint counts, and the domain of each; the same as long as no node changes."""
    key = pod, one
    found: dict[str, str] | None = cluster.remembered.get(key)
    if found is None:
        nodes = (node for node in cluster.nodes.values() if one.key in node.labels)
        found = {node.name: node.labels[one.key] for node in nodes if _counts_for(one, pod, node)}
        cluster.remembered.put(key, found)
    return found


def _counts_for(one: Spread, pod: PodShape, node: NodeInfo) -> bool:
    if one.node_affinity is Policy.HONOR and pod.wrong_node(node.name, node.labels):
        return False
    return one.node_taints is Policy.IGNORE or not pod.untolerated(node.taints)
