"""The rules of built-in kinds: what a user's mistake is answered with.

Not every rule of the real server, but those a person meets: missing and misspelt parts, selectors that do not match
their template, and what may not change once it is there. Texts and fields are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.apiserver import checks_definitions, checks_pods, errors, metadata, selectors
from dovetail.apiserver.errors import Cause
from dovetail.apiserver.storage import Object

Checker = Callable[[Object, Object | None], Iterator[Cause]]
_MAX_DATA: Final = 1024 * 1024
_IMMUTABLE: Final = "field is immutable"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_SELECTOR_OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")


def causes(kind: Kind, new: Object, old: Object | None, subresource: str) -> Iterator[Cause]:
    """Everything that is wrong with an object."""
    if subresource in ("status", "finalize") or kind not in CHECKERS:
        return
    if kind == kinds.PODS and subresource:
        return
    yield from CHECKERS[kind](new, old)


def _workload(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if (replicas := spec.get("replicas")) is not None and replicas < 0:
        yield errors.bad_value("spec.replicas", replicas, "must be greater than or equal to 0")
    yield from _selector_and_template(spec, needed=True)
    if old and old["spec"].get("selector") != spec.get("selector"):
        yield errors.bad_value("spec.selector", spec.get("selector"), _IMMUTABLE)


def _selector_and_template(spec: dict[str, Any], *, needed: bool) -> Iterator[Cause]:
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector")
    if not selector:
        if needed:
            yield (
                errors.required("spec.selector")
                if selector is None
                else errors.bad_value("spec.selector", selector, "empty selector is invalid for deployment")
            )
    else:
        broken = list(selector_causes("spec.selector", selector))
        yield from broken
        if not broken and not selectors.matches(selectors.of_object(selector) or (), labels):
            yield errors.bad_value(
                "spec.template.metadata.labels", labels, "`selector` does not match template `labels`"
            )
    yield from metadata.check_labels("spec.template.labels", labels)
    yield from checks_pods.spec_causes("spec.template.spec", template.get("spec") or {})
    restart = (template.get("spec") or {}).get("restartPolicy", "Always")
    if needed and restart != "Always":
        yield errors.unsupported("spec.template.spec.restartPolicy", restart, ("Always",))


def selector_causes(field: str, selector: dict[str, Any]) -> Iterator[Cause]:
    """What is wrong with a `LabelSelector`."""
    yield from metadata.check_labels(f"{field}.matchLabels", selector.get("matchLabels"))
    for number, one in enumerate(selector.get("matchExpressions") or ()):
        place = f"{field}.matchExpressions[{number}]"
        operator, values = one.get("operator"), one.get("values")
        if operator not in _SELECTOR_OPERATORS:
            yield errors.bad_value(f"{place}.operator", operator or "", "not a valid selector operator")
        elif operator in ("In", "NotIn") and not values:
            yield errors.required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist") and values:
            yield errors.field_forbidden(
                f"{place}.values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            )
        if not selectors.is_label_key(one.get("key") or ""):
            yield errors.bad_value(f"{place}.key", one.get("key") or "", "name part must be non-empty")


def _job(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    yield from _selector_and_template(spec, needed=False)
    restart = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy")
    if restart not in ("Never", "OnFailure"):
        yield errors.Cause(
            "spec.template.spec.restartPolicy",
            "FieldValueNotSupported",
            f'Unsupported value: "{restart}": supported values: "OnFailure", "Never"',
        )
    for name in ("completions", "parallelism", "backoffLimit"):
        if (spec.get(name) or 0) < 0:
            yield errors.bad_value(f"spec.{name}", spec[name], "must be greater than or equal to 0")
    if old and old["spec"].get("template") != spec.get("template") and not old["spec"].get("suspend"):
        yield errors.bad_value("spec.template", spec.get("template"), _IMMUTABLE)


def _node(new: Object, old: Object | None) -> Iterator[Cause]:
    seen = set()
    for number, taint in enumerate((new.get("spec") or {}).get("taints") or ()):
        # The real server says metadata here, and so do its clients' tests.
        place = f"metadata.taints[{number}]"
        if not selectors.is_label_key(taint.get("key") or ""):
            yield errors.bad_value(f"{place}.key", taint.get("key") or "", "name part must be non-empty")
        if not selectors.is_label_value(taint.get("value") or ""):
            yield errors.bad_value(
                f"{place}.value", taint["value"], "a valid label must be an empty string or consist …"
            )
        if taint.get("effect") not in _EFFECTS:
            yield errors.unsupported(f"{place}.effect", taint.get("effect") or "", sorted(_EFFECTS))
        what = (taint.get("key"), taint.get("effect"))
        if what in seen:
            yield errors.duplicate(place, taint)
        seen.add(what)
    before, after = ((one or {}).get("spec") or {} for one in (old, new))
    if before.get("providerID") and before["providerID"] != after.get("providerID"):
        yield errors.field_forbidden(
            "spec.providerID", 'node updates may not change providerID except from "" to valid'
        )


def _service(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    kind = spec.get("type", "ClusterIP")
    if kind not in (known := ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")):
        yield errors.unsupported("spec.type", kind, known)
    if not spec.get("ports") and kind != "ExternalName" and spec.get("clusterIP") != "None":
        yield errors.required("spec.ports")
    for number, port in enumerate(spec.get("ports") or ()):
        if not 0 < (port.get("port") or 0) < 65_536:
            yield errors.bad_value(
                f"spec.ports[{number}].port", port.get("port") or 0, "must be between 1 and 65535, inclusive"
            )
        if len(spec["ports"]) > 1 and not port.get("name"):
            yield errors.required(f"spec.ports[{number}].name")
    before = ((old or {}).get("spec") or {}).get("clusterIP")
    if before and before != spec.get("clusterIP") and kind != "ExternalName":
        yield errors.bad_value("spec.clusterIPs[0]", [spec.get("clusterIP")], "may not change once set")


def _budget(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield errors.bad_value("spec", spec, "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            yield errors.bad_value(f"spec.{name}", value, "must be greater than or equal to 0")
        if isinstance(value, str) and not (value.endswith("%") and value[:-1].isdigit()):
            yield errors.bad_value(
                f"spec.{name}",
                value,
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', "
                "regex used for validation is '[0-9]+%')",
            )
    if spec.get("selector"):
        yield from selector_causes("spec.selector", spec["selector"])


def _lease(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if (seconds := spec.get("leaseDurationSeconds")) is not None and seconds <= 0:
        yield errors.bad_value("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if (count := spec.get("leaseTransitions")) is not None and count < 0:
        yield errors.bad_value("spec.leaseTransitions", count, "must be greater than or equal to 0")


def _data(new: Object, old: Object | None) -> Iterator[Cause]:
    size = sum(len(text) for name in ("data", "binaryData") for text in (new.get(name) or {}).values())
    if size > _MAX_DATA:
        field = "data" if new.get("kind") == "Secret" else ""
        yield Cause(field, "FieldValueTooLong", f"Too long: may not be more than {_MAX_DATA} bytes")
    if old is None or not old.get("immutable"):
        return
    for name in ("data", "binaryData", "immutable"):
        if old.get(name) != new.get(name):
            yield errors.field_forbidden(name, "field is immutable when `immutable` is set")


def _priority_class(new: Object, old: Object | None) -> Iterator[Cause]:
    value, name = new.get("value", 0), new["metadata"].get("name", "")
    if not name.startswith("system-") and isinstance(value, int) and value > 1_000_000_000:
        yield errors.field_forbidden("value", "maximum allowed value of a user defined priority is 1000000000")
    if old is not None and old.get("value") != value:
        yield errors.bad_value("value", value, _IMMUTABLE)


def _claim(new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new.get("spec") or {}
    if not spec.get("accessModes"):
        yield errors.required("spec.accessModes", "at least 1 access mode is required")
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        yield errors.required("spec.resources[storage]")


CHECKERS: Final[Mapping[Kind, Checker]] = {
    kinds.PODS: checks_pods.causes,
    kinds.NODES: _node,
    kinds.SERVICES: _service,
    kinds.DEPLOYMENTS: _workload,
    kinds.REPLICA_SETS: _workload,
    kinds.STATEFUL_SETS: _workload,
    kinds.DAEMON_SETS: _workload,
    kinds.JOBS: _job,
    kinds.DISRUPTION_BUDGETS: _budget,
    kinds.CONFIG_MAPS: _data,
    kinds.SECRETS: _data,
    kinds.PRIORITY_CLASSES: _priority_class,
    kinds.PERSISTENT_VOLUME_CLAIMS: _claim,
    kinds.LEASES: _lease,
    kinds.CRDS: checks_definitions.causes,
}
