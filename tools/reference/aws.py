"""The tables of iam.md and ec2nodeclass.md: what is allowed in AWS and why, and the fields of a node class."""

from __future__ import annotations

from typing import Any

from tools.deploy import reference

from dovetail.api.crds import every
from dovetail.clouds.aws import policy

from .marks import table


def rights() -> str:
    """What is allowed, to what, and why."""
    scope = policy.Scope("NAME", "REGION", queue="QUEUE", features=frozenset(policy.Feature))
    rows = []
    for one in policy.RIGHTS:
        actions = "<br>".join(f"`{action}`" for action in one.actions)
        needed = "" if one.feature in policy.ALWAYS else f"`{one.feature}`"
        rows.append((f"`{one.sid}`: {one.why}", actions, _bound(one, scope), needed))
    return table(("right", "actions", "bound to", "only if"), rows)


def _bound(one: policy.Right, scope: policy.Scope) -> str:
    found = [] if one.resources(scope) == ["*"] else [_kinds(one.resources(scope))]
    told = one.condition(scope)
    found += [f"`{key}`" for test in told.values() for key in test]
    return "; ".join(found)


def _kinds(resources: list[str]) -> str:
    return ", ".join(f"`{one.split(':', 5)[5]}`" for one in sorted(resources))


def fields() -> str:
    """Every field of the spec and of the status, as the definition has them."""
    definition = next(one for one in every.DEFINITIONS if one.kind.name == "EC2NodeClass")
    wire: Any = definition.manifest()
    return reference.fields_table(wire["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
