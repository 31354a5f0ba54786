"""Whatever a file holds, what comes out is values and problems, never another error."""

from __future__ import annotations

import contextlib
import json
from copy import deepcopy
from datetime import date

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.api import catalog_file, manifests, price_book
from dovetail.core.errors import BadInput

TODAY = date(2026, 7, 22)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        ["1Gi", "1,5Gi", "-1", "NaN", "1e999", "110%", "-10%", "spot", "In", "karpenter.sh/price", "9" * 50]
    ),
)
keys = st.one_of(
    st.text(max_size=8), st.sampled_from(["kind", "spec", "metadata", "name", "price", "requirements", "key"])
)
wire = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
    max_leaves=12,
)

MANIFESTS = [
    {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": "m5.large"},
        "spec": {
            "resources": {"memory": "1Gi"},
            "overhead": {"memory": "1Mi"},
            "offerings": [{"karpenter.sh/capacity-type": "spot", "karpenter.sh/price": "0.4"}],
        },
    },
    {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "NodeOverlay",
        "metadata": {"name": "cheap"},
        "spec": {
            "requirements": [{"key": "a", "operator": "In", "values": ["b"]}],
            "priceAdjustment": "-10%",
            "capacity": {"a/b": "1"},
            "weight": 3,
        },
    },
    {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general", "annotations": {"compatibility.karpenter.sh/v1beta1-kubelet-conversion": "{}"}},
        "spec": {
            "weight": 5,
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "nodeClassRef": {"group": "a", "kind": "b", "name": "c"},
                    "requirements": [{"key": "a", "operator": "Gt", "values": ["1"], "minValues": 2}],
                    "kubelet": {
                        "maxPods": 3,
                        "kubeReserved": {"cpu": "1"},
                        "evictionHard": {"memory.available": "5%"},
                        "evictionThreshold": {"soft": {"memoryAvailable": "5%"}},
                        "kubeReservedStrategy": "gke",
                    },
                },
            },
        },
    },
]
ROW = {
    "kind": "commitment",
    "name": "a",
    "instanceType": "m5.*",
    "capacityType": "spot",
    "price": "1",
    "percent": "5",
    "currency": "USD",
    "asOf": "2026-07-22",
}
CATALOG = {
    "format": catalog_file.FORMAT,
    "cloud": "kwok",
    "region": "r",
    "wellKnownLabels": ["a"],
    "labelValues": {"a": {"b": "c"}},
    "rules": {
        "density": {"byInterface": True, "reservedInterfaces": 0, "prefixDelegation": False},
        "reserve": "eks",
        "vmOverhead": {"tiers": [{"upTo": 1, "share": "1/2"}, {"upTo": None, "share": "0"}]},
        "flatOverhead": {"cpu": "1"},
    },
    "types": [
        {
            "name": "a",
            "cpu": "1",
            "memory": "1Gi",
            "disk": {"size": "1Gi", "localDisks": 1},
            "interfaces": {"count": 1, "addressesEach": 2},
            "volumeLimits": {"a": 1},
            "labels": {"a": "b", "c": ["d", "e"], "f": None, "g": {"Gt": "4"}},
            "listPrice": {"price": "1", "source": "bundled", "asOf": "2026-07-22"},
            "offerings": [
                {
                    "labels": {"a": "b"},
                    "price": None,
                    "count": 1,
                    "reservations": [{"id": "a", "available": 1, "total": 2}],
                }
            ],
        }
    ],
}


def paths(value: object, at: tuple = ()) -> list[tuple]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, one in inner for path in paths(one, (*at, key)))]


@st.composite
def damaged(draw: st.DrawFn, whole: object) -> object:
    """A good value with one thing in it replaced, or one key added."""
    value = {"root": deepcopy(whole)}
    path = ("root", *draw(st.sampled_from(paths(whole))))
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    if isinstance(parent[path[-1]], dict) and draw(st.booleans()):
        parent[path[-1]][draw(keys)] = draw(wire)
    else:
        parent[path[-1]] = draw(wire)
    return value["root"]


def read_manifests(text: str) -> None:
    for name in ("w.yaml", "w.json"):
        for one in manifests.read([(name, text)]).problems:
            assert name in str(one)


@given(st.text(max_size=200))
def test_any_text_is_manifests_or_problems(text):
    read_manifests(text)


@given(wire)
def test_any_value_is_manifests_or_problems(value):
    read_manifests(json.dumps(value))


@settings(max_examples=300)
@given(st.sampled_from(MANIFESTS).flatmap(damaged))
def test_a_damaged_manifest_is_read_or_refused(value):
    read_manifests(json.dumps(value))
    with contextlib.suppress(yaml.YAMLError):
        read_manifests(yaml.safe_dump(value))


@given(st.text(max_size=200))
def test_any_text_is_a_price_book_or_problems(text):
    for name in ("p.csv", "p.json", "p.yaml"):
        price_book.read(text, name, TODAY)


@settings(max_examples=200)
@given(damaged([ROW]))
def test_a_damaged_price_book_is_read_or_refused(value):
    found = price_book.read(json.dumps(value), "p.json", TODAY)
    assert price_book.rows_of(found.book) is not None


@settings(max_examples=300)
@given(damaged(CATALOG))
def test_a_damaged_catalogue_is_read_or_refused(value):
    with contextlib.suppress(BadInput):
        catalog_file.read(json.dumps(value), "c.json")


@given(st.integers(0, 4000))
def test_a_catalogue_cut_anywhere_is_read_or_refused(at):
    with contextlib.suppress(BadInput):
        catalog_file.read(json.dumps(CATALOG)[:at], "c.json")
