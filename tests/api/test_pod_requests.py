"""What a pod asks for, worked out as Kubernetes does (scheduling §3.10; S2.10)."""

from __future__ import annotations

import pytest
from tests.api.objects import Json, container, pod, problem_of, shape_of, thing, workload, world_of

GIB = 2**30


def asks(*objects: Json) -> dict[str, int]:
    return {name: amount for name, amount in shape_of(*objects).requests.items() if name != "pods"}


def test_containers_add_up_and_the_pod_takes_a_slot():
    shape = shape_of(pod("web", container({"cpu": "500m"}), container({"cpu": "1", "memory": "1Gi"}, name="b")))
    assert dict(shape.requests) == {"cpu": 1500, "memory": GIB, "pods": 1}


def test_a_limit_is_the_request_where_none_is_written():
    assert asks(pod("web", container({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}))) == {"cpu": 1000, "memory": GIB}


def test_the_largest_init_container_counts_if_it_is_larger():
    first = [container({"cpu": "3"}, name="i"), container({"memory": "1Gi"}, name="j")]
    assert asks(pod("web", container({"cpu": "1"}), initContainers=first)) == {"cpu": 3000, "memory": GIB}


def test_sidecars_run_beside_everything_that_starts_after_them():
    before = container({"cpu": "3"}, name="before")
    sidecar = container({"cpu": "1"}, name="side", restartPolicy="Always")
    after = container({"cpu": "3"}, name="after")
    assert asks(pod("web", container({"cpu": "1"}), initContainers=[before, sidecar])) == {"cpu": 3000}
    assert asks(pod("web", container({"cpu": "1"}), initContainers=[sidecar, after])) == {"cpu": 4000}
    assert asks(pod("web", container({"cpu": "4"}), initContainers=[sidecar, after])) == {"cpu": 5000}


def test_pod_level_resources_stand_in_place_of_the_sum():
    one = container({"cpu": "1", "memory": "1Gi"})
    assert asks(pod("web", one, resources={"requests": {"cpu": "5"}})) == {"cpu": 5000, "memory": GIB}
    assert asks(pod("web", one, resources={"limits": {"cpu": "5"}})) == {"cpu": 1000, "memory": GIB}
    assert asks(pod("web", container({}), resources={"limits": {"cpu": "5"}})) == {"cpu": 5000}


def test_overhead_comes_on_top():
    """S2.10."""
    assert asks(pod("web", container({"cpu": "1"}), overhead={"cpu": "250m", "memory": "1Gi"})) == {
        "cpu": 1250,
        "memory": GIB,
    }


def test_a_runtime_class_brings_its_overhead_selector_and_tolerations():
    """S2.10."""
    runtime = thing(
        "RuntimeClass",
        "node.k8s.io/v1",
        {"name": "kata"},
        handler="kata",
        overhead={"podFixed": {"cpu": "250m"}},
        scheduling={"nodeSelector": {"kata": "yes"}, "tolerations": [{"key": "kata", "operator": "Exists"}]},
    )
    shape = shape_of(runtime, pod("web", container({"cpu": "1"}), runtimeClassName="kata"))
    assert shape.requests.of("cpu") == 1250
    assert shape.selector.value("kata") == "yes"
    assert [one.key for one in shape.tolerations] == ["kata"]


def test_a_runtime_class_nobody_has_is_the_pods_problem():
    assert problem_of(pod(runtimeClassName="kata")) == "spec.runtimeClassName: there is no RuntimeClass 'kata'"


def test_ephemeral_storage_counts():
    """S2.10."""
    assert asks(pod("web", container({"ephemeral-storage": "1Gi"}))) == {"ephemeral-storage": GIB}


def test_a_resize_in_place_counts_at_the_larger():
    held = {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "2"}}]}
    assert asks(pod("web", container({"cpu": "1"}), status=held)) == {"cpu": 2000}
    assert asks(pod("web", container({"cpu": "3"}), status=held)) == {"cpu": 3000}


def test_a_limit_range_fills_in_what_a_container_leaves_out():
    limits = thing(
        "LimitRange",
        "v1",
        {"name": "l"},
        spec={"limits": [{"type": "Container", "default": {"memory": "2Gi"}, "defaultRequest": {"cpu": "100m"}}]},
    )
    assert asks(limits, pod("web", container({}))) == {"cpu": 100, "memory": 2 * GIB}
    assert asks(limits, pod("web", container({"cpu": "1"}, {"memory": "1Gi"}))) == {"cpu": 1000, "memory": GIB}


def limit_range(name: str, namespace: str = "default", **limits: object) -> Json:
    about = {"name": name, "namespace": namespace}
    return thing("LimitRange", "v1", about, spec={"limits": [{"type": "Container", **limits}]})


def test_several_limit_ranges_are_applied_by_name_and_the_first_that_names_a_resource_wins():
    second = limit_range("b", defaultRequest={"cpu": "200m", "memory": "1Gi"})
    first = limit_range("a", defaultRequest={"cpu": "100m"})
    elsewhere = limit_range("a", "other", defaultRequest={"cpu": "7"})
    for order in ((first, second, elsewhere), (elsewhere, second, first)):
        assert asks(*order, pod("web", container({}))) == {"cpu": 100, "memory": GIB}
        assert asks(*order, pod("web", container({"cpu": "1"}))) == {"cpu": 1000, "memory": GIB}


def test_a_limit_range_with_bounds_alone_has_defaults_as_the_api_server_fills_them_in():
    bounds = limit_range("l", max={"memory": "2Gi"}, min={"memory": "1Gi", "cpu": "50m"})
    assert asks(bounds, pod("web", container({}))) == {"cpu": 50, "memory": 2 * GIB}


def test_nothing_asked_is_not_asked():
    assert asks(pod("web", container({"nvidia.com/gpu": "0", "cpu": "1"}))) == {"cpu": 1000}


@pytest.mark.parametrize("text", ["1,5", "-1", "lots", [], {"a": 1}])
def test_an_amount_that_is_none_is_the_pods_problem(text):
    found = problem_of(pod("web", container({"cpu": text})))
    assert found.startswith("spec.containers[0].resources.requests.cpu: ")


def test_what_is_bad_in_a_template_is_the_problem_of_its_pods():
    found = world_of(workload("Deployment", replicas=3, template={"containers": [container({"cpu": "x"})]}), pod("b"))
    problems = {one.name: one.shape.problem is not None for one in found.snapshot.pods}
    assert problems == {"web-0": True, "web-1": True, "web-2": True, "b": False}
    assert not found.problems
