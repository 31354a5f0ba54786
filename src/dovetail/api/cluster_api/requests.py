"""Requests for remediation: objects of a kind that others define, made from a template of theirs.

A template has what it is a template of under `spec.template`, and its kind ends with Template; what is made from it has
the rest of that name. Nothing else is known of either.
"""

from __future__ import annotations

import copy
from typing import Any, Final

from dovetail.api import fields, kinds
from dovetail.api.cluster_api import reading, writing
from dovetail.api.fields import Fields
from dovetail.api.kinds import Kind
from dovetail.core.errors import BadField, BadValue
from dovetail.core.machines import names
from dovetail.core.machines.objects import HealthCheck, Machine, ObjectRef, Owner, Request

Body = dict[str, Any]
SUFFIX: Final = "Template"
#: Where a check names its template.
FIELD: Final = "spec.remediation.templateRef"


def request(whole: Fields) -> Request:
    about = reading.meta(whole)
    owner = next((one.uid for one in about.owners if one.kind == kinds.MACHINES.name), "")
    made_by = about.annotations.get(names.HEALTH_CHECK, "")
    return Request(about.name, about.uid, owner, made_by, about.deleting is not None)


def template_of(wire: Body, ref: ObjectRef) -> Body:
    """What requests are copies of. Raises BadInput, with the field, where a template holds none: its schema is others',
    and may let anything through."""
    try:
        spec = fields.fields(wire).map("spec")
        found = spec.map("template")
        for one in ("labels", "annotations"):
            found.map("metadata").labels(one)
    except BadField as problem:
        raise fields.dotted(problem, f"{ref.kind} {ref.name}") from None
    if not spec.has("template"):
        raise BadValue(f"{ref.kind} {ref.name} has no spec.template to make anything from")
    return dict(found.wire)


def body(of: HealthCheck, machine: Machine, kind: Kind, ref: ObjectRef, template: Body) -> Body:
    """The Machine owns it without controlling it, as Cluster API has it: whoever heals may."""
    given = template.get("metadata") or {}
    owner = Owner(kinds.MACHINES.api_version, kinds.MACHINES.name, machine.name, machine.meta.uid)
    about = {
        "name": machine.name,
        "namespace": machine.meta.namespace,
        "labels": {**(given.get("labels") or {}), names.CLUSTER_NAME: machine.cluster},
        "annotations": {
            **(given.get("annotations") or {}),
            names.CLONED_FROM_NAME: ref.name,
            names.CLONED_FROM_KIND: f"{ref.kind}.{ref.group}",
            names.HEALTH_CHECK: of.name,
        },
        "ownerReferences": [writing.owner_body(owner)],
    }
    copied = {key: copy.deepcopy(value) for key, value in template.items() if key != "status"}
    return {**copied, "apiVersion": kind.api_version, "kind": kind.name, "metadata": about}
