"""The chart: the very objects of an installation, with templates where a value may differ.

Templates are kept to what can be checked without Helm: a value put in place, a map or list put in place as JSON (which
is YAML), and an `if` around a whole file, or around one variable that is set only where somebody says something. The
tests render them and compare the result with the plain manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from dovetail import __version__
from dovetail.api.install import handler, installation, objects, workload
from dovetail.api.install.installation import GATES, Installation
from dovetail.api.install.permissions import CLOUDS
from dovetail.api.install.text import yaml_text
from dovetail.settings import aws, operator
from dovetail.settings.options import Option

#: Wide enough that no template is ever broken over two lines.
_NO_LIMIT: Final = 1 << 20
_MARK: Final = "<raw>"
_MARKED: Final = re.compile(f"'?{_MARK}(.*?){_MARK}'?")


class Raw(str):
    """A template that stands in the file as it is, without quotes."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of the chart: where it stands in values.yaml, its default, and what it means."""

    path: str
    default: Any
    about: str

    @property
    def part(self) -> str:
        """A part of a text, or a text nobody would put quotes or line ends into."""
        return f"{{{{ .Values.{self.path} }}}}"

    @property
    def text(self) -> Raw:
        """Any text; what looks like a number stays text."""
        return Raw(f"{{{{ toJson (toString .Values.{self.path}) }}}}")

    @property
    def number(self) -> Raw:
        return Raw(self.part)

    @property
    def json(self) -> Raw:
        """A map or a list."""
        return Raw(f"{{{{ toJson .Values.{self.path} }}}}")


_PLAIN: Final = Installation(image="", cloud="")
_ENVIRONMENT: Final = {
    "LOG_LEVEL": Setting("logLevel", "info", "debug, info or error (LOG_LEVEL)"),
    "BATCH_IDLE_DURATION": Setting(
        "settings.batchIdleDuration", "1s", "plan when no pod has come for so long (BATCH_IDLE_DURATION)"
    ),
    "BATCH_MAX_DURATION": Setting(
        "settings.batchMaxDuration", "10s", "plan after so long whatever comes (BATCH_MAX_DURATION)"
    ),
    "PREFERENCE_POLICY": Setting("settings.preferencePolicy", "Respect", "Respect or Ignore (PREFERENCE_POLICY)"),
    "MIN_VALUES_POLICY": Setting("settings.minValuesPolicy", "Strict", "Strict or BestEffort (MIN_VALUES_POLICY)"),
    "SCHEDULER_CONFIG": Setting(
        "settings.schedulerConfig", "", "the scheduler's podTopologySpread defaults, as YAML (SCHEDULER_CONFIG)"
    ),
    "INSTANCE_TYPES_FILE_PATH": Setting(
        "settings.instanceTypesFilePath", "", "kwok: a file of instance types (INSTANCE_TYPES_FILE_PATH)"
    ),
}
#: What the chart has a value of its own for, or the pod knows by itself.
_OTHERWISE: Final = frozenset({"METRICS_PORT", "HEALTH_PROBE_PORT", "LEADER_ELECTION_NAMESPACE"})
#: As Karpenter's chart spells them.
_WORDS: Final = {"ca": "CA", "vpc": "VPC", "enis": "ENIs", "qps": "QPS", "eni": "ENI", "ami": "AMI"}


def _path(flag: str) -> str:
    first, *rest = flag.split("-")
    return "settings." + first + "".join(_WORDS.get(word, word.capitalize()) for word in rest)


def _told(option: Option) -> str:
    return f"{option.help} ({option.variable})"


