"""What a write of our own answered, and the watch bringing the same back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dovetail.api import kinds
from dovetail.controllers.cluster import Cluster, Scope
from dovetail.core.nodeclaims import NodeClaim
from dovetail.kube.decoding import Stored


def body(version: str, node: str = "") -> dict[str, Any]:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    return {
        "metadata": {"name": "c", "uid": "u1", "resourceVersion": version, "generation": 1},
        "spec": {"nodeClassRef": ref, "requirements": []},
        "status": {"nodeName": node},
    }


def watched(cluster: Cluster, type_: str, wire: dict[str, Any]) -> tuple[str, Stored[NodeClaim]]:
    codec = next(one.codec for one in cluster._watched if one.kind == kinds.NODE_CLAIMS)
    found, _, item = codec.event(msgspec.json.encode({"type": type_, "object": wire}))
    return found, item


@pytest.fixture
def cluster() -> Cluster:
    found = Cluster(Scope(()))
    found.learn_claim(body("7", "n1"), new=True)
    return found


def test_a_write_that_comes_back_with_the_watch_is_what_was_learned_of_it(cluster: Cluster) -> None:
    assert watched(cluster, "MODIFIED", body("7", "n1")) == ("MODIFIED", cluster.claims.get("c"))
    assert watched(cluster, "MODIFIED", body("7", "n1"))[1] is cluster.claims.get("c")


def test_another_version_is_read(cluster: Cluster) -> None:
    _, item = watched(cluster, "MODIFIED", body("8", "n2"))
    assert (item.version, item.value.node_name) == (8, "n2")


def test_another_object_of_the_name_is_read(cluster: Cluster) -> None:
    wire = body("7", "n2")
    wire["metadata"]["uid"] = "u2"
    _, item = watched(cluster, "ADDED", wire)
    assert (item.uid, item.value.node_name) == ("u2", "n2")
