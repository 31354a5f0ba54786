"""The control plane itself: its answers, its doors, an outage, and kwok's nodes."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from tools.control_plane.access import Refused
from tools.control_plane.programs import KUBERNETES_VERSION
from tools.control_plane.start import ControlPlane

PATIENCE = 180.0


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


def found(control_plane: ControlPlane, path: str) -> Any:
    try:
        return control_plane.admin.request("GET", path)
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return None


def test_it_is_the_version_that_was_pinned(control_plane: ControlPlane) -> None:
    assert control_plane.admin.request("GET", "/version")["gitVersion"] == KUBERNETES_VERSION


def test_a_service_account_may_do_what_its_rules_say_and_no_more(control_plane: ControlPlane) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    config = control_plane.service_account("door", "reader", rules)
    tls = ssl.create_default_context(cadata=control_plane.authority.decode())

    def ask(path: str) -> int:
        headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        request = urllib.request.Request(control_plane.url + path, headers=headers)
        try:
            with urllib.request.urlopen(request, context=tls) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code

    assert ask("/api/v1/pods") == 200
    assert ask("/api/v1/nodes") == 403


def test_an_outage_keeps_the_objects_and_the_address(control_plane: ControlPlane) -> None:
    namespace = {"metadata": {"name": "outlives"}}
    control_plane.admin.ensure("/api/v1/namespaces", namespace)
    url = control_plane.url
    control_plane.stop_apiserver()
    assert not control_plane.admin.healthy()
    control_plane.start_apiserver()
    assert control_plane.url == url
    assert found(control_plane, "/api/v1/namespaces/outlives")
    # Later tests need the controllers back at work: one of them gives every namespace an account.
    control_plane.admin.ensure("/api/v1/namespaces", {"metadata": {"name": "after-the-outage"}})
    until(lambda: bool(found(control_plane, "/api/v1/namespaces/after-the-outage/serviceaccounts/default")))


def test_kwok_plays_kubelet_for_its_nodes(control_plane: ControlPlane) -> None:
    if not control_plane.programs.path("kwok").exists():
        pytest.skip("the directory of programs has no kwok")
    control_plane.start_kwok()
    try:
        node = {"metadata": {"name": "kwok-one", "labels": {"kwok-partition": "a"}}}
        control_plane.admin.ensure("/api/v1/nodes", node)

        def ready() -> bool:
            conditions = found(control_plane, "/api/v1/nodes/kwok-one")["status"].get("conditions", [])
            return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

        until(ready)
        lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/kwok-one"
        until(lambda: bool(found(control_plane, lease)))
    finally:
        control_plane.admin.request("DELETE", "/api/v1/nodes/kwok-one")
        control_plane.stop_kwok()