_OVERHEAD: Final = Setting(
    "settings.vmMemoryOverheadPercent",
    "",
    "aws: the share of a machine's memory its hypervisor keeps (less of larger ones) (VM_MEMORY_OVERHEAD_PERCENT)",
)
#: Every other option of the controller: the variable is set where the value is not empty.
_OPTIONAL: Final = {
    **{
        one.variable: Setting(_path(one.name), "", _told(one))
        for one in (*operator.OPTIONS, *aws.OPTIONS)
        if one.variable not in _OTHERWISE and one.variable not in _ENVIRONMENT
    },
    "VM_MEMORY_OVERHEAD_PERCENT": _OVERHEAD,
}
_GATES: Final = {
    name: Setting(f"settings.featureGates.{name[0].lower()}{name[1:]}", on, f"gate {name} (FEATURE_GATES)")
    for name, on in GATES.items()
}
_CLOUD: Final = Setting("cloud", CLOUDS[0], f"whose machines: {' or '.join(CLOUDS)}")
_REPOSITORY: Final = Setting("image.repository", "dovetail", "the image, without its tag")
_TAG: Final = Setting("image.tag", __version__, "its tag")
_REPLICAS: Final = Setting("replicas", _PLAIN.replicas, "how many; one of them acts")
_ANNOTATIONS: Final = Setting("serviceAccount.annotations", {}, "such as the role of a cloud's identity service")
_METRICS: Final = Setting("controller.metrics.port", installation.METRICS_PORT, "METRICS_PORT")
_PROBES: Final = Setting("controller.healthProbe.port", installation.PROBE_PORT, "HEALTH_PROBE_PORT")
_RESOURCES: Final = Setting("controller.resources", _PLAIN.resources, "what it asks for and may use")
_ENV_FROM: Final = Setting("controller.envFrom", [], "ConfigMaps and Secrets with further settings")
_PRIORITY: Final = Setting("priorityClassName", _PLAIN.priority_class, "before whom it is scheduled")
_SELECTOR: Final = Setting("nodeSelector", _PLAIN.node_selector, "which nodes it may run on")
_AFFINITY: Final = Setting("affinity", _PLAIN.affinity, "by default never on a node it could take away")
_TOLERATIONS: Final = Setting("tolerations", _PLAIN.tolerations, "which taints it bears")
_SPREAD: Final = Setting("topologySpreadConstraints", _PLAIN.topology_spread, "how replicas are spread")

_HANDLER: Final = Setting("handler.enabled", False, "the termination handler, on nodes that may be taken away")
_HANDLER_MACHINES: Final = Setting("handler.deleteMachine", False, "and it deletes their Machines (DELETE_MACHINE)")
_HANDLER_RESOURCES: Final = Setting(
    "handler.resources",
    handler.HandlerInstallation(image="", namespace="").resources,
    "what it asks for and may use on each node",
)

SETTINGS: Final = (
    *(_CLOUD, _REPOSITORY, _TAG, _REPLICAS, _ENVIRONMENT["LOG_LEVEL"], _ANNOTATIONS),
    *(one for name, one in _ENVIRONMENT.items() if name != "LOG_LEVEL"),
    *_OPTIONAL.values(),
    *_GATES.values(),
    *(_METRICS, _PROBES, _RESOURCES, _ENV_FROM, _PRIORITY, _SELECTOR, _AFFINITY, _TOLERATIONS, _SPREAD),
    *(_HANDLER, _HANDLER_MACHINES, _HANDLER_RESOURCES),
)


def files() -> dict[str, str]:
    """The chart's files by their path in it, without the custom resource definitions."""
    one = _templated()
    found = {
        "Chart.yaml": yaml_text([_about()]),
        "values.yaml": values_text(SETTINGS),
        "templates/serviceaccount.yaml": _template([objects.service_account(one)]),
        "templates/rights.yaml": _template(objects.rights(one)),
        "templates/service.yaml": _template([workload.service(one)]),
        "templates/deployment.yaml": _optional(_template([workload.deployment(one)])),
        "templates/disruptionbudget.yaml": _template([workload.disruption_budget(one)]),
    }
    for cloud in CLOUDS:
        text = _template(objects.rights_of_cloud(one, cloud))
        found[f"templates/rights-{cloud}.yaml"] = f'{{{{- if eq .Values.cloud "{cloud}" }}}}\n{text}{{{{- end }}}}\n'
    found["templates/handler.yaml"] = _only_with(_HANDLER, _template(handler.objects(_templated_handler())))
    machines = _template(handler.machine_rights(_templated_handler()))
    found["templates/handler-machines.yaml"] = _only_with(_HANDLER_MACHINES, machines)
    return found


