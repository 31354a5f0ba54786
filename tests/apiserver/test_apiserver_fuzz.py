"""Whatever is sent, the server says what is wrong with it; it never fails itself."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.apiserver.clusters import cluster, definition, deployment, pod

from dovetail.api import kinds
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.writes import ApplyPatch, JsonPatch, MergePatch, StrategicPatch

SERVICE = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "name": "a"}], "selector": {"a": "b"}}}
BUDGET = {"metadata": {"name": "b"}, "spec": {"minAvailable": "50%", "selector": {"matchLabels": {"a": "b"}}}}
NODE = {"metadata": {"name": "n"}, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}
SEEDS = [
    (kinds.PODS, pod(tolerations=[{"key": "a", "operator": "Exists"}], volumes=[{"name": "v", "emptyDir": {}}])),
    (kinds.DEPLOYMENTS, deployment()),
    (kinds.SERVICES, SERVICE),
    (kinds.DISRUPTION_BUDGETS, BUDGET),
    (kinds.NODES, NODE),
    (kinds.CRDS, definition()),
]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "$patch", "1Gi", "a b"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "a", "$patch"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def changed(draw: st.DrawFn) -> tuple[kinds.Kind, dict[str, Any]]:
    """A good object with one place in it replaced by anything at all."""
    kind, seed = draw(st.sampled_from(SEEDS))
    obj = copy.deepcopy(seed)
    place: Any = obj
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
        below = place[key]
        if not isinstance(below, dict | list) or not below or draw(st.integers(0, 3)) == 0:
            place[key] = draw(values)
            return kind, obj
        place = below


@settings(max_examples=100, deadline=None)
@given(changed())
def test_any_object_is_made_or_refused(made: tuple[kinds.Kind, dict[str, Any]]) -> None:
    kind, obj = made
    with contextlib.suppress(ApiError):
        stored = cluster().create(kind, obj, "default" if kind.namespaced else "")
        assert stored["metadata"]["name"]


@settings(max_examples=80, deadline=None)
@given(changed(), st.sampled_from([MergePatch, StrategicPatch, ApplyPatch]))
def test_any_patch_is_carried_out_or_refused(made: tuple[kinds.Kind, dict[str, Any]], form: Any) -> None:
    kind, obj = made
    objects = cluster()
    namespace = "default" if kind.namespaced else ""
    seed = next(one for known, one in SEEDS if known == kind)
    name = objects.create(kind, seed, namespace)["metadata"]["name"]
    with contextlib.suppress(ApiError):
        objects.patch(kind, name, form(obj), namespace)
    assert objects.get(kind, name, namespace)["metadata"]["name"] == name


operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": st.sampled_from(
            ["", "/", "/spec", "/metadata", "/metadata/name", "/spec/containers/0", "/spec/containers/-"]
        ),
        "from": st.sampled_from(["/spec", "/metadata/labels", "/spec/containers"]),
        "value": values,
    }
)


@settings(max_examples=80, deadline=None)
@given(st.lists(operations, max_size=3))
def test_any_json_patch_is_carried_out_or_refused(steps: list[dict[str, Any]]) -> None:
    objects = cluster()
    objects.create(kinds.PODS, pod(), "default")
    with contextlib.suppress(ApiError):
        objects.patch(kinds.PODS, "one", JsonPatch(steps), "default")
    assert objects.get(kinds.PODS, "one", "default")["metadata"]["name"] == "one"
