"""What a file may hold, and what it costs when it holds something else."""

from __future__ import annotations

import pytest

from dovetail.api import documents
from dovetail.api.documents import Document
from dovetail.core.errors import BadField, BadInput

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def values(text: str, filename: str = "w.yaml") -> list[object]:
    return [one.value for one in documents.read(text, filename) if isinstance(one, Document)]


def problems(text: str, filename: str = "w.yaml") -> list[str]:
    return [str(one) for one in documents.read(text, filename) if isinstance(one, BadField)]


def test_yaml_json_lists_and_several_documents_are_all_read():
    assert values("a: 1\n---\nb: 2\n---\n") == [{"a": 1}, {"b": 2}]
    assert values('{"kind": "List", "items": [{"a": 1}, {"b": 2}]}') == [{"a": 1}, {"b": 2}]
    assert values('[{"a": 1}, {"b": 2}]') == [{"a": 1}, {"b": 2}]
    assert values("{a: 1}") == [{"a": 1}]
    assert values("# nothing\n---\n# at all\n") == []


def test_a_byte_order_mark_is_no_part_of_the_text():
    assert values("\ufeffa: 1") == [{"a": 1}]


def test_a_key_given_twice_names_the_object_and_the_field():
    text = "kind: InstanceType\nmetadata: {name: m5.large}\nspec:\n  offerings:\n  - {a: 1, a: 2}\n"
    assert problems(text) == ["w.yaml: InstanceType m5.large: spec.offerings[0].a: the key is given twice; keep one"]
    assert "a: the key is given twice" in problems('{"b": {"a": 1, "a": 2}}', "w.json")[0]


def test_a_merged_key_may_be_given_again():
    assert values("x: &x {a: 1}\ny: {<<: *x, a: 2}\n") == [{"x": {"a": 1}, "y": {"a": 2}}]


def test_a_bad_document_costs_only_itself_and_says_where_it_stands():
    text = f"{POD}---\na: [1\n---\n{POD}"
    assert len(values(text)) == 2
    (problem,) = problems(text)
    assert problem.startswith("w.yaml, document 2 (line 4): line ")


def test_a_truncated_file_says_so():
    assert problems('{"a": [1, 2', "w.json") == ["w.json: line 1: not JSON: the file ends too early"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        "{a: " * 5_000,
        '{"a":' * 100_000,
        "a: &a [*a]",
        "a: &a {b: *a}",
        "a: *nobody",
        "\n".join([f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10) if i else 'x'}]" for i in range(20)]),
        "a: !!python/object/apply:os.system [ls]",
        "a: !!binary aGVsbG8=",
        "a: !!set {b, c}",
        "a: !!bool maybe",
        "a: !!timestamp someday",
        'a: !!int ""',
        'a: !!float ""',
        "? [a, b]\n: c",
        "1: a",
        "a: " + "9" * 10_000,
        "a: \x00",
        "a: \ud800",
        "%YAML 9.9\n---\na: 1",
        "= : 1",
        "<<: 1",
        "a:\tb: c",
    ],
    ids=lambda text: text[:24].encode("unicode_escape").decode(),
)
def test_nothing_a_file_can_hold_costs_more_than_a_problem(text):
    for one in documents.read(text, "w.yaml"):
        assert isinstance(one, Document | BadField)


def test_dates_stay_the_text_they_were_written_as():
    assert values("asOf: 2026-07-22") == [{"asOf": "2026-07-22"}]


def test_a_file_that_is_too_large_is_refused_unread(monkeypatch):
    monkeypatch.setattr(documents, "MAX_BYTES", 10)
    assert "larger than" in problems("a: " + "b" * 20)[0]


def test_the_only_document_of_a_file_can_be_asked_for():
    assert documents.read_one("a: 1", "w.yaml") == {"a": 1}
    for text in ("", "a: 1\n---\nb: 1", "{a: 1, a: 2}"):
        with pytest.raises(BadInput):
            documents.read_one(text, "w.yaml")


def test_the_start_of_a_broken_list_can_be_saved():
    assert documents.salvage('{"a": 1}, {"b": 2}, {"c"') == [{"a": 1}, {"b": 2}]
