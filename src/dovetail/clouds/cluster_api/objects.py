"""The objects of one claim: a Machine, what it runs on and what it boots from, all under the claim's name.

What was bought is written on the Machine: the labels the Node will have. Whoever starts next finds them there, whatever
the catalogue says by then.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.cluster_api import fleet
from dovetail.api.kinds import Kind
from dovetail.clouds.cluster_api.market import Held
from dovetail.core import labels
from dovetail.core.instances import Instance, Option
from dovetail.core.machines import lifetimes, names
from dovetail.core.machines.objects import Machine
from dovetail.core.nodeclaims import NodeClaim

#: On everything made for a claim: whose it is. The label is for selecting, and so as short as labels are.
CLAIM: Final = "dovetail.dev/node-claim"
#: On a Machine: the labels of what was bought, as JSON.
BOUGHT: Final = "dovetail.dev/bought"
#: On a Machine whose cloud ends it some day: after how many seconds.
LIVES: Final = "dovetail.dev/lives-seconds"
_LONGEST_LABEL: Final = 63
_USUAL: Final = ("default", "false")
_TEMPLATE: Final = "Template"
Body = dict[str, Any]


def mark(claim: str) -> str:
    """The claim's name as a label."""
    return claim if len(claim) <= _LONGEST_LABEL else hashlib.sha256(claim.encode()).hexdigest()[:40]


def labels_of(option: Option, claim: NodeClaim) -> dict[str, str]:
    """Every label the type and its row decide; where several values would do, the claim's wish decides, then what a
    machine is that asks for nothing special, then the alphabet."""
    found: dict[str, str] = {}
    for one in (*option.instance_type.spec.requirements, *option.offering.requirements):
        if one.complement or not one.values:
            continue
        wish = claim.requirements.get(one.key)
        values = sorted(value for value in one.values if wish is None or wish.admits(value))
        usual = [value for value in _USUAL if value in values]
        found[one.key] = (usual or values or sorted(one.values))[0]
    return found


def machine(held: Held, claim: NodeClaim, option: Option) -> Body:
    """The Machine of a claim. It belongs to the claim, so that no set adopts it and nothing outlives the claim."""
    bought = {**labels_of(option, claim), **claim.meta.labels}
    spec = copy.deepcopy(dict(held.spec))
    kind = _infra_kind(held)
    spec["infrastructureRef"] = {"apiGroup": kind.group, "kind": kind.name, "name": claim.name}
    config = spec.get("bootstrap", {}).get("configRef")
    if config:
        made = {"kind": str(config["kind"]).removesuffix(_TEMPLATE), "name": claim.name}
        spec["bootstrap"] = {"configRef": {"apiGroup": group_of(config), **made}}
    if zone := zone_of(held, option.offering.zone or ""):
        spec["failureDomain"] = zone
    owner = {"apiVersion": kinds.NODE_CLAIMS.api_version, "kind": kinds.NODE_CLAIMS.name, "name": claim.name}
    about = _about(held, claim.name)
    # Claims are repaired by their controller; a health check would only count their machines among its own.
    about["annotations"][names.SKIP_REMEDIATION] = ""
    about["annotations"][BOUGHT] = json.dumps(bought, sort_keys=True)
    if held.template.wanted.lifetime is not None:
        about["annotations"][LIVES] = f"{held.template.wanted.lifetime:.0f}"
    about["ownerReferences"] = [{**owner, "uid": claim.meta.uid, "controller": True, "blockOwnerDeletion": True}]
    return {"apiVersion": kinds.MACHINES.api_version, "kind": kinds.MACHINES.name, "metadata": about, "spec": spec}


def zone_of(held: Held, zone: str) -> str:
    """A zone as machines call it: Azure numbers them within a region, and 0 is none."""
    if held.template.wanted.cloud != "azure":
        return zone
    number = zone.rpartition("-")[2]
    return "" if number == "0" else number


