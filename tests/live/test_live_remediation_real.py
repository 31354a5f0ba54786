"""Machines that somebody else heals, on the real control plane: kinds found by discovery, with the rights the reference
page says to grant and none before."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.control_plane_plugin import MACHINES_GROUP
from tests.live import machine_shops
from tests.live.real_machines import SYSTEM, WORKERS, Machinery, machinery
from tests.live.test_live_external_remediation import REMEDY, REQUESTS, TEMPLATES, definition
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.api.install import objects
from dovetail.core.machines import names

pytestmark = pytest.mark.xdist_group(MACHINES_GROUP)
PAGE = Path("docs/reference/cluster-api.md")
SIGNS = {"unhealthyNodeConditions": [{"type": "Broken", "status": "True", "timeoutSeconds": 1}]}


def granted(account: str) -> list[dict[str, Any]]:
    """The role and the binding of the page, for this account."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = lines.index("    metadata: {name: dovetail-machines-remediation}") - 2
    block = lines[first : lines.index("", first)]
    text = textwrap.dedent("\n".join(block)).replace("dovetail-machines-aws", account).replace("NAMESPACE", SYSTEM)
    return list(yaml.safe_load_all(text))


def condition(one: Machinery, type_: str) -> dict[str, Any]:
    held = (one.get(kinds.HEALTH_CHECKS, WORKERS).get("status") or {}).get("conditions") or []
    return next((each for each in held if each["type"] == type_), {})


def broken(one: Machinery, machine: str, is_broken: bool) -> None:
    node = one.node(machine)
    held = [each for each in node["status"]["conditions"] if each["type"] != "Broken"]
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sign = {"type": "Broken", "status": str(is_broken), "reason": "Test", "lastTransitionTime": now}
    one.patch(kinds.NODES, node["metadata"]["name"], {"status": {"conditions": [*held, sign]}}, "status")


def test_a_request_is_made_once_the_rights_are_granted_and_goes_when_the_machine_is_well(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    with machinery(control_plane, tmp_path, "own", machine_shops.simulated()) as one:
        for kind in (TEMPLATES, REQUESTS):
            control_plane.admin.apply(kinds.CRDS.path(), definition(kind))
        one.until(lambda: [one.list(each) for each in (TEMPLATES, REQUESTS)] and True)
        one.put(TEMPLATES, "r", {"template": {"spec": {"hard": True}}})
        one.workers(check=SIGNS)
        one.patch(kinds.HEALTH_CHECKS, WORKERS, {"spec": {"remediation": REMEDY}})
        one.until(lambda: one.are_running(2))
        first, second = sorted(one.phases())
        broken(one, first, True)
        one.until(lambda: condition(one, names.EXTERNAL_TEMPLATE_AVAILABLE).get("status") == "False")
        told = condition(one, names.EXTERNAL_TEMPLATE_AVAILABLE)["message"]
        assert told.startswith("spec.remediation.templateRef")
        assert "reboottemplates" in told
        assert not one.list(REQUESTS)
        for each in granted(one.wanted.name):
            control_plane.admin.apply(objects.kind_of(each).path(), each)
        one.until(lambda: [each["metadata"]["name"] for each in one.list(REQUESTS)] == [first])
        (made,) = one.list(REQUESTS)
        assert made["metadata"]["ownerReferences"][0]["uid"] == one.get(kinds.MACHINES, first)["metadata"]["uid"]
        one.until(lambda: condition(one, names.EXTERNAL_REQUEST_AVAILABLE).get("status") == "True")
        broken(one, first, False)
        one.until(lambda: not one.list(REQUESTS))
        assert set(one.phases()) == {first, second}
        one.delete(kinds.MACHINE_SETS, WORKERS)
        one.until(lambda: not one.machines())
