"""Documents cut into sections: what comes out is what a parser of the whole text would have made of it."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dovetail.api import documents, what_if, yaml_documents
from dovetail.api.documents import Document
from dovetail.api.world import read_world
from dovetail.core.errors import BadField

POD = """apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  containers:
  - {{name: m, resources: {{requests: {{cpu: "1"}}}}}}
"""
#: Lines that end, begin or hide a section, and such as only look like it.
LINES = (
    "a:",
    "b: 1",
    "spec:",
    "spec: x",
    "- one",
    "-",
    "  c: 2",
    "  - two",
    "# spec: no",
    "",
    "d: |",
    "e: >+",
    "  text",
    'f: "open',
    'close"',
    "g: [1,",
    "2]",
    "h: {i: 1,",
    "j: 2}",
    "? k",
    "...",
    "\tl: 1",
    "m: 'it''s'",
    "n: &x 1",
    "o: *x",
    "p:q",
    "<<: {r: 1}",
    "1: 2",
    "true: 1",
    "s : 1",
    "metadata:",
    "metadata: # why",
    "  name: web-0",
    "  name: web-1",
    "  yes: no",
    "  Null: word",
    "  state: off",
    "  labels:",
    "    app: web",
    "  - {a: 1}",
    "  -",
    '  t: "open',
    '  close"',
    "  u: |",
    "    name: in text",
    "  v: [1,",
    "  2]",
    "  w: word # why",
    "  x: word:",
    "  # name: no",
    " y: 1",
    "   z: 1",
    "  ? aa",
    "  <<: {name: merged}",
    "  bb: 0x1f",
    "  cc: 2026-11-17",
    "  dd: e5",
    "  ee: .inf",
)


def whole(text: str) -> object:
    """What the parser makes of a text, cut into documents only."""
    found: list[object] = []
    for _, part in yaml_documents._split(text):
        try:
            if not yaml_documents._is_plain(part):
                yaml_documents._look_ahead(part)
            found += yaml_documents._loaded(part)
        except Exception as problem:  # noqa: BLE001  (whatever it is, both must find something wrong)
            found.append(type(problem).__name__[:0])
    return found


def by_sections(text: str) -> object:
    return [one.value if isinstance(one, Document) else "" for one in yaml_documents.read(text, "w")]


@given(st.lists(st.sampled_from((*LINES, "---")), max_size=12))
def test_a_text_means_the_same_whether_it_is_cut_or_not(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert repr(by_sections(text)) == repr(whole(text))


@pytest.mark.parametrize("text", ['a: "x\nb: y"\nc: 1', "a: {q: 1,\nb: 2}\nc: 3", "a: 1\na: 2", "a: [x,\nb: c]\nb: 1"])
def test_what_goes_on_past_the_margin_is_no_section(text: str) -> None:
    assert repr(by_sections(text)) == repr(whole(text))


def test_the_words_of_a_map_are_the_text_they_are() -> None:
    words = ("a", "e5", "x.y-z", "null", "no", "on", "true", "nan", "inf", "n", "y", "nulls", "a-", "a.")
    text = "metadata:\n" + "".join(f"  k{number}: {word}\n" for number, word in enumerate(words))
    assert repr(by_sections(text)) == repr(whole(text))
    keys = "metadata:\n" + "".join(f"  {word}: a\n" for word in ("on", "Off", "NULL", "y", "nan", "True", "name"))
    assert repr(by_sections(keys)) == repr(whole(keys))


@given(st.lists(st.sampled_from([one for one in LINES if one.startswith(" ") or not one]), max_size=8))
def test_a_map_means_the_same_whether_it_is_cut_or_not(lines: list[str]) -> None:
    """Twice, so that what was parsed the first time is taken as it is the second."""
    one = "\n".join(["kind: Pod", "metadata:", *lines, "spec: {}"])
    text = f"{one}\n---\n{one}"
    assert repr(by_sections(text)) == repr(whole(text))


def test_equal_sections_are_one_value() -> None:
    first, second = (one.value for one in documents.read(POD.format(name="a") + "---\n" + POD.format(name="b"), "w"))
    assert first["spec"] is second["spec"]
    assert (first["metadata"], second["metadata"]) == ({"name": "a"}, {"name": "b"})


def test_a_change_to_one_object_is_none_to_those_that_say_the_same() -> None:
    text = POD.format(name="a") + "---\n" + POD.format(name="b")
    changed = what_if.parse("pod/a.spec.containers[m].resources.requests.cpu=3")
    found = read_world([("w", text)], changes=[changed])
    assert {one.name: one.shape.requests.of("cpu") for one in found.snapshot.pods} == {"a": 3000, "b": 1000}


def test_an_error_keeps_its_line_in_a_later_document() -> None:
    text = POD.format(name="a") + "---\n" + POD.format(name="b") + "status: [\n"
    (problem,) = (one for one in documents.read(text, "w") if isinstance(one, BadField))
    assert "document 2 (line 8)" in str(problem)


def test_a_key_given_twice_in_a_section_is_told_wherever_the_section_stands() -> None:
    twice = POD.format(name="a") + "status: {a: 1, a: 2}\n"
    found = list(documents.read(twice + "---\n" + twice.replace("name: a", "name: b"), "w"))
    assert ["a: the key is given twice" in str(one) for one in found] == [True, True]


values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("abc- :#", max_size=4), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.lists(st.dictionaries(st.sampled_from(("kind", "spec", "metadata", "data")), values, min_size=1), max_size=4))
def test_what_is_written_is_read_back(objects: list[dict[str, object]]) -> None:
    text = yaml.safe_dump_all(objects)
    found = [one.value for one in yaml_documents.read(text, "w") if isinstance(one, Document)]
    assert json.dumps(found, sort_keys=True) == json.dumps(objects, sort_keys=True)
