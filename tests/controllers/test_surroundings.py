"""What nodes are told of the cluster: its version, and where its name server is."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from dovetail.api.kinds import SERVICES
from dovetail.controllers.surroundings import NameServer, Version
from dovetail.kube.errors import Forbidden, KubeError, NotFound


class Server:
    """An API server of a few words: what is asked for, or the error."""

    def __init__(self, answer: object) -> None:
        self.answer, self.asked = answer, []

    def _said(self, what: object) -> Any:
        self.asked.append(what)
        if isinstance(self.answer, KubeError):
            raise self.answer
        return self.answer

    async def get(self, kind: object, name: str, namespace: str, *, into: Any) -> Any:
        return msgspec.convert(self._said((kind, name, namespace)), into)

    async def raw(self, method: str, path: str) -> bytes:
        return msgspec.json.encode(self._said((method, path)))


def looked(one: Any) -> str:
    asyncio.run(one.look())
    return one.text


def test_the_name_server_is_where_its_service_is():
    server = Server({"spec": {"clusterIP": "10.100.0.10", "ports": []}})
    assert looked(NameServer(server)) == "10.100.0.10"
    assert server.asked == [(SERVICES, "kube-dns", "kube-system")]


def test_its_address_may_be_one_of_IPv6():
    assert looked(NameServer(Server({"spec": {"clusterIP": "FD00:10::A"}}))) == "fd00:10::a"


@pytest.mark.parametrize("odd", [{}, {"spec": {}}, {"spec": {"clusterIP": "None"}}, {"spec": {"clusterIP": "$(rm)"}}])
def test_a_service_without_an_address_is_no_address(odd: dict[str, object]):
    assert looked(NameServer(Server(odd))) == ""


def test_a_cluster_without_one_is_none_and_is_not_complained_about(caplog):
    assert looked(NameServer(Server(NotFound("no such service")))) == ""
    assert not caplog.records


def test_what_may_not_be_read_is_said_and_what_was_known_stays(caplog):
    server = Server(Forbidden("services is forbidden"))
    one = NameServer(server, "10.0.0.10")
    assert looked(one) == "10.0.0.10"
    assert "nodes are not told where the name server is: services is forbidden" in caplog.text


@pytest.mark.parametrize(
    ("told", "text"),
    [({"major": "1", "minor": "35"}, "1.35"), ({"major": "1", "minor": "35+"}, "1.35"), ({"major": "x"}, "")],
)
def test_the_version_is_what_the_server_says_without_what_vendors_add(told: dict[str, str], text: str):
    assert looked(Version(Server(told))) == text


def test_a_version_that_nobody_says_any_more_stays(caplog):
    one = Version(Server(NotFound("gone")), "1.34")
    assert looked(one) == "1.34"
    assert "version of Kubernetes is not known" in caplog.text