def infra(held: Held, owner: Machine) -> tuple[Kind, Body]:
    """A copy of the template (R3)."""
    kind, template = _infra_kind(held), _map(_map(held.item.whole.wire, "spec"), "template")
    about = _about(held, owner.name)
    given = _map(template, "metadata")
    about["labels"] = {**_map(given, "labels"), **about["labels"]}
    about["annotations"] |= {
        **_map(given, "annotations"),
        "cluster.x-k8s.io/cloned-from-name": held.item.name,
        "cluster.x-k8s.io/cloned-from-groupkind": f"{held.item.kind}.{kind.group}",
    }
    about["ownerReferences"] = [_owned_by(owner)]
    version = str(held.item.whole.wire.get("apiVersion") or kind.api_version)
    kind = Kind(kind.group, version.rpartition("/")[2], kind.name, kind.plural, namespaced=True)
    spec = copy.deepcopy(_map(template, "spec"))
    return kind, {"apiVersion": kind.api_version, "kind": kind.name, "metadata": about, "spec": spec}


def config_kind(ref: Mapping[str, Any]) -> Kind:
    """The kind of a bootstrap config's template, from a reference to it."""
    name, version = str(ref.get("kind")), str(ref.get("apiVersion") or "").rpartition("/")[2] or "v1beta2"
    return Kind(group_of(ref), version, name, f"{name.lower()}s", namespaced=True)


def config(held: Held, owner: Machine, kind: Kind, template: Mapping[str, Any]) -> tuple[Kind, Body]:
    """A copy of a bootstrap config's template."""
    name = kind.name.removesuffix(_TEMPLATE)
    made = Kind(kind.group, kind.version, name, f"{name.lower()}s", namespaced=True)
    about = _about(held, owner.name)
    about["ownerReferences"] = [_owned_by(owner)]
    spec = copy.deepcopy(_map(_map(_map(template, "spec"), "template"), "spec"))
    return made, {"apiVersion": made.api_version, "kind": name, "metadata": about, "spec": spec}


def group_of(ref: Mapping[str, Any]) -> str:
    return str(ref.get("apiGroup") or str(ref.get("apiVersion") or "").rpartition("/")[0])


def _infra_kind(held: Held) -> Kind:
    return fleet.TEMPLATES[held.item.kind]


def _about(held: Held, name: str) -> Body:
    marks = {names.CLUSTER_NAME: held.cluster or str(held.spec.get("clusterName", "")), CLAIM: mark(name)}
    return {"name": name, "namespace": held.namespace, "labels": marks, "annotations": {CLAIM: name}}


def _owned_by(owner: Machine) -> Body:
    about = {"apiVersion": kinds.MACHINES.api_version, "kind": kinds.MACHINES.name, "name": owner.name}
    return {**about, "uid": owner.meta.uid, "controller": True, "blockOwnerDeletion": True}


def _map(wire: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = wire.get(name)
    return found if isinstance(found, Mapping) else {}


def is_ours(one: Machine) -> bool:
    return CLAIM in one.meta.annotations


def is_there(one: Machine) -> bool:
    """Whether there is an instance. One that failed had one, and lost it (R10)."""
    return bool(one.provider_id) and one.failure is None


def leaves_at(one: Machine) -> float | None:
    """When it is to be replaced, so that its cloud does not end it first; None where nothing ends it."""
    written = one.meta.annotations.get(LIVES, "")
    lives = float(written) if written.isdecimal() and len(written) < 12 else None
    return lifetimes.moment(one.name, lives, one.meta.created)


def instance(one: Machine, option: Option | None = None) -> Instance:
    """A Machine that has an instance, as the port knows it; `option` is what is known of its type."""
    try:
        bought = json.loads(one.meta.annotations.get(BOUGHT, "{}"))
    except ValueError:
        bought = {}
    told = {str(key): str(value) for key, value in bought.items()} if isinstance(bought, dict) else {}
    found = Instance(
        provider_id=one.provider_id,
        claim=one.meta.annotations.get(CLAIM, ""),
        pool=told.get(labels.NODEPOOL, ""),
        labels=MappingProxyType(told),
        created=one.meta.created,
        leaving=one.is_deleting,
    )
    kind = None if option is None else option.instance_type
    if kind is None or told.get(labels.INSTANCE_TYPE) != kind.name:
        return found
    return replace(found, capacity=kind.capacity, allocatable=kind.allocatable)
