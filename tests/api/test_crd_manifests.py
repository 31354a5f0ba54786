"""What lies in `deploy/` is what the code says, and the chart is what the manifests are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.deploy import __main__ as deploy
from tools.deploy import chart

from dovetail import __version__
from dovetail.api.crds import every
from dovetail.api.install import handler, objects, permissions
from dovetail.api.install.installation import Installation
from dovetail.api.install.text import yaml_text
from dovetail.settings import aws, operator

REPOSITORY = Path(__file__).resolve().parents[2]
ROOT = REPOSITORY / "deploy"


def plain(cloud: str, **changes: Any) -> list[dict[str, Any]]:
    return objects.objects(Installation(image=f"dovetail:{__version__}", cloud=cloud, **changes))


def test_the_files_are_those_the_code_makes():
    stale = [str(path.relative_to(REPOSITORY)) for path in deploy.stale_files(REPOSITORY)]
    assert stale == [], "run `python -m tools.deploy` (make manifests)"


def test_a_file_nobody_makes_any_more_is_found(tmp_path):
    old = tmp_path / "deploy/old.yaml"
    old.parent.mkdir()
    old.write_text("a: 1\n")
    found = deploy.stale_files(tmp_path)
    assert found[old] is None
    assert "kind: Deployment" in str(found[tmp_path / "deploy/manifests/kwok.yaml"])


@pytest.mark.parametrize("definition", [*every.DEFINITIONS, *every.CLUSTER_API], ids=lambda one: one.kind.name)
def test_a_definition_reads_back_as_it_was(definition):
    (back,) = yaml.safe_load_all(yaml_text([definition.manifest()]))
    assert back == definition.manifest()


def test_nothing_is_written_as_a_reference_to_something_else():
    assert "&id" not in yaml_text(plain("kwok"))


# ------------------------------------------------------------------------------------------------ the chart

EXPRESSION = re.compile(r"\{\{ (.+?) \}\}")
GUARD = re.compile(r'\{\{- if eq (\.\S+) "([\w-]+)" \}\}\n(.*?)\n?\{\{- end \}\}\n', re.DOTALL)
GIVEN = re.compile(r'\{\{- if ne \(toString (\.\S+)\) "" \}\}\n(.*?)\n?\{\{- end \}\}\n', re.DOTALL)
SWITCH = re.compile(r"\{\{- if (\.\S+) \}\}\n(.*?)\n?\{\{- end \}\}\n", re.DOTALL)


def looked_up(path: str, context: dict[str, Any]) -> Any:
    value: Any = context
    for name in path.removeprefix(".").split("."):
        value = value[name]
    return value


def evaluated(expression: str, context: dict[str, Any]) -> str:
    """The few expressions our templates keep to."""
    match expression.split(" ", 1):
        case ["toJson", inner] if inner.startswith("(toString "):
            return json.dumps(_go(looked_up(inner.removeprefix("(toString ").removesuffix(")"), context)))
        case ["toJson", path]:
            return json.dumps(looked_up(path, context))
        case [path]:
            return _go(looked_up(path, context))
        case _:
            raise AssertionError(f"a template nobody here can render: {expression}")


def _go(value: Any) -> str:
    """A scalar as Go's templates print it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def rendered(changes: dict[str, Any]) -> list[dict[str, Any]]:
    """The chart's objects as Helm would make them, in the order of an installation."""
    values = yaml.safe_load((ROOT / "chart/values.yaml").read_text())
    context = {"Values": values | changes, "Release": {"Namespace": "kube-system"}}
    found = []
    for name in sorted((ROOT / "chart/templates").glob("*.yaml")):
        text = GUARD.sub(lambda one: one[3] + "\n" if looked_up(one[1], context) == one[2] else "", name.read_text())
        text = GIVEN.sub(lambda one: one[2] + "\n" if _go(looked_up(one[1], context)) else "", text)
        text = SWITCH.sub(lambda one: one[2] + "\n" if looked_up(one[1], context) else "", text)
        text = EXPRESSION.sub(lambda one: evaluated(one[1], context), text)
        assert "{{" not in text, name
        found += [one for one in yaml.safe_load_all(text) if one]
    return found


