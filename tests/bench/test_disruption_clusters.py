"""The disruption benchmark's cluster: a place for every pod, and the same for both sides every time."""

from collections import Counter
from itertools import groupby

from bench.disruption_worlds import DEDICATED, PODS_EACH, ZONES, Json, objects

from bench import disruption_cluster, disruption_judging, disruption_worlds
from dovetail.core.disruption.passes import decide
from dovetail.core.labels import NODEPOOL, ZONE
from dovetail.core.resources import parse

NODES = 200


def _of(kind: str) -> list[Json]:
    return [one for one in objects(NODES) if one["kind"] == kind]


def _requests(pod: Json) -> tuple[int, int]:
    (container,) = pod["spec"]["containers"]
    found = parse(container["resources"]["requests"])
    return found.of("cpu"), found.of("memory")


def test_every_pod_has_room_where_it_stands():
    nodes = {one["metadata"]["name"]: parse(one["status"]["allocatable"]) for one in _of("Node")}
    by_node = groupby(sorted(_of("Pod"), key=_stands_on), key=_stands_on)
    for name, pods in by_node:
        taken = [_requests(pod) for pod in pods]
        assert sum(cpu for cpu, _ in taken) <= nodes[name].of("cpu")
        assert sum(memory for _, memory in taken) <= nodes[name].of("memory")
        assert len(taken) <= nodes[name].of("pods")


def _stands_on(pod: Json) -> str:
    return str(pod["spec"]["nodeName"])


def test_spreads_and_separations_hold_to_begin_with():
    zones = {one["metadata"]["name"]: one["metadata"]["labels"][ZONE] for one in _of("Node")}
    for app, pods in _by_app().items():
        if "topologySpreadConstraints" in pods[0]["spec"]:
            counts = Counter(zones[_stands_on(pod)] for pod in pods)
            assert max(counts.values()) - min(counts[zone] for zone in ZONES) <= 1, app
        if "affinity" in pods[0]["spec"]:
            assert len({_stands_on(pod) for pod in pods}) == len(pods), app


def _by_app() -> dict[str, list[Json]]:
    found: dict[str, list[Json]] = {}
    for pod in _of("Pod"):
        found.setdefault(pod["metadata"]["labels"]["app"], []).append(pod)
    return found


def test_the_dedicated_pool_has_no_room_for_one_more_of_its_own_nodes_pods():
    nodes = {
        one["metadata"]["name"]: parse(one["status"]["allocatable"]).of("cpu")
        for one in _of("Node")
        if one["metadata"]["labels"][NODEPOOL] == DEDICATED
    }
    for pod in _of("Pod"):
        if _stands_on(pod) in nodes:
            nodes[_stands_on(pod)] -= _requests(pod)[0]
    assert sum(left // disruption_worlds._FULL_MILLIS for left in nodes.values()) < PODS_EACH


def test_both_sides_read_the_same_file_and_it_is_the_same_every_time(tmp_path, monkeypatch):
    monkeypatch.setattr(disruption_worlds, "FOLDER", tmp_path)
    given = disruption_worlds.files(NODES)
    first = given.cluster.read_bytes()
    given.cluster.unlink()
    assert disruption_worlds.files(NODES).cluster.read_bytes() == first
    world = disruption_cluster.read_files(given)
    assert len(world.machines) == NODES
    assert len(world.problem.snapshot.pods) == NODES * PODS_EACH
    assert len({id(pod.shape) for pod in world.problem.snapshot.pods}) == NODES * PODS_EACH // 100
    decided = decide(world)
    going = {name for one in decided.commands for name in one.names}
    assert going | decided.refusals.keys() == world.machines.keys()
    assert going


def test_a_pod_that_goes_is_another_one_each_turn(tmp_path, monkeypatch):
    monkeypatch.setattr(disruption_worlds, "FOLDER", tmp_path)
    world = disruption_cluster.read(NODES)
    once = disruption_cluster.one_pod_gone(world, 0)
    twice = disruption_cluster.one_pod_gone(once, 1)
    kept = {pod.key for pod in twice.problem.snapshot.pods}
    assert len(kept) == NODES * PODS_EACH - 2
    assert {pod.key for pod in once.problem.snapshot.pods} > kept


def test_the_figures_count_every_node_once(tmp_path, monkeypatch):
    monkeypatch.setattr(disruption_worlds, "FOLDER", tmp_path)
    monkeypatch.setattr(disruption_judging, "REPEATS", 1)
    found = disruption_judging.judged(NODES)
    assert found.judged == NODES
    assert 0 < found.could_go < 100
