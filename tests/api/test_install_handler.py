"""The handler's DaemonSet and its rights (R35, R42)."""

from __future__ import annotations

import io
from typing import Any

import yaml

from dovetail.api.install import handler, objects
from dovetail.cli import program
from dovetail.settings import handler as settings


def plain(**more: Any) -> list[dict[str, Any]]:
    return handler.objects(handler.HandlerInstallation(image="dovetail:1", namespace="kube-system"), **more)


def pod() -> dict[str, Any]:
    return next(one for one in plain() if one["kind"] == "DaemonSet")["spec"]["template"]["spec"]


def granted(found: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {
        (resource, verb)
        for one in found
        for rule in one.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def test_it_runs_where_machines_may_be_taken_away_and_nowhere_else():
    assert pod()["nodeSelector"]["cluster.x-k8s.io/interruptible"] == ""
    assert pod()["tolerations"] == [{"operator": "Exists"}]
    assert pod()["priorityClassName"] == "system-node-critical"
    assert pod()["hostNetwork"] is True


def test_it_may_do_what_a_drain_needs_and_nothing_else():
    assert granted(plain()) == {
        ("nodes", "get"),
        ("nodes", "patch"),
        ("nodes/status", "patch"),
        ("pods", "list"),
        ("pods", "delete"),
        ("pods/eviction", "create"),
        ("events", "create"),
        ("events", "patch"),
    }


def test_machines_are_deleted_with_a_right_of_its_own():
    assert granted(plain(machines=True)) - granted(plain()) == {("machines", "delete")}


def test_it_can_write_nothing_and_become_nobody():
    (container,) = pod()["containers"]
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_its_port_is_the_programs_and_is_asked_for_on_loopback():
    (container,) = pod()["containers"]
    assert handler.PORT == settings.PORT
    for probe in ("readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"]["host"] == "127.0.0.1"


def test_everything_it_sets_is_known_to_the_program():
    (container,) = pod()["containers"]
    known = {one.variable for one in settings.OPTIONS} | {"POD_NAME", "POD_NAMESPACE", "PYTHONDONTWRITEBYTECODE"}
    assert {one["name"] for one in container["env"]} <= known


def test_every_object_is_of_a_kind_install_can_apply():
    for one in plain(machines=True):
        assert objects.kind_of(one).name == one["kind"]


def printed(*words: str) -> list[dict[str, Any]]:
    out = io.StringIO()
    assert program.run(words, program.Streams(io.StringIO(), out, io.StringIO())) == 0
    return list(yaml.safe_load_all(out.getvalue()))


def test_install_prints_it_where_it_is_asked_for():
    without = printed("install", "--dry-run")
    found = printed("install", "--dry-run", "--handler", "-n", "mine")
    assert "DaemonSet" not in {one["kind"] for one in without}
    (daemon,) = (one for one in found if one["kind"] == "DaemonSet")
    assert daemon["metadata"]["namespace"] == "mine"