def ordered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(found, key=lambda one: (one["kind"], one["metadata"]["name"], one["metadata"].get("namespace", "")))


@pytest.mark.parametrize("cloud", permissions.CLOUDS)
def test_the_chart_with_its_defaults_is_the_manifests(cloud):
    assert ordered(rendered({"cloud": cloud})) == ordered(plain(cloud))


def test_what_a_user_sets_in_the_chart_arrives():
    spread = [{"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"}]
    controller = {"metrics": {"port": 9000}, "healthProbe": {"port": 9001}, "resources": {}, "envFrom": []}
    found = rendered({"replicas": 1, "topologySpreadConstraints": spread, "logLevel": "5", "controller": controller})
    wanted = plain("kwok", replicas=1, topology_spread=spread, resources={}, metrics_port=9000, probe_port=9001)
    deployment = next(one for one in wanted if one["kind"] == "Deployment")
    environment = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    next(one for one in environment if one["name"] == "LOG_LEVEL")["value"] = "5"
    assert ordered(found) == ordered(wanted)


def test_an_option_that_is_said_becomes_a_variable_and_another_does_not():
    settings = yaml.safe_load((ROOT / "chart/values.yaml").read_text())["settings"]
    said = {"clusterName": "here", "disableDryRun": True, "awsENILimitedPodDensity": False, "reservedENIs": 1}
    said |= {"amiRefreshInterval": "1h", "awsFeatureGates": "NodeClassCEL=true"}
    assert set(said) <= set(settings)
    found = rendered({"cloud": "aws", "settings": settings | said})
    deployment = next(one for one in found if one["kind"] == "Deployment")
    entries = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    told = {one["name"]: one.get("value") for one in entries}
    assert told["CLUSTER_NAME"] == "here"
    assert (told["DISABLE_DRY_RUN"], told["AWS_ENI_LIMITED_POD_DENSITY"], told["RESERVED_ENIS"]) == (
        "true",
        "false",
        "1",
    )
    assert (told["AMI_REFRESH_INTERVAL"], told["AWS_FEATURE_GATES"]) == ("1h", "NodeClassCEL=true")
    assert "SUBNET_REFRESH_INTERVAL" not in told


def test_every_option_of_the_controller_can_be_set_by_the_chart():
    template = (ROOT / "chart/templates/deployment.yaml").read_text()
    for option in (*operator.OPTIONS, *aws.OPTIONS):
        assert template.count(f"- name: {option.variable}\n") == 1, option.variable


def test_every_value_of_the_chart_is_used():
    templates = "".join(path.read_text() for path in (ROOT / "chart/templates").glob("*.yaml"))
    for setting in chart.SETTINGS:
        assert re.search(rf"\.Values\.{re.escape(setting.path)}\b", templates), setting.path


def test_the_charts_definitions_are_the_definitions():
    names = sorted(path.name for path in (ROOT / "crds").iterdir())
    assert names == sorted(path.name for path in (ROOT / "chart/crds").iterdir())
    for name in names:
        assert (ROOT / "crds" / name).read_bytes() == (ROOT / "chart/crds" / name).read_bytes()


@pytest.mark.parametrize("deletes", [False, True])
def test_the_chart_with_its_handler_is_the_manifest_of_the_handler(deletes):
    values = yaml.safe_load((ROOT / "chart/values.yaml").read_text())["handler"]
    found = rendered({"handler": values | {"enabled": True, "deleteMachine": deletes}})
    image, machines = f"dovetail:{__version__}", str(deletes).lower()
    wanted = handler.HandlerInstallation(image=image, namespace="kube-system", delete_machine=machines)
    assert ordered(found) == ordered([*plain("kwok"), *handler.objects(wanted, machines=deletes)])
