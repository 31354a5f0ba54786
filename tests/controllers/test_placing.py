"""Pods that were left without room once are given the name of the node that was bought for them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail.controllers.nominations import Nominations
from dovetail.controllers.placing import Places
from dovetail.kube.errors import Forbidden, KubeError, NotFound

A, B = (("default", "a"), "uid-a"), (("default", "b"), "uid-b")


class Server:
    """Takes patches, or refuses them."""

    def __init__(self, refusal: KubeError | None = None) -> None:
        self.refusal = refusal
        self.asked: list[tuple[str, Any, str]] = []

    async def patch(self, kind: Any, name: str, patch: Any, namespace: str, *, subresource: str) -> dict[str, Any]:
        self.asked.append((name, patch.body, subresource))
        if self.refusal is not None:
            raise self.refusal
        return {}


def left_over() -> Nominations:
    """a was planned onto a node that came up without it, and then again; b for the first time."""
    nominations = Nominations()
    nominations.nominate([A], "first", None)
    nominations.ready("first", 0.0)
    nominations.nominate([A, B], "second", None)
    return nominations


def told(server: Server, times: int = 1) -> list[tuple[str, Any, str]]:
    async def scenario() -> None:
        places = Places(server, left_over())  # type: ignore[arg-type]
        for _ in range(times):
            await places.tell("second", "node-2")

    asyncio.run(scenario())
    return server.asked


def test_only_those_left_over_before_are_told():
    body = {"metadata": {"uid": "uid-a"}, "status": {"nominatedNodeName": "node-2"}}
    assert told(Server()) == [("a", body, "status")]


def test_a_pod_that_is_gone_is_no_trouble():
    assert len(told(Server(NotFound("pods default/a: there is none")), 2)) == 2


def test_where_we_may_not_it_is_not_tried_again():
    assert len(told(Server(Forbidden("patch pods default/a: no")), 2)) == 1


@pytest.mark.parametrize("uid", ["uid-a", "another"])
def test_a_pod_of_the_same_name_was_not_left_over(uid: str):
    nominations = left_over()
    nominations.nominate([(A[0], uid)], "third", None)
    assert [one.again for one in nominations.on("third")] == [uid == "uid-a"]
