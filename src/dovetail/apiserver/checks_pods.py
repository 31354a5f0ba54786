"""The rules of pods and of the templates they are made from."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from dovetail.apiserver import errors, metadata
from dovetail.apiserver.errors import Cause
from dovetail.apiserver.selectors import is_label_key, is_label_value
from dovetail.apiserver.storage import Object
from dovetail.core import quantity
from dovetail.core.errors import BadInput

_QUANTITY_RULE: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_PULLS: Final = ("Always", "IfNotPresent", "Never")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CHANGEABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def causes(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    yield from spec_causes("spec", spec)
    if old is not None and _fixed(old["spec"]) != _fixed(spec):
        yield errors.field_forbidden("spec", _CHANGEABLE)
    if old is not None and not _only_added(old["spec"].get("tolerations"), spec.get("tolerations")):
        yield errors.field_forbidden(
            "spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"
        )


def _fixed(spec: dict[str, Any]) -> dict[str, Any]:
    """What of a pod never changes. While gates hold it, where it may go can still be narrowed."""
    found = copy.deepcopy(spec)
    for container in (*(found.get("containers") or ()), *(found.get("initContainers") or ())):
        container.pop("image", None)
        container.pop("imagePullPolicy", None)
    for name in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"):
        found.pop(name, None)
    if spec.get("schedulingGates"):
        found.pop("nodeSelector", None)
        found.pop("affinity", None)
    return found


def _only_added(before: list[dict[str, Any]] | None, after: list[dict[str, Any]] | None) -> bool:
    kept = [_without_seconds(one) for one in after or ()]
    return all(_without_seconds(one) in kept for one in before or ())


def _without_seconds(toleration: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def spec_causes(field: str, spec: dict[str, Any]) -> Iterator[Cause]:
    """What is wrong with a pod's spec, wherever it stands."""
    volumes = {volume.get("name") for volume in spec.get("volumes") or ()}
    if not spec.get("containers"):
        yield errors.required(f"{field}.containers")
    seen: set[str] = set()
    for listed in ("initContainers", "containers"):
        for number, container in enumerate(spec.get(listed) or ()):
            place = f"{field}.{listed}[{number}]"
            yield from _container(place, container, volumes)
            name = container.get("name")
            if name and name in seen:
                yield errors.duplicate(f"{place}.name", name)
            seen.add(name)
    for number, volume in enumerate(spec.get("volumes") or ()):
        if cause := metadata.label_name_cause(f"{field}.volumes[{number}].name", volume.get("name")):
            yield cause
    yield from _choice(f"{field}.restartPolicy", spec.get("restartPolicy"), _RESTARTS)
    yield from _choice(f"{field}.dnsPolicy", spec.get("dnsPolicy"), _DNS)
    if (grace := spec.get("terminationGracePeriodSeconds")) is not None and grace < 0:
        yield errors.bad_value(f"{field}.terminationGracePeriodSeconds", grace, "must be greater than or equal to 0")
    yield from metadata.check_labels(f"{field}.nodeSelector", spec.get("nodeSelector"))
    yield from _tolerations(f"{field}.tolerations", spec.get("tolerations") or ())
    yield from _spreads(f"{field}.topologySpreadConstraints", spec.get("topologySpreadConstraints") or ())


def _choice(field: str, value: str | None, known: tuple[str, ...]) -> Iterator[Cause]:
    if value is not None and value not in known:
        yield errors.unsupported(field, value, known)


def _container(field: str, container: dict[str, Any], volumes: set[Any]) -> Iterator[Cause]:
    if cause := metadata.label_name_cause(f"{field}.name", container.get("name")):
        yield cause
    if not container.get("image"):
        yield errors.required(f"{field}.image")
    yield from _choice(f"{field}.imagePullPolicy", container.get("imagePullPolicy"), _PULLS)
    yield from _ports(f"{field}.ports", container.get("ports") or ())
    for number, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield errors.required(f"{field}.env[{number}].name")
    for number, mount in enumerate(container.get("volumeMounts") or ()):
        place = f"{field}.volumeMounts[{number}]"
        if not mount.get("name"):
            yield errors.required(f"{place}.name")
        elif mount["name"] not in volumes:
            yield errors.missing_reference(f"{place}.name", mount["name"])
        if not mount.get("mountPath"):
            yield errors.required(f"{place}.mountPath")
    yield from _resources(f"{field}.resources", container.get("resources") or {})


def _ports(field: str, ports: Any) -> Iterator[Cause]:
    for number, port in enumerate(ports):
        if port.get("containerPort") is None:
            yield errors.required(f"{field}[{number}].containerPort")
        elif not 0 < port["containerPort"] < 65_536:
            yield errors.bad_value(
                f"{field}[{number}].containerPort", port["containerPort"], "must be between 1 and 65535, inclusive"
            )
        yield from _choice(f"{field}[{number}].protocol", port.get("protocol"), ("SCTP", "TCP", "UDP"))


def _resources(field: str, resources: dict[str, Any]) -> Iterator[Cause]:
    amounts: dict[str, dict[str, quantity.Quantity]] = {"limits": {}, "requests": {}}
    for listed, found in amounts.items():
        for name, text in (resources.get(listed) or {}).items():
            place = f"{field}.{listed}[{name}]"
            try:
                found[name] = quantity.parse(text)
            except BadInput:
                yield errors.bad_value(place, text, _QUANTITY_RULE)
                continue
            if found[name].nanos < 0:
                yield errors.bad_value(place, str(text), "must be greater than or equal to 0")
    for name, asked in amounts["requests"].items():
        limit = amounts["limits"].get(name)
        if limit is not None and asked.nanos > limit.nanos:
            yield errors.bad_value(
                f"{field}.requests", str(asked), f"must be less than or equal to {name} limit of {limit}"
            )


def _tolerations(field: str, tolerations: Any) -> Iterator[Cause]:
    for number, one in enumerate(tolerations):
        place = f"{field}[{number}]"
        operator = one.get("operator") or "Equal"
        if one.get("key") and not is_label_key(one["key"]):
            yield errors.bad_value(f"{place}.key", one["key"], "name part must be a valid label name")
        if not one.get("key") and operator != "Exists":
            yield errors.bad_value(
                f"{place}.operator",
                one.get("operator") or "",
                'operator must be Exists when `key` is empty, which means "match all values and all keys"',
            )
        if operator not in ("Equal", "Exists", "Lt", "Gt"):
            yield errors.unsupported(f"{place}.operator", operator, ("Equal", "Exists"))
        if operator == "Exists" and one.get("value"):
            yield errors.bad_value(f"{place}.operator", one["value"], "value must be empty when `operator` is 'Exists'")
        if not is_label_value(one.get("value") or ""):
            yield errors.bad_value(f"{place}.operator", one["value"], "a valid label must be an empty string or a name")
        if one.get("effect"):
            yield from _choice(f"{place}.effect", one["effect"], _EFFECTS)


def _spreads(field: str, spreads: Any) -> Iterator[Cause]:
    for number, spread in enumerate(spreads):
        place = f"{field}[{number}]"
        skew = spread.get("maxSkew")
        if not isinstance(skew, int) or skew <= 0:
            yield errors.bad_value(f"{place}.maxSkew", skew, "must be greater than zero")
        if not spread.get("topologyKey"):
            yield errors.required(f"{place}.topologyKey", "can not be empty")
        known = ("DoNotSchedule", "ScheduleAnyway")
        if spread.get("whenUnsatisfiable") not in known:
            yield errors.unsupported(f"{place}.whenUnsatisfiable", spread.get("whenUnsatisfiable") or "", known)
