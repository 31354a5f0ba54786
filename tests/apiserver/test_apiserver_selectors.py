"""Selectors and JSONPath."""

from __future__ import annotations

import pytest

from dovetail.apiserver import jsonpath
from dovetail.apiserver.errors import ApiError
from dovetail.apiserver.selectors import matches, of_object, parse_fields, parse_labels

LABELS = {"app": "web", "size": "3", "tier": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web,size!=4", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("app in (web, api)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("tier", True),
        ("!tier", False),
        ("!missing", True),
        ("tier=", True),
        ("size>2,size<4", True),
        ("size>3", False),
        ("app>1", False),
        ("example.com/x in (a),app", False),
    ],
)
def test_a_label_selector_holds_or_not(text: str, expected: bool) -> None:
    assert matches(parse_labels(text), LABELS) is expected


@pytest.mark.parametrize("text", ["=x", "a b", "a in b", "a in (b", "/x=1", "a=b=c", "x/y/z", "a>b", "a=-"])
def test_a_selector_that_makes_no_sense_is_the_clients_fault(text: str) -> None:
    with pytest.raises(ApiError) as caught:
        parse_labels(text)
    assert caught.value.code == 400


def test_a_selector_inside_an_object_selects_as_one_in_a_query() -> None:
    expressions = [{"key": "size", "operator": "In", "values": ["3"]}, {"key": "gone", "operator": "DoesNotExist"}]
    terms = of_object({"matchLabels": {"app": "web"}, "matchExpressions": expressions})
    assert terms is not None
    assert matches(terms, LABELS)
    assert not matches(terms, {**LABELS, "gone": "x"})
    assert of_object(None) is None


def test_field_selectors_compare_text() -> None:
    (first, second) = parse_fields("spec.nodeName=a,status.phase!=Running")
    assert (first.admits("a"), first.admits(""), second.admits("Running")) == (True, False, False)
    with pytest.raises(ApiError):
        parse_fields("spec.nodeName")


OBJECT = {
    "spec": {"replicas": 0, "list": [{"name": "a", "on": True}, {"name": "b", "on": False}]},
    "metadata": {"labels": {"a.b/c": "x"}},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.replicas", [0]),
        (".spec.missing.deeper", []),
        (".spec.list[*].name", ["a", "b"]),
        (".spec.list[0].name", ["a"]),
        (".spec.list[-1].name", ["b"]),
        (".spec.list[9].name", []),
        ('.spec.list[?(@.name=="b")].on', [False]),
        (".spec.list[?(@.on==true)].name", ["a"]),
        ('.spec.list[?(@.name!="b")].name', ["a"]),
        (r".metadata.labels.a\.b/c", ["x"]),
        (".metadata.labels['a.b/c']", ["x"]),
        (".spec.list[", []),
    ],
)
def test_a_path_leads_to_what_it_names(path: str, expected: list[object]) -> None:
    assert jsonpath.find(path, OBJECT) == expected
