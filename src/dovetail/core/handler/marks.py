"""What a notice does to the Node, and how it is undone to the last mark.

    taint        cluster.x-k8s.io/interruption=<kind>      new pods stay away
    cordon       spec.unschedulable                        for whoever looks there
    label        node.kubernetes.io/exclude-from-external-load-balancers, where the machine ends
    condition    Terminating=True, where the machine ends  what a MachineHealthCheck replaces the Machine for
    annotation   dovetail.dev/termination-notice           what was seen, and since when

The annotation is all the memory there is: a process that was started anew goes on from it, and a second handler on the
same node agrees with the first through it. It says what of the marks are ours, so that undoing them leaves a cordon
that somebody else put on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final

from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.handler.policy import Policy, Response
from dovetail.core.handler.standing import Task

TAINT: Final = "cluster.x-k8s.io/interruption"
NOTE: Final = "dovetail.dev/termination-notice"
EXCLUDED: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
OURS: Final = "dovetail-handler"
TERMINATING: Final = "Terminating"
REQUESTED: Final = "TerminationRequested"
WITHDRAWN: Final = "NoticeWithdrawn"
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_NODE_SHUTDOWN: Final = "nodeshutdown"
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NodeTaint:
    key: str
    effect: str
    value: str = ""
    added: str = ""


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """A Node, as far as a handler cares. `terminating` is the reason of that condition where it is True, else ""."""

    name: str
    uid: str = ""
    version: str = ""
    provider_id: str = ""
    unschedulable: bool = False
    taints: tuple[NodeTaint, ...] = ()
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    terminating: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What the annotation says: the notice, since when it is acted upon, and what was ours to put on."""

    id: str
    kind: str
    began: float
    deadline: float | None = None
    cordoned: bool = False
    excluded: bool = False

    def text(self) -> str:
        fields: dict[str, object] = {"id": self.id, "kind": self.kind, "began": timestamps.text(self.began)}
        if self.deadline is not None:
            fields["deadline"] = timestamps.text(self.deadline)
        fields |= {name: True for name in ("cordoned", "excluded") if getattr(self, name)}
        return json.dumps(fields)


def record_of(node: NodeFacts) -> Record | None:
    """What an earlier look left on the Node. A text that nobody can read is as good as none."""
    written = node.annotations.get(NOTE)
    if written is None:
        return None
    try:
        fields = json.loads(written)
        deadline = fields.get("deadline")
        return Record(
            str(fields["id"]),
            str(fields["kind"]),
            timestamps.seconds(str(fields["began"])),
            None if deadline is None else timestamps.seconds(str(deadline)),
            cordoned=fields.get("cordoned") is True,
            excluded=fields.get("excluded") is True,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, BadInput):
        return None


def is_marked(node: NodeFacts) -> bool:
    """Whether anything of ours is on the Node."""
    return NOTE in node.annotations or any(one.key == TAINT for one in node.taints) or node.terminating == REQUESTED


def marked(node: NodeFacts, task: Task, policy: Policy, now: float, *, heard_all: bool = True) -> NodeFacts:
    """The Node as it should be under a notice. Asked twice, the second time changes nothing.

    What only a stronger notice justified goes with it: a node that was to end and is now only to be avoided gets its
    traffic and its Machine back. Until all sources were heard nobody can say that the stronger one is gone.
    """
    held = record_of(node)
    if not heard_all and not task.replaces and _was_to_end(node, held):
        return node
    same = held is not None and held.id == task.notice.id
    labels = _labels(node, held, ends=task.replaces)
    record = Record(
        task.notice.id,
        str(task.notice.kind),
        held.began if held is not None and same else now,
        task.notice.deadline,
        cordoned=held.cordoned if held is not None else not node.unschedulable,
        excluded=task.replaces and ((held is not None and held.excluded) or labels is not node.labels),
    )
    emptied = same or held is None or task.response is Response.DRAIN
    over = {TAINT} if emptied else {TAINT, OUT_OF_SERVICE}
    others = tuple(one for one in node.taints if one.key not in over)
    wanted = _taint(node, task, policy, now)
    return replace(
        node,
        unschedulable=True,
        taints=node.taints if wanted in node.taints and len(others) + 1 == len(node.taints) else (*others, wanted),
        labels=labels,
        annotations={**node.annotations, NOTE: _settled(node, record)},
        terminating=_terminating(node, ends=task.replaces),
    )


def _was_to_end(node: NodeFacts, held: Record | None) -> bool:
    return node.terminating == REQUESTED or (held is not None and held.excluded)


def _labels(node: NodeFacts, held: Record | None, *, ends: bool) -> Mapping[str, str]:
    """Those there, with the one that turns traffic away where the machine ends, and without ours where it does not."""
    if ends:
        return node.labels if EXCLUDED in node.labels else {**node.labels, EXCLUDED: OURS}
    if held is not None and held.excluded and node.labels.get(EXCLUDED) == OURS:
        return {key: value for key, value in node.labels.items() if key != EXCLUDED}
    return node.labels


def _terminating(node: NodeFacts, *, ends: bool) -> str:
    if ends:
        return REQUESTED
    return "" if node.terminating == REQUESTED else node.terminating


def _settled(node: NodeFacts, record: Record) -> str:
    """The text that is there, where it says the same: seconds are all a time is kept to."""
    written, text = node.annotations.get(NOTE), record.text()
    return written if written is not None and record_of(node) == record_of_text(text) else text


def record_of_text(text: str) -> Record | None:
    return record_of(NodeFacts("", annotations={NOTE: text}))


def _taint(node: NodeFacts, task: Task, policy: Policy, now: float) -> NodeTaint:
    kind = str(task.notice.kind)
    held = next((one for one in node.taints if one.key == TAINT), None)
    if held is not None and (held.effect, held.value) == (policy.taint_effect, kind):
        return held
    # The server wants to know since when of this effect alone, and stamps no taint by itself.
    added = timestamps.text(now) if policy.taint_effect == "NoExecute" else ""
    return NodeTaint(TAINT, policy.taint_effect, kind, added)


def out_of_service(node: NodeFacts, now: float) -> NodeFacts:
    """The Node with the mark that lets the cluster take volumes off it at once."""
    if any(one.key == OUT_OF_SERVICE for one in node.taints):
        return node
    added = NodeTaint(OUT_OF_SERVICE, "NoExecute", _NODE_SHUTDOWN, timestamps.text(now))
    return replace(node, taints=(*node.taints, added))


def unmarked(node: NodeFacts) -> NodeFacts:
    """The Node as if nothing had been said, and what others did to it as it is."""
    record = record_of(node)
    ours = {TAINT, OUT_OF_SERVICE} if record is not None else {TAINT}
    return replace(
        node,
        unschedulable=node.unschedulable and not (record is not None and record.cordoned),
        taints=tuple(one for one in node.taints if one.key not in ours),
        labels=_labels(node, record, ends=False),
        annotations={key: value for key, value in node.annotations.items() if key != NOTE},
        terminating=_terminating(node, ends=False),
    )
