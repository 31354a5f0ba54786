"""Changes to manifests before they are read: `--with 'nodepool/spot.spec.weight=10'`.

    KIND/NAME.PATH=VALUE

KIND is a kind in any case, singular or plural. PATH is dotted; `[2]` is the third entry of a list, and `[text]` the
entry whose `key`, `name` or `type` is that text. A path that does not begin at the top of the object begins in its
spec, or for a NodePool in its template's spec where the first word belongs there. VALUE is YAML; nothing at all removes
the field. A requirement may be given its values at once:

    nodepool/spot.requirements[karpenter.sh/capacity-type]=[spot]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from dovetail.api.documents import Document
from dovetail.core.errors import BadField, BadValue

_SHAPE: Final = re.compile(r"(?P<kind>[A-Za-z]+)/(?P<rest>[^=]*?[^=\s])\s*=(?P<value>.*)", re.DOTALL)
_STEP: Final = re.compile(r"\.?(?P<word>[^.\[\]]+)|\[(?P<in>[^\]]*)\]")
_TOP: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status", "data", "provisioner"})
_TEMPLATE: Final = frozenset({"requirements", "taints", "startupTaints", "nodeClassRef", "expireAfter", "kubelet"})
_NAMED_BY: Final = ("key", "name", "type")


@dataclass(slots=True)
class Change:
    """One change; `met` counts the objects it was made to."""

    text: str
    kind: str
    rest: str
    value: object
    met: int = field(default=0)

    def fits(self, kind: str, name: str) -> bool:
        lower = kind.lower()
        plurals = (lower, f"{lower}s", f"{lower}es", f"{lower.removesuffix('y')}ies")
        return self.kind in plurals and self.rest.startswith((f"{name}.", f"{name}["))

    def bad(self, problem: str) -> BadField:
        return BadValue(problem).at("--with", self.text[:80])


def parse(text: str) -> Change:
    """Read one change."""
    match = _SHAPE.fullmatch(text.strip())
    if match is None:
        raise BadValue(f"{text[:80]!r} is no change; write kind/name.path=value").at("--with")
    from dovetail.api import yaml_documents  # takes longer to load than most worlds to plan

    found = list(yaml_documents.read(match["value"], "--with"))
    value: object = None
    if found:
        first = found[0]
        if isinstance(first, BadField):
            raise BadValue(first.problem).at("--with", text[:80])
        value = first.value
    return Change(text, match["kind"].lower(), match["rest"], value)


def apply(changes: Iterable[Change], document: Document) -> None:
    """Make the changes that are about this object, in place."""
    value = document.value
    if not isinstance(value, dict):
        return
    kind, metadata = value.get("kind"), value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(kind, str) or not isinstance(name, str):
        return
    for one in changes:
        if one.fits(kind, name):
            value.update(deepcopy(value))  # equal parts of documents are one object, and only this one changes
            _set(one, value, _steps(one, one.rest[len(name) :], kind))
            one.met += 1


def unmet(changes: Iterable[Change]) -> list[BadField]:
    """A change nobody was changed by is a typing error."""
    return [one.bad("there is no such object in the files") for one in changes if not one.met]


def _steps(change: Change, path: str, kind: str) -> list[str | int]:
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise change.bad(f"{path[at:][:40]!r} is no path")
        inner = match["in"]
        if inner is None:
            steps.append(match["word"].strip())
        else:
            quoted = inner[:1] in "'\"" and inner[-1:] == inner[:1] and len(inner) > 1
            steps.append(int(inner) if inner.isascii() and inner.isdigit() else inner[1:-1] if quoted else inner)
        at = match.end()
    first = steps[0] if steps else ""
    if first not in _TOP:
        inside = ["spec", "template", "spec"] if kind == "NodePool" and first in _TEMPLATE else ["spec"]
        steps = [*inside, *steps]
    return steps


def _set(change: Change, value: dict[str, Any], steps: list[str | int]) -> None:
    at: Any = value
    for step in steps[:-1]:
        at = _into(change, at, step)
    last = steps[-1]
    if isinstance(at, list) and isinstance(last, str):
        _set_entry(change, at, last)
    elif isinstance(at, list) and isinstance(last, int):
        if last >= len(at):
            raise change.bad(f"the list has {len(at)} entries")
        at[last] = change.value
    elif isinstance(at, dict) and isinstance(last, str):
        if change.value is None:
            at.pop(last, None)
        else:
            at[last] = change.value
    else:
        raise change.bad("the path does not lead to a field")


def _into(change: Change, at: Any, step: str | int) -> Any:
    if isinstance(at, dict) and isinstance(step, str):
        if at.get(step) is None:
            at[step] = [] if step == "requirements" else {}
        return at[step]
    if isinstance(at, list) and isinstance(step, int) and step < len(at):
        return at[step]
    if isinstance(at, list) and isinstance(step, str):
        found = _entry(at, step)
        if found is not None:
            return found
    raise change.bad(f"there is no {step!r} on the way")


def _entry(entries: list[Any], text: str) -> Any:
    named = (one for one in entries if isinstance(one, dict) and any(one.get(by) == text for by in _NAMED_BY))
    return next(named, None)


def _set_entry(change: Change, entries: list[Any], text: str) -> None:
    """An entry of a list as a whole: taken out, replaced, or for a requirement given other values."""
    found = _entry(entries, text)
    if change.value is None:
        if found is not None:
            entries.remove(found)
        return
    if isinstance(change.value, dict):
        made = change.value
    else:
        values = change.value if isinstance(change.value, list) else [change.value]
        made = {"key": text, "operator": "In", "values": [str(one) for one in values]}
    if found is None:
        entries.append(made)
    else:
        entries[entries.index(found)] = made
