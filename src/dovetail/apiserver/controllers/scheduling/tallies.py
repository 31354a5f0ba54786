"""How many pods of a sort are on each node, for everything that asks where other pods are.

Each question (a selector and the namespaces it is about) is counted once over all pods when it is first asked, and
from then on kept up to date by each pod that comes or goes. Anti-affinity works both ways, so the terms of pods
already placed are kept too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dovetail.apiserver.controllers.scheduling.nodes import NodeInfo
from dovetail.apiserver.controllers.scheduling.shapes import PodShape
from dovetail.core.pods import PodTerm
from dovetail.core.selectors import Selector

NamespaceLabels = Callable[[str], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Question:
    """Pods that match a selector, in some namespaces."""

    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector | None = None

    def selects(self, namespace: str, labels: Mapping[str, str], about: NamespaceLabels) -> bool:
        if namespace not in self.namespaces and (
            self.namespace_selector is None or not self.namespace_selector.matches(about(namespace))
        ):
            return False
        return self.selector.matches(labels)


def question_of(term: PodTerm, namespace: str) -> Question:
    """What an affinity term of a pod in this namespace asks; a term that names no namespace means the pod's own."""
    named = term.namespaces
    if not named and term.namespace_selector is None:
        named = frozenset({namespace})
    return Question(term.selector, named, term.namespace_selector)


class Tallies:
    def __init__(self, nodes: Mapping[str, NodeInfo], about: NamespaceLabels) -> None:
        self._nodes = nodes
        self._about = about
        self._counts: dict[Question, Counter[str]] = {}
        self._going: set[tuple[str, str]] = set()
        #: Anti-affinity terms of placed pods: what they keep away, from what domain, and how often on which node.
        self.kept_away: dict[tuple[Question, str], Counter[str]] = {}

    def count(self, question: Question) -> Counter[str]:
        """Matching pods by node."""
        found = self._counts.get(question)
        if found is None:
            found = self._counts[question] = Counter()
            for node in self._nodes.values():
                for key, pod in node.pods.items():
                    if key not in self._going and self._selects(question, pod):
                        found[node.name] += 1
        return found

    def put(self, node: str, key: tuple[str, str], pod: PodShape, going: bool) -> None:
        self._change(node, pod, 1, going)
        if going:
            self._going.add(key)

    def take(self, node: str, key: tuple[str, str], pod: PodShape) -> None:
        self._change(node, pod, -1, key in self._going)
        self._going.discard(key)

    def _change(self, node: str, pod: PodShape, by: int, going: bool) -> None:
        for question, counts in self._counts.items():
            if not going and self._selects(question, pod):
                _add(counts, node, by)
        for term in pod.shape.apart.required:
            kept = self.kept_away.setdefault((question_of(term, pod.shape.namespace), term.key), Counter())
            _add(kept, node, by)

    def _selects(self, question: Question, pod: PodShape) -> bool:
        return question.selects(pod.shape.namespace, dict(pod.shape.labels), self._about)

    def repelled(self, pod: PodShape) -> Iterable[tuple[str, Counter[str]]]:
        """The domains, by label key and node, that pods already placed keep a pod from."""
        labels = dict(pod.shape.labels)
        for (question, key), counts in self.kept_away.items():
            if counts and question.selects(pod.shape.namespace, labels, self._about):
                yield key, counts


def _add(counts: Counter[str], node: str, by: int) -> None:
    counts[node] += by
    if not counts[node]:
        del counts[node]
