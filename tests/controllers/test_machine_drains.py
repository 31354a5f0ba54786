"""Which volumes keep a Machine whose Node was drained: those of pods that stay with the Node do not (R10)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from dovetail.api import kinds
from dovetail.api.kinds import Kind
from dovetail.controllers.cluster_api import drains
from dovetail.kube.errors import NotFound

Object = dict[str, Any]
DAEMON = {"ownerReferences": [{"kind": "DaemonSet", "name": "logs", "controller": True}]}


def pod(name: str, *volumes: Object, **about: Any) -> Object:
    return {"metadata": {"name": name, "namespace": "default", **about}, "spec": {"volumes": list(volumes)}}


def claim(name: str) -> Object:
    return {"name": "data", "persistentVolumeClaim": {"claimName": name}}


def attachment(volume: str, node: str = "n") -> Object:
    spec = {"nodeName": node, "source": {"persistentVolumeName": volume}}
    return {"spec": spec, "status": {"attached": True}}


class Server:
    """Knows pods of one Node, attachments, and the volume of each claim."""

    def __init__(self, pods: list[Object], attached: list[Object], claims: dict[str, str]) -> None:
        self.listed = {kinds.PODS: pods, kinds.VOLUME_ATTACHMENTS: attached}
        self.claims, self.asked = claims, list[str]()

    async def list(self, kind: Kind, **_: str) -> Any:
        return SimpleNamespace(items=self.listed[kind])

    async def get(self, kind: Kind, name: str, namespace: str) -> Object:
        assert (kind, namespace) == (kinds.PERSISTENT_VOLUME_CLAIMS, "default")
        self.asked.append(name)
        if name not in self.claims:
            raise NotFound("there is none")
        return {"spec": {"volumeName": self.claims[name]}}


def attached(server: Any) -> tuple[str, ...]:
    return asyncio.run(drains.on_node(server, "n"))[1]


def test_volumes_of_pods_that_leave_are_waited_for_and_those_of_daemons_are_not():
    pods = [pod("web", claim("web")), pod("logs", claim("logs"), **DAEMON)]
    both = [attachment("pv-web"), attachment("pv-logs"), attachment("pv-far", "other")]
    assert attached(Server(pods, both, {"web": "pv-web", "logs": "pv-logs"})) == ("pv-web",)


def test_a_volume_made_for_one_pod_is_found_by_the_name_of_its_claim():
    own = pod("logs", {"name": "scratch", "ephemeral": {}}, **DAEMON)
    assert attached(Server([own], [attachment("pv")], {"logs-scratch": "pv"})) == ()


def test_a_claim_that_is_gone_or_not_bound_frees_no_volume():
    pods = [pod("logs", claim("gone"), **DAEMON), pod("more", claim("unbound"), **DAEMON)]
    assert attached(Server(pods, [attachment("pv")], {"unbound": ""})) == ("pv",)


def test_where_nothing_is_attached_nobody_is_asked_for_claims():
    server = Server([pod("logs", claim("logs"), **DAEMON)], [], {"logs": "pv"})
    assert attached(server) == ()
    assert server.asked == []
