"""A new machine of a set: copies of its templates, all under one name.

The infrastructure machine is made first, then the Machine that refers to it. Who dies in between leaves an
infrastructure machine of the set without a Machine: it buys nothing, since no Machine owns it, the next look makes
another pair, and the loop of infrastructure machines removes it after a while (`is_left_over`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.cluster_api import writing
from dovetail.api.kinds import Kind
from dovetail.core.machines import names, sets, summaries
from dovetail.core.machines.infra_objects import InfraMachine
from dovetail.core.machines.objects import Machine, MachineSet
from dovetail.kube.client import Client
from dovetail.kube.errors import AlreadyExists

Body = dict[str, Any]
LEFT_OVER_SECONDS: Final = 60.0
COMING_SECONDS: Final = 30.0
TEMPLATE: Final = "Template"
_TEMPLATES: Final = {
    f"{machine.name}{TEMPLATE}": (template, machine)
    for template, machine in (
        (kinds.AWS_TEMPLATES, kinds.AWS_MACHINES),
        (kinds.GCP_TEMPLATES, kinds.GCP_MACHINES),
        (kinds.AZURE_TEMPLATES, kinds.AZURE_MACHINES),
    )
}


class CannotCopy(Exception):
    """A set that refers to something nobody here can copy."""


class Coming:
    """Machines that were made and that no watch has shown yet. A set that was judged without them would make as many
    again. One that is not shown for a while was deleted at once, and is not waited for any longer."""

    def __init__(self) -> None:
        self._until: dict[tuple[str, str], dict[str, float]] = {}

    def made(self, of: MachineSet, name: str, now: float) -> None:
        self._until.setdefault((of.meta.namespace, of.name), {})[name] = now + COMING_SECONDS

    def is_awaited(self, of: MachineSet, known: Callable[[str], bool], now: float) -> bool:
        key = (of.meta.namespace, of.name)
        left = {name: until for name, until in self._until.pop(key, {}).items() if now < until and not known(name)}
        if left:
            self._until[key] = left
        return bool(left)


async def copies(client: Client, of: MachineSet, name: str) -> list[tuple[Kind, Body]]:
    """What is to be created, in order."""
    wire = await client.get(kinds.MACHINE_SETS, of.name, of.meta.namespace)
    template = wire["spec"]["template"]
    config = (template["spec"].get("bootstrap") or {}).get("configRef")
    if config:
        raise CannotCopy(
            f"spec.template.spec.bootstrap.configRef: nobody here makes bootstrap data from {config.get('kind')} "
            f"{config.get('name')}; {summaries.INSTEAD}"
        )
    ref = template["spec"]["infrastructureRef"]
    found = _TEMPLATES.get(ref["kind"])
    if found is None:
        raise CannotCopy(f"MachineSet {of.name}: {ref['kind']} is no template of machines that are known here")
    template_kind, kind = found
    source = await client.get(template_kind, ref["name"], of.meta.namespace)
    infra = _infra(of, name, kind, source["spec"]["template"])
    infra["metadata"]["annotations"] |= {
        names.CLONED_FROM_NAME: ref["name"],
        names.CLONED_FROM_KIND: f"{ref['kind']}.{template_kind.group}",
    }
    return [(kind, infra), (kinds.MACHINES, _machine(of, name, kind, template))]


def _about(of: MachineSet, name: str, template: Body) -> Body:
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), names.CLUSTER_NAME: of.cluster, names.SET_NAME: of.name}
    return {
        "name": name,
        "namespace": of.meta.namespace,
        "labels": labels,
        "annotations": dict(given.get("annotations") or {}),
        "ownerReferences": [writing.owner_body(sets.owner_of(of))],
    }


def _infra(of: MachineSet, name: str, kind: Kind, template: Body) -> Body:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": _about(of, name, template),
        "spec": copy.deepcopy(template["spec"]),
    }


def _machine(of: MachineSet, name: str, infra: Kind, template: Body) -> Body:
    spec = copy.deepcopy(template["spec"])
    spec["infrastructureRef"] = {"apiGroup": infra.group, "kind": infra.name, "name": name}
    return {
        "apiVersion": kinds.MACHINES.api_version,
        "kind": kinds.MACHINES.name,
        "metadata": _about(of, name, template),
        "spec": spec,
    }


def is_left_over(infra: InfraMachine, machine: Machine | None, now: float) -> bool:
    """Whether a set made it, long enough ago, for a Machine that never came."""
    owner = infra.meta.controller
    old = now - infra.meta.created > LEFT_OVER_SECONDS
    return owner is not None and owner.kind == kinds.MACHINE_SETS.name and machine is None and old


async def create(client: Client, kind: Kind, body: Body) -> None:
    """A name that is taken was taken by us, a moment ago."""
    try:
        await client.create(kind, body)
    except AlreadyExists:
        return
