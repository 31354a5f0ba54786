"""Lint rules over objects as they are written: old names, and what cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dovetail.api import documents
from dovetail.api.documents import Document
from dovetail.api.world import World
from dovetail.core import labels
from dovetail.views.findings import Finding, Level, Rule

DEPRECATED: Final = Rule(
    "DV009",
    "deprecated-key",
    "A label, annotation or kind that has a newer name",
    (Level.WARNING, Level.ERROR),
    "old labels and annotations, and kinds no longer read, with what to write instead",
)
QUANTITY: Final = Rule(
    "DV010",
    "bad-quantity",
    "A quantity that cannot be read",
    (Level.ERROR,),
    "a quantity that cannot be read",
)
UNREADABLE: Final = Rule(
    "DV011",
    "unreadable",
    "An object or field that cannot be read",
    (Level.ERROR,),
    "any other field or object that cannot be read",
)

_OLD_KEYS: Final[Mapping[str, str]] = {
    **{key: new for key, new in labels.ALIASES.items() if "beta.kubernetes.io" in key},
    "karpenter.sh/provisioner-name": labels.NODEPOOL,
    "karpenter.sh/do-not-evict": "karpenter.sh/do-not-disrupt",
    "karpenter.sh/do-not-consolidate": "karpenter.sh/do-not-disrupt",
    "volume.beta.kubernetes.io/storage-class": "spec.storageClassName",
    "storageclass.beta.kubernetes.io/is-default-class": "storageclass.kubernetes.io/is-default-class",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
_OLD_KINDS: Final[Mapping[tuple[str, str], str]] = {
    ("karpenter.sh", "Provisioner"): "NodePool (karpenter.sh/v1)",
    ("karpenter.sh", "Machine"): "NodeClaim (karpenter.sh/v1)",
    ("karpenter.k8s.aws", "AWSNodeTemplate"): "EC2NodeClass (karpenter.k8s.aws/v1)",
    ("extensions", "Deployment"): "apps/v1",
    ("extensions", "DaemonSet"): "apps/v1",
}
#: What the server or a controller wrote is not the user's to mend.
_NOT_THE_USERS: Final = frozenset({"status", "managedFields", "kubectl.kubernetes.io/last-applied-configuration"})
#: Kinds whose labels somebody else sets: kubelets still write the old ones beside the new.
_WRITTEN_BY_OTHERS: Final = frozenset({"Node", "NodeClaim", "CSINode", "PersistentVolume"})


def deprecated(document: Document) -> Iterator[Finding]:
    """Every old name in one object, with what to write instead."""
    value = document.value
    if not isinstance(value, Mapping):
        return
    kind, version = str(value.get("kind")), str(value.get("apiVersion"))
    name, file = documents.name_of(value), document.place[0]
    newer = _OLD_KINDS.get((version.partition("/")[0], kind))
    if newer is not None:
        yield Finding(
            DEPRECATED, Level.ERROR, name, "kind", f"{version} {kind} is no longer read", f"write a {newer}", file
        )
    if kind in _WRITTEN_BY_OTHERS:
        return
    for path, key in _keys(value):
        if key in _OLD_KEYS:
            told, fix = f"{key} is an old name", f"write {_OLD_KEYS[key]}"
            yield Finding(DEPRECATED, Level.WARNING, name, path, told, fix, file)


def _keys(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every key of every map, and every text that stands where a key is named, with its path."""
    waiting: list[tuple[object, str]] = [(value, path)]
    while waiting:
        one, at = waiting.pop()
        if isinstance(one, Mapping):
            for key, inner in one.items():
                if key in _NOT_THE_USERS:
                    continue
                here = f"{at}.{key}" if at else str(key)
                yield here, str(key)
                if key in ("key", "topologyKey") and isinstance(inner, str):
                    yield here, inner
                waiting.append((inner, here))
        elif isinstance(one, list):
            waiting.extend((inner, f"{at}[{number}]") for number, inner in enumerate(one))


def unreadable(world: World) -> Iterator[Finding]:
    """What reading the world complained about, and what is wrong with pods."""
    for problem in world.problems:
        parts = problem.place.parts
        rule = QUANTITY if "is not a quantity" in problem.problem else UNREADABLE
        file, rest = (parts[0], parts[1:]) if parts else ("", ())
        path = rest[-1] if len(rest) > 1 else ""
        yield Finding(rule, Level.ERROR, rest[0] if rest else "", path, *_parted(problem.problem), file)
    told: dict[str, str] = {}
    for pod in world.snapshot.pods:
        if pod.shape.problem is not None:
            told.setdefault(pod.shape.problem, pod.key)
    for problem_text, key in told.items():
        path, _, message = problem_text.partition(": ")
        if re.fullmatch(r"(spec|metadata)[\w.\[\]/-]*", path) is None:
            path, message = "", problem_text
        rule = QUANTITY if "is not a quantity" in message else UNREADABLE
        yield Finding(rule, Level.ERROR, f"Pod {key}", path, *_parted(message))


def _parted(message: str) -> tuple[str, str]:
    """What an error says is wrong, and what it says to do about it, where it does."""
    wrong, semicolon, advice = message.partition("; ")
    return (wrong, advice) if semicolon else (message, "mend the field, or take the object out")
