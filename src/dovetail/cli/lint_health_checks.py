"""Lint rules over MachineHealthChecks: those that can never replace a machine, and those that replace every one.

What a check looks after is worked out as the controllers do it: machines of its namespace and its cluster whose labels
its selector matches, the labels among them that sets, deployments and control planes put on their machines. How many
that are is known only as far as the files say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.api import documents, kinds
from dovetail.api.cluster_api import reading, requests
from dovetail.api.cluster_api.fleet import Fleet, Item
from dovetail.core.errors import BadInput
from dovetail.core.machines import names, remediation
from dovetail.core.machines.objects import HealthCheck, Sign
from dovetail.views.findings import Finding, Level, Rule

CHECK: Final = Rule(
    "DV018",
    "idle-health-check",
    "A health check that never replaces a machine, or replaces all",
    (Level.WARNING, Level.ERROR),
    "a MachineHealthCheck that can never replace a machine: a bound of 0 or a share that rounds down to it, a "
    "range that never comes true for as many machines as the files have, a selector that matches none of its "
    "cluster's, no conditions at all, spot machines waited for without end, a remediation template whose kind "
    "is no template's. Or that replaces every one: a condition that holds while all is well, or a node that has "
    "under 30 s to become ready",
)
#: A node that joins is not ready for about so long, while its network and its images come.
_JOINING_SECONDS: Final = 30.0
#: Conditions of Nodes and of Machines that are False while all is well; of the others known here, True is.
_BAD_NEWS: Final = ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", names.DELETING, names.PAUSED)
_GOOD_NEWS: Final = (
    names.READY, names.AVAILABLE, names.UP_TO_DATE, names.BOOTSTRAP_READY, names.INFRASTRUCTURE_READY,
    names.NODE_READY, names.NODE_HEALTHY,
)  # fmt: skip
_DEPLOYMENT_NAME: Final = "cluster.x-k8s.io/deployment-name"
#: By who made a machine, the label that says so.
_MADE_BY: Final = {"MachineSet": names.SET_NAME, "MachineDeployment": _DEPLOYMENT_NAME}


def finding(item: Item, rule: Rule, path: str, told: tuple[str, str], level: Level = Level.ERROR) -> Finding:
    """A finding about an object of Cluster API's: what is wrong, and what to do."""
    return Finding(rule, level, documents.name_of(item.document.value), path, *told, item.document.place[0])


@dataclass(frozen=True, slots=True)
class _Paths:
    """Where a check says what, which differs between the two versions."""

    most: str
    span: str
    startup: str
    nodes: str
    machines: str
    timeout: str
    template: str


_NEW: Final = _Paths(
    "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
    "spec.remediation.triggerIf.unhealthyInRange",
    "spec.checks.nodeStartupTimeoutSeconds",
    "spec.checks.unhealthyNodeConditions",
    "spec.checks.unhealthyMachineConditions",
    "timeoutSeconds",
    "spec.remediation.templateRef",
)
_OLD: Final = _Paths(
    "spec.maxUnhealthy",
    "spec.unhealthyRange",
    "spec.nodeStartupTimeout",
    "spec.unhealthyConditions",
    "spec.unhealthyMachineConditions",
    "timeout",
    "spec.remediationTemplate",
)


def findings(item: Item, seen: Fleet) -> Iterator[Finding]:
    """What is wrong with an object, if it is a health check."""
    if item.kind != kinds.HEALTH_CHECKS.name:
        return
    spec = item.whole.map("spec")
    paths = _NEW if spec.has("checks") or spec.has("remediation") else _OLD
    check = reading.health_check(item.whole)
    yield from _bounds(item, check, paths, _targets(item, check, seen))
    yield from _signs(item, check, paths)
    yield from _startup(item, check, paths, seen)
    yield from _template(item, check, paths)
    if not check.startup and not check.node_signs and not check.machine_signs:
        told = "nothing but a failure or a Node that is gone makes a machine unhealthy"
        fix = "name conditions of the Node, such as Ready Unknown for 5 minutes"
        yield finding(item, CHECK, "spec.checks" if paths is _NEW else "spec", (told, fix), Level.WARNING)


def _bounds(item: Item, check: HealthCheck, paths: _Paths, targets: int | None) -> Iterator[Finding]:
    """Never: more must be unhealthy than there are, or fewer than one. `targets` is None where nobody can say."""
    if targets == 0:
        told = f"selects none of the machines of cluster {check.cluster} in the files"
        fix = "match the labels of the machines' template, in the same namespace and cluster"
        yield finding(item, CHECK, "spec.selector", (told, fix), Level.WARNING)
    if check.span is not None:
        least, most = check.span
        if least > most:
            told = f"nothing is between {least} and {most}, so no machine is ever replaced"
            yield finding(item, CHECK, paths.span, (told, "write the smaller number first"), Level.WARNING)
        elif most == 0 or (targets and least > targets):
            told = f"needs {least} to {most} unhealthy machines, and {targets or 'one'} is all there is to it"
            yield finding(item, CHECK, paths.span, (told, "begin at 1, and end at what may go at once"), Level.WARNING)
    elif str(check.most) in ("0", "0%"):
        told = "no machine is ever replaced: one that is unhealthy is one too many"
        yield finding(item, CHECK, paths.most, (told, "allow one or more"), Level.WARNING)
    elif targets and remediation.bound(check.most, targets) == 0:
        told = f"{check.most} of {targets} machines is none, rounded down, so no machine is ever replaced"
        yield finding(item, CHECK, paths.most, (told, "write a number, or a larger share"), Level.WARNING)


