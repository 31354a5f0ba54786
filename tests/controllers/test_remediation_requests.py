"""Requests for remediation at an API server that refuses: each refusal is a sentence that begins with the field."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import pytest
from tests.core.machines.machine_world import NOW, check, cluster, mine, said

from dovetail.api.kinds import Kind
from dovetail.controllers.cluster_api.requests import RemediationRequests
from dovetail.core.machines import external, names
from dovetail.core.machines.external import Requests
from dovetail.core.machines.objects import Machine, ObjectRef, Request
from dovetail.kube.client import Client
from dovetail.kube.errors import AlreadyExists, Forbidden, KubeError, NotFound, Unavailable, UnknownKind
from dovetail.kube.lists import Listed

FIELD = "spec.remediation.templateRef"
CHECK = check(template=ObjectRef("g.io", "RebootTemplate", "r"))
BOTH = ("RebootTemplate", "Reboot")


class Server:
    """Serves the kinds of a remediation provider in two versions; `refuses` is by verb what it says instead."""

    def __init__(self, served: tuple[str, ...] = BOTH, *, namespaced: bool = True) -> None:
        self.served, self.namespaced = served, namespaced
        self.refuses: dict[str, KubeError] = {}
        self.template: dict[str, Any] = {"spec": {"template": {"spec": {"hard": True}}}}
        self.held: tuple[str, ...] = ()
        self.asked: list[str] = []
        self.made: list[tuple[Kind, dict[str, Any]]] = []

    def _asked(self, verb: str) -> None:
        self.asked.append(verb)
        if verb in self.refuses:
            raise self.refuses[verb]

    async def raw(self, method: str, path: str) -> bytes:
        self._asked("raw")
        if path == "/apis/g.io":
            versions = [{"version": "v1"}, {"version": "v1alpha1"}]
            return json.dumps({"versions": versions, "preferredVersion": versions[0]}).encode()
        if not path.startswith("/apis/g.io/"):
            raise UnknownKind(f"{method} {path}: 404 page not found")
        of = {"v1": ("Other",), "v1alpha1": self.served}[path.rpartition("/")[2]]
        found = [{"name": f"{one.lower()}s", "kind": one, "namespaced": self.namespaced} for one in of]
        return json.dumps({"resources": [*found, {"name": "reboots/status", "kind": "Reboot"}]}).encode()

    async def get(self, kind: Kind, name: str, namespace: str) -> dict[str, Any]:
        self._asked("get")
        return self.template

    async def list(self, kind: Kind, namespace: str) -> Listed[dict[str, Any]]:
        self._asked("list")
        return Listed([{"metadata": {"name": one, "uid": one}} for one in self.held], "1")

    async def create(self, kind: Kind, body: dict[str, Any]) -> None:
        self._asked("create")
        self.made.append((kind, body))

    async def delete(self, kind: Kind, name: str, namespace: str, *, uid: str) -> None:
        self._asked("delete")


def told(server: Server, of: Any = CHECK) -> Requests:
    return asyncio.run(RemediationRequests(cast(Client, server)).seen(of, cluster(), (), NOW))


def look(requests: RemediationRequests, now: float, *machines: Machine) -> Requests:
    return asyncio.run(requests.seen(CHECK, cluster(), machines, now))


def test_a_request_is_made_in_the_version_that_has_both_kinds():
    server = Server()
    requests = RemediationRequests(cast(Client, server))
    assert asyncio.run(requests.seen(CHECK, cluster(), (), NOW)) == external.NONE
    assert asyncio.run(requests.make(CHECK, (mine("a"),), NOW)) == {}
    ((kind, body),) = server.made
    assert kind == Kind("g.io", "v1alpha1", "Reboot", "reboots", namespaced=True)
    assert (body["metadata"]["name"], body["spec"]) == ("a", {"hard": True})
    assert server.asked.count("raw") == 3


@pytest.mark.parametrize(
    ("ref", "server", "begins"),
    [
        (ObjectRef("g.io", "Reboot", "r"), Server(), f"{FIELD}.kind: Reboot is no template"),
        (ObjectRef("g.io", "Template", "r"), Server(), f"{FIELD}.kind: Template is no template"),
        (ObjectRef("h.io", "RebootTemplate", "r"), Server(), f"{FIELD}.kind: the API server does not know"),
        (ObjectRef("../v1", "RebootTemplate", "r"), Server(), f"{FIELD}.kind: the API server does not know"),
        (ObjectRef("", "PodTemplate", "r"), Server(), f"{FIELD}.kind: the API server does not know"),
        (CHECK.template, Server(("RebootTemplate",)), f"{FIELD}.kind: the API server does not know"),
        (CHECK.template, Server(namespaced=False), f"{FIELD}.kind: RebootTemplate and Reboot must both be in namesp"),
    ],
)
def test_a_kind_that_cannot_be_a_template_is_told_of_by_its_field(ref: ObjectRef, server: Server, begins: str):
    assert told(server, check(template=ref)).template.startswith(begins)


def test_a_template_that_is_not_there_or_is_empty_is_told_of_by_its_field():
    server = Server()
    server.template = {"spec": {}}
    assert told(server).template == f"{FIELD}: RebootTemplate r has no spec.template to make anything from"
    server.refuses["get"] = NotFound("get reboottemplates: not found")
    assert told(server).template == f"{FIELD}.name: there is no RebootTemplate r in namespace default"


@pytest.mark.parametrize(
    ("template", "told_of"),
    [
        ({"spec": "x"}, "spec: expected a map, got text"),
        ({"spec": ["x"]}, "spec: expected a map, got a list"),
        ({"spec": {"template": "x"}}, "spec.template: expected a map, got text"),
        ({"spec": {"template": ["x"]}}, "spec.template: expected a map, got a list"),
        ({"spec": {"template": {"metadata": "x"}}}, "spec.template.metadata: expected a map, got text"),
        (
            {"spec": {"template": {"metadata": {"labels": []}}}},
            "spec.template.metadata.labels: expected a map, got a list",
        ),
        (
            {"spec": {"template": {"metadata": {"annotations": {"a": 1}}}}},
            "spec.template.metadata.annotations.a: expected text, got a number; put it in quotes",
        ),
    ],
)
def test_a_template_nothing_can_be_made_from_is_told_of_by_its_own_field(template: dict[str, Any], told_of: str):
    server = Server()
    server.template = template
    assert told(server).template == f"{FIELD}: RebootTemplate r: {told_of}"
    requests = RemediationRequests(cast(Client, server))
    assert asyncio.run(requests.make(CHECK, (mine("a"),), NOW)) == {"a": f"{FIELD}: RebootTemplate r: {told_of}"}


def test_while_all_is_well_nothing_is_asked_at_every_look():
    server, well = Server(), mine("a", conditions=(said(names.HEALTH_CHECK_SUCCEEDED),))
    requests = RemediationRequests(cast(Client, server))
    for later in range(60):
        assert look(requests, NOW + later, well) == external.NONE
    assert (server.asked.count("get"), server.asked.count("list")) == (1, 1)
    look(requests, NOW + 60, well)
    assert server.asked.count("list") == 2


@pytest.mark.parametrize("type_", [names.HEALTH_CHECK_SUCCEEDED, names.EXTERNALLY_REMEDIATED])
def test_while_a_machine_is_unhealthy_or_healed_what_there_is_is_known_for_seconds(type_: str):
    server = Server()
    requests = RemediationRequests(cast(Client, server))
    for later in range(20):
        look(requests, NOW + later, mine("a", conditions=(said(type_, "False"),)))
    assert server.asked.count("list") == 4


def test_so_it_is_while_a_request_stands_and_what_is_made_or_removed_is_looked_at_at_once():
    server = Server()
    server.held = ("a",)
    requests = RemediationRequests(cast(Client, server))
    for later in range(10):
        assert [one.name for one in look(requests, NOW + later, mine("a")).held] == ["a"]
    assert server.asked.count("list") == 2
    asyncio.run(requests.drop(CHECK, Request("a", "u"), NOW + 9))
    server.held = ()
    assert look(requests, NOW + 9, mine("a")).held == ()
    asyncio.run(requests.make(CHECK, (mine("a"),), NOW + 9))
    server.held = ("a",)
    assert [one.name for one in look(requests, NOW + 9, mine("a")).held] == ["a"]


def test_a_kind_nobody_serves_is_looked_for_twice_a_minute_and_another_template_at_once():
    server = Server(())
    requests = RemediationRequests(cast(Client, server))
    for later in range(30):
        assert look(requests, NOW + later).template
    assert server.asked == ["raw"] * 3
    server.served = BOTH
    other = check(template=ObjectRef("g.io", "RebootTemplate", "other"))
    assert asyncio.run(requests.seen(other, cluster(), (), NOW + 29)) == external.NONE
    assert look(requests, NOW + 30) == external.NONE


@pytest.mark.parametrize(("verb", "where"), [("raw", "template"), ("get", "template"), ("list", "listing")])
def test_a_right_that_is_missing_is_told_as_it_came_and_an_outage_only_by_name(verb: str, where: str):
    server = Server()
    server.refuses[verb] = Forbidden("reboots is forbidden")
    assert getattr(told(server), where) == f"{FIELD}: reboots is forbidden"
    server.refuses[verb] = Unavailable("after 3.14 s: no answer")
    assert getattr(told(server), where) == f"{FIELD}: the API server cannot answer now (Unavailable)"


def test_what_is_refused_is_not_asked_for_again_at_every_look():
    server = Server()
    server.refuses["create"] = Forbidden("reboots is forbidden")
    requests = RemediationRequests(cast(Client, server))
    for later in (0.0, 1.0, 59.0):
        assert asyncio.run(requests.make(CHECK, (mine("a"),), NOW + later)) == {"a": "reboots is forbidden"}
    assert server.asked.count("create") == 1
    server.refuses.clear()
    assert asyncio.run(requests.make(CHECK, (mine("a"),), NOW + 60.0)) == {}


def test_a_name_that_is_taken_was_taken_for_the_same_machine():
    server = Server()
    server.refuses["create"] = AlreadyExists("reboots a")
    assert asyncio.run(RemediationRequests(cast(Client, server)).make(CHECK, (mine("a"),), NOW)) == {}


def test_a_definition_that_went_is_looked_for_anew():
    server = Server()
    requests = RemediationRequests(cast(Client, server))
    assert look(requests, NOW) == external.NONE
    server.refuses["list"] = UnknownKind("list reboots: the server could not find the requested resource")
    assert look(requests, NOW + 60.0).listing.startswith(f"{FIELD}: list reboots")
    server.refuses.clear()
    before = server.asked.count("raw")
    assert look(requests, NOW + 90.0) == external.NONE
    assert server.asked.count("raw") > before


def test_what_is_gone_is_removed_and_what_cannot_be_says_why():
    server = Server()
    requests = RemediationRequests(cast(Client, server))
    server.refuses["delete"] = NotFound("reboots a")
    assert asyncio.run(requests.drop(CHECK, Request("a", "u"), NOW)) == ""
    server.refuses["delete"] = Forbidden("reboots is forbidden")
    for later in (0.0, 1.0, 59.0):
        assert asyncio.run(requests.drop(CHECK, Request("a", "u"), NOW + later)) == "reboots is forbidden"
    assert server.asked.count("delete") == 2
    server.refuses.clear()
    assert asyncio.run(requests.drop(CHECK, Request("a", "u"), NOW + 60.0)) == ""


def test_nothing_is_asked_where_nothing_would_be_done():
    server = Server()
    requests = RemediationRequests(cast(Client, server))
    for of, where in ((check(), cluster()), (CHECK, None), (CHECK, cluster(paused=True))):
        assert asyncio.run(requests.seen(of, where, (), NOW)) == external.NONE
    assert server.asked == []