def _only_with(switch: Setting, text: str) -> str:
    return f"{{{{- if .Values.{switch.path} }}}}\n{text}{{{{- end }}}}\n"


def _optional(text: str) -> str:
    """The deployment, with an `if` around each variable that need not be set: one from `envFrom` would lose to it."""
    for name, one in _OPTIONAL.items():
        entry = f"        - name: {name}\n          value: {one.text}\n"
        if text.count(entry) != 1:
            raise ValueError(f"{name} should stand in the deployment once")
        text = text.replace(entry, f'{{{{- if ne (toString .Values.{one.path}) "" }}}}\n{entry}{{{{- end }}}}\n')
    return text


def _templated_handler() -> handler.HandlerInstallation:
    return handler.HandlerInstallation(
        image=f"{_REPOSITORY.part}:{_TAG.part}",
        namespace="{{ .Release.Namespace }}",
        log_level=_ENVIRONMENT["LOG_LEVEL"].text,
        delete_machine=_HANDLER_MACHINES.text,
        resources=_HANDLER_RESOURCES.json,
    )


def _about() -> dict[str, Any]:
    return {
        "apiVersion": "v2",
        "name": "dovetail",
        "description": "A Kubernetes node provisioner that knows what every cloud sells, and says why it buys.",
        "type": "application",
        "version": __version__,
        "appVersion": __version__,
        "kubeVersion": ">=1.30.0-0",
    }


def _templated() -> Installation:
    gates = ",".join(f"{name}={one.part}" for name, one in _GATES.items())
    settings = {name: one.text for name, one in _ENVIRONMENT.items()} | {"FEATURE_GATES": gates}
    return Installation(
        image=f"{_REPOSITORY.part}:{_TAG.part}",
        cloud=_CLOUD.part,
        namespace="{{ .Release.Namespace }}",
        replicas=_REPLICAS.number,
        account_annotations=_ANNOTATIONS.json,
        resources=_RESOURCES.json,
        priority_class=_PRIORITY.text,
        node_selector=_SELECTOR.json,
        affinity=_AFFINITY.json,
        tolerations=_TOLERATIONS.json,
        topology_spread=_SPREAD.json,
        metrics_port=_METRICS.number,
        probe_port=_PROBES.number,
        settings={name: settings[name] for name in _PLAIN.settings}
        | {name: one.text for name, one in _OPTIONAL.items()},
        env_from=_ENV_FROM.json,
    )


def _template(wanted: Iterable[dict[str, Any]]) -> str:
    return _MARKED.sub(r"\1", yaml_text([_marked(one) for one in wanted], _NO_LIMIT))


def _marked(value: Any) -> Any:
    """The value with every raw text marked, so that its quotes can be found and taken away."""
    if isinstance(value, Raw):
        return f"{_MARK}{value}{_MARK}"
    if isinstance(value, dict):
        return {name: _marked(one) for name, one in value.items()}
    return [_marked(one) for one in value] if isinstance(value, list) else value


def values_text(settings: Iterable[Setting]) -> str:
    """values.yaml, each value under a line that says what it is."""
    lines: list[str] = []
    open_path: list[str] = []
    for one in settings:
        *parents, name = one.path.split(".")
        shared = 0
        while shared < min(len(parents), len(open_path)) and parents[shared] == open_path[shared]:
            shared += 1
        lines.extend(f"{'  ' * depth}{parents[depth]}:" for depth in range(shared, len(parents)))
        open_path = parents
        indent = "  " * len(parents)
        body = yaml_text([{name: one.default}]).rstrip("\n").splitlines()
        lines.append(f"{indent}# {one.about}")
        lines.extend(indent + line for line in body)
    return "\n".join(lines) + "\n"
