"""Pods from a stream are the pods of a file: same shape, same state, whatever is wrong with them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st
from tests.api.objects import bound_claim, container, mounting, pod, volume
from tests.api.test_api_fuzz import damaged
from tests.api.test_world_fuzz import RICH

from dovetail.api import pod_wire, volumes
from dovetail.api.fields import fields
from dovetail.api.pod_stream import PodRecord
from dovetail.api.pod_wire import Drafts
from dovetail.api.pods import Shapes, Surroundings
from dovetail.core.errors import BadInput
from dovetail.core.pods import Pod, PodState
from dovetail.kube.decoding import MISFITS
from dovetail.kube.pod_store import PodStore, by_owner

Json = dict[str, Any]
OWNED = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "controller": True, "uid": "u"}]


def stored(number: int = 0, *, version: int = 1, about: Json | None = None, **more: Any) -> Json:
    """A pod as a server stores it: with an id, and with what differs in each pod of a ReplicaSet."""
    metadata = {
        "namespace": "default",
        "uid": f"uid-{number}",
        "resourceVersion": str(version),
        "labels": {"app": "web"},
        "ownerReferences": OWNED,
        "creationTimestamp": "2026-03-01T10:00:00Z",
        **(about or {}),
    }
    token = {"name": f"kube-api-access-{number}", "projected": {"sources": []}}
    mounts = [{"name": token["name"], "mountPath": "/var/run"}]
    held = container({"cpu": "1"}, volumeMounts=mounts, env=[{"name": "N", "value": str(number)}])
    spec = {"volumes": [token, *more.pop("volumes", [])], **more}
    return pod(f"web-{number}", held, about=metadata, **spec)


def filled(*wires: Json) -> PodStore:
    store = PodStore()
    store.replace(store.codec.item(json.dumps(one).encode()) for one in wires)
    return store


def from_file(wire: Json, around: Surroundings | None = None) -> tuple[Pod, bool, bool]:
    read = pod_wire.read(fields(wire), Drafts())
    return Shapes(around or Surroundings()).pod(read), read.protected, read.unready


def from_stream(wire: Json, around: Surroundings | None = None) -> tuple[Pod, bool, bool]:
    store = filled(wire)
    (made,) = store.made(around or Surroundings()).values()
    (record,) = store
    return made, record.protected, record.unready


def only(store: PodStore) -> PodRecord:
    (one,) = store
    return one


CONDITIONS = [
    {"type": "Ready", "status": "False", "lastTransitionTime": "2026-03-01T10:00:09Z"},
    {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-03-01T10:00:01Z"},
]
PODS = {
    "a plain one": stored(),
    "one with everything": RICH,
    "one that runs": stored(nodeName="n", status={"phase": "Running", "conditions": CONDITIONS}),
    "one that is over": stored(nodeName="n", status={"phase": "Succeeded"}),
    "one that is going": stored(about={"deletionTimestamp": "2026-03-01T10:00:00Z"}, nodeName="n"),
    "one that went before it ran": stored(about={"deletionTimestamp": "2026-03-01T10:00:00Z"}),
    "one that waits for room": stored(
        status={"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    ),
    "one nobody has looked at": stored(status={"conditions": [{"type": "PodScheduled", "status": "False"}]}),
    "one with gates": stored(schedulingGates=[{"name": "later"}]),
    "one with no gates": stored(schedulingGates=[]),
    "one that preempts": stored(status={"nominatedNodeName": "n"}),
    "a daemon": stored(about={"ownerReferences": [{"kind": "DaemonSet", "name": "d", "apiVersion": "apps/v1"}]}),
    "one with two owners and no controller": stored(about={"ownerReferences": [OWNED[0] | {"controller": False}] * 2}),
    "one not to be disrupted": stored(about={"annotations": {"karpenter.sh/do-not-disrupt": "true"}}),
    "one not to be disrupted for a while": stored(about={"annotations": {"karpenter.sh/do-not-disrupt": "1h"}}),
    "one with notes of another kind": stored(about={"annotations": {"karpenter.sh/do-not-disrupt": "false"}}),
    "one with a claim": stored(volumes=mounting("data")),
    "one with a claim of its own": stored(
        volumes=[{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}]
    ),
    "one that is being resized": stored(
        status={"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "3"}}]}
    ),
    "one on the host's network": stored(hostNetwork=True, priority=7, priorityClassName="high"),
    "one with a number for a label": stored(about={"labels": {"app": 1}}),
    "one without a spec": {"metadata": {"name": "bare", "uid": "u"}},
    "one with nothing for its lists": stored(initContainers=None, tolerations=None, volumes=[]),
    "one with a list for its spec": {"metadata": {"name": "odd"}, "spec": []},
    "one with text for a container": {"metadata": {"name": "odd"}, "spec": {"containers": ["x"]}},
}


@pytest.mark.parametrize("wire", PODS.values(), ids=list(PODS))
def test_a_streamed_pod_is_what_the_file_would_give(wire: Json) -> None:
    assert from_stream(wire) == from_file(wire)


@settings(max_examples=150, deadline=None)
@given(damaged(RICH))
@example({"metadata": {"name": "x", "namespace": 1}})
def test_a_damaged_pod_is_read_as_in_a_file_or_left_out_as_there(wire: Json) -> None:
    try:
        wire = msgspec.json.decode(msgspec.json.encode(wire))
    except (OverflowError, ValueError, TypeError):
        reject()  # nothing JSON can say
    try:
        expected = from_file(wire)
    except BadInput:
        with pytest.raises(MISFITS):
            filled(wire)
        return
    assert from_stream(wire) == expected


def test_pods_of_a_replica_set_have_one_form_whatever_their_tokens_are_called() -> None:
    store = filled(*(stored(number) for number in range(5)))
    assert len(store.reader.forms) == 1
    assert len({id(one.form) for one in store}) == 1


def test_a_form_nobody_has_any_more_is_forgotten() -> None:
    store = filled(stored(0), stored(1, about={"labels": {"app": "other"}}))
    assert len(store.reader.forms) == 2
    store.remove(("default", "web-1"))
    assert len(store.reader.forms) == 1


def test_what_a_claim_demands_is_looked_up_when_planning_asks() -> None:
    store = filled(stored(volumes=mounting("data")))
    (broken,) = store.made(Surroundings()).values()
    assert "does not exist" in str(broken.shape.problem)
    around = Surroundings()
    around.storage.claims["default", "data"] = volumes.read_claim(fields(bound_claim()))
    around.storage.volumes["vol"] = volumes.read_volume(fields(volume()))
    (found,) = store.made(around).values()
    assert found.shape.problem is None
    assert found.shape.volumes.attached == (("ebs.csi.aws.com", "default/data"),)


def test_only_pods_that_changed_are_made_anew() -> None:
    store, around = filled(stored(0), stored(1), stored(2)), Surroundings()
    before = {one.name: one for one in store.made(around).values()}
    store.put(store.codec.item(json.dumps(stored(1, version=2, nodeName="n")).encode()))
    store.remove(("default", "web-2"))
    after = {one.name: one for one in store.made(around).values()}
    assert after["web-0"] is before["web-0"]
    assert (after["web-1"].state, after["web-1"].node) == (PodState.BOUND, "n")
    assert after.keys() == {"web-0", "web-1"}
    assert list(store.made(around).values()) == list(after.values())


def test_pods_are_found_by_node_and_by_owner() -> None:
    store = PodStore(indexes={"owner": by_owner})
    wires = stored(0, nodeName="n"), stored(1, nodeName="m"), stored(2)
    store.replace(store.codec.item(json.dumps(one).encode()) for one in wires)
    assert [one.name for one in store.on_node("n")] == ["web-0"]
    (owner,) = store.values("owner")
    assert len(store.by("owner", owner)) == 3
    store.put(store.codec.item(json.dumps(stored(0, version=2, nodeName="m")).encode()))
    assert [one.name for one in store.on_node("n")] == []
    assert [one.name for one in store.on_node("m")] == ["web-0", "web-1"]


def test_what_controllers_need_to_know_of_a_pod_is_kept() -> None:
    about = {
        "deletionTimestamp": "2026-03-01T10:01:00Z",
        "deletionGracePeriodSeconds": 30,
        "annotations": {"karpenter.sh/do-not-disrupt": "2h", "controller.kubernetes.io/pod-deletion-cost": "-5"},
    }
    ready = [CONDITIONS[0] | {"status": "True"}, CONDITIONS[1]]
    status = {"phase": "Running", "startTime": "2026-03-01T10:00:02Z", "conditions": ready}
    one = only(filled(stored(about=about, status=status, nodeName="n", terminationGracePeriodSeconds=30)))
    assert (one.scheduled - one.created, one.started - one.created, one.ready - one.created) == (1, 2, 9)
    assert (one.rare.deletion - one.created, one.rare.deletion_grace, one.grace) == (60, 30, 30)
    assert (one.rare.do_not_disrupt, one.rare.deletion_cost, one.phase) == ("2h", "-5", "Running")
    assert (one.state, one.version, one.uid) == (PodState.GOING, 1, "uid-0")


def test_with_default_constraints_pods_of_two_owners_have_two_forms() -> None:
    other = [OWNED[0] | {"name": "web-2"}]
    for apart, forms in ((False, 1), (True, 2)):
        store = PodStore(apart)
        wires = stored(0), stored(1, about={"ownerReferences": other})
        store.replace(store.codec.item(json.dumps(one).encode()) for one in wires)
        assert len(store.reader.forms) == forms
        owners = {one.draft.owner.name for one in store.wires()}
        assert owners == ({"web-1", "web-2"} if apart else {""})


@given(st.sampled_from(["ADDED", "MODIFIED", "DELETED"]), st.sampled_from(list(PODS)))
def test_an_event_gives_the_record_a_list_gives(what: str, name: str) -> None:
    codec = PodStore().codec
    raw = json.dumps(PODS[name])
    type_, _, seen = codec.event(f'{{"type":"{what}","object":{raw}}}'.encode())
    alone = codec.item(raw.encode())
    assert type_ == what
    assert seen is not None
    assert (seen.key, seen.version, seen.state) == (alone.key, alone.version, alone.state)


def test_a_bookmark_and_an_error_are_no_pods() -> None:
    codec = PodStore().codec
    mark = {
        "kind": "Pod",
        "metadata": {"resourceVersion": "7", "creationTimestamp": None},
        "spec": {"containers": None},
    }
    assert codec.event(json.dumps({"type": "BOOKMARK", "object": mark}).encode()) == ("BOOKMARK", "7", None)
    gone = {"kind": "Status", "metadata": {}, "status": "Failure", "code": 410}
    assert codec.event(json.dumps({"type": "ERROR", "object": gone}).encode()) == ("ERROR", "", None)