def _signs(item: Item, check: HealthCheck, paths: _Paths) -> Iterator[Finding]:
    """Always: what every machine that is well has, or every node that joins."""
    for where, kind, signs in (
        (paths.nodes, "node", check.node_signs),
        (paths.machines, "machine", check.machine_signs),
    ):
        for at, sign in enumerate(signs):
            if _is_well(sign):
                told = f"every {kind} that has been well for {sign.timeout:g} s is replaced"
                better = "True" if sign.type in _BAD_NEWS else "False or Unknown"
                yield finding(item, CHECK, f"{where}[{at}].status", (told, f"write status {better}"))
            elif (kind, sign.type) == ("node", names.READY) and sign.timeout < _JOINING_SECONDS:
                told = f"a node is not ready while it joins, and after {sign.timeout:g} s it is replaced for it"
                path = f"{where}[{at}].{paths.timeout}"
                yield finding(item, CHECK, path, (told, "allow some minutes, such as 300 s"), Level.WARNING)


def _is_well(sign: Sign) -> bool:
    return (sign.type in _GOOD_NEWS and sign.status == "True") or (sign.type in _BAD_NEWS and sign.status == "False")


def _startup(item: Item, check: HealthCheck, paths: _Paths, seen: Fleet) -> Iterator[Finding]:
    """A spot machine that is never sold must be given up on (R14)."""
    if check.startup or not (check.node_signs or check.machine_signs):
        return
    owned = ((one.group.wanted, seen.items[one.group.owner.key]) for one in seen.groups)
    spot = [owner for wanted, owner in owned if wanted is not None and wanted.market.is_interruptible]
    if any(_selects(item, check, owner) for owner in spot):
        told = "waits for ever for a spot machine that nobody sells, and never replaces it"
        yield finding(item, CHECK, paths.startup, (told, "leave it out, or write 600 s or so"), Level.WARNING)


def _template(item: Item, check: HealthCheck, paths: _Paths) -> Iterator[Finding]:
    """Never: nothing is made from what is no template."""
    kind = check.template.kind if check.template is not None else ""
    if kind and kind.removesuffix(requests.SUFFIX) in ("", kind):
        told = f"{kind} is no template, so nobody is asked to heal a machine, and none is replaced"
        fix = f"name the kind that ends with {requests.SUFFIX}"
        yield finding(item, CHECK, f"{paths.template}.kind", (told, fix))


def _targets(item: Item, check: HealthCheck, seen: Fleet) -> int | None:
    """How many machines are looked after; None where the files have no machines of that cluster."""
    owners = [(one.group, seen.items[one.group.owner.key]) for one in seen.groups]
    same = [(group, owner) for group, owner in owners if _is_near(item, check, owner)]
    return sum(group.replicas for group, owner in same if _selects(item, check, owner)) if same else None


def _is_near(item: Item, check: HealthCheck, owner: Item) -> bool:
    return owner.namespace == item.namespace and _cluster_of(owner) == check.cluster


def _cluster_of(owner: Item) -> str:
    said = owner.whole.map("spec").text("clusterName")
    return said or owner.whole.map("metadata").labels("labels").get(names.CLUSTER_NAME, "")


def _selects(item: Item, check: HealthCheck, owner: Item) -> bool:
    return _is_near(item, check, owner) and check.selector.matches(_labels(owner))


def _labels(owner: Item) -> Mapping[str, str]:
    """What the machines of an owner carry, with what their controllers put on them."""
    more = {names.CLUSTER_NAME: _cluster_of(owner)}
    spec = owner.whole.map("spec")
    if owner.kind == kinds.MACHINES.name:
        return owner.whole.map("metadata").labels("labels") | more
    if owner.kind in _MADE_BY:
        return spec.map("template").map("metadata").labels("labels") | more | {_MADE_BY[owner.kind]: owner.name}
    made = {names.CONTROL_PLANE: "", names.CONTROL_PLANE_NAME: owner.name}
    return spec.map("machineTemplate").map("metadata").labels("labels") | more | made


def is_checked(owner: Item, seen: Fleet) -> bool:
    """Whether any health check selects what it makes. One that cannot be read selects nothing, and is told of."""
    for item in seen.items.values():
        try:
            if item.kind == kinds.HEALTH_CHECKS.name and _selects(item, reading.health_check(item.whole), owner):
                return True
        except BadInput:
            continue
    return False
