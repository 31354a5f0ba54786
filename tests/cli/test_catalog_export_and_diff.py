"""`catalog export` and `catalog diff`: catalogues as files, and what lies between two of them."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.cli import listings
from dovetail.cli.exits import Exit
from dovetail.core.errors import BadInput


@pytest.mark.parametrize("cloud", ["gcp", "kwok"])
def test_what_is_exported_lists_and_plans_the_same(dovetail, cloud):
    assert dovetail("catalog", "export", "--cloud", cloud, "--to", "c.json").code == Exit.OK
    assert dovetail("catalog", "diff", cloud, "c.json", "--exit-code").out == "no differences\n"
    from_file = dovetail("catalog", "list", "--catalog", "c.json", "-o", "json").out
    assert from_file == dovetail("catalog", "list", "--cloud", cloud, "-o", "json").out


def test_an_export_has_labels_capacity_and_allocatable_for_others_to_read(dovetail):
    found = json.loads(dovetail("catalog", "export", "--cloud", "kwok").out)
    assert (found["format"], found["cloud"], len(found["types"])) == ("dovetail.catalog/v1", "kwok", 144)
    assert {"name", "labels", "capacity", "allocatable", "offerings", "listPrice"} <= found["types"][0].keys()


def test_kwoks_own_format_is_written_and_read(dovetail, tmp_path):
    assert dovetail("catalog", "export", "--cloud", "kwok", "-o", "kwok", "--to", "k.json").code == Exit.OK
    first = json.loads((tmp_path / "k.json").read_text())[0]
    assert list(first) == ["name", "offerings", "architecture", "operatingSystems", "resources"]
    again = dovetail("catalog", "list", "--catalog", "k.json", "-o", "name").out
    assert again == dovetail("catalog", "list", "--cloud", "kwok", "-o", "name").out


def test_prices_go_out_as_csv_and_come_in_again(dovetail):
    dovetail("catalog", "export", "--cloud", "kwok", "-o", "csv", "--to", "p.csv")
    ran = dovetail("catalog", "import", "p.csv", "--dry-run")
    assert ran.code == Exit.OK
    assert "read 288 prices" in ran.out  # 144 types, on demand and spot; one price in all zones is one row
    dovetail("catalog", "import", "p.csv")
    found = json.loads(dovetail("catalog", "diff", "kwok", "kwok", "-o", "json").out)
    assert found["prices"] == []


def test_an_export_has_the_users_prices_in_it_and_gets_them_only_once(dovetail, tmp_path):
    (tmp_path / "p.csv").write_text("kind,instanceType,percent\ndiscount,*,50\n")
    dovetail("catalog", "import", "p.csv")
    dovetail("catalog", "export", "--cloud", "kwok", "--to", "c.json")
    halved = dovetail("catalog", "list", "--cloud", "kwok", "-o", "json").out
    assert dovetail("catalog", "list", "--catalog", "c.json", "-o", "json").out == halved


@pytest.fixture
def changed(dovetail):
    """A catalogue with one type gone, one come, one price and one size moved."""
    text = dovetail("catalog", "export", "--cloud", "kwok").out
    value = json.loads(text)
    gone, moved, grown = value["types"][0], value["types"][1], value["types"][2]
    value["types"].append({**value["types"][3], "name": "new-1x"})
    value["types"].remove(gone)
    moved["listPrice"]["price"] = "0.05"
    grown["memory"] = "3Gi"
    for row in moved["offerings"]:
        row["price"]["price"] = "0.05"
    with open("b.json", "w") as out:
        json.dump(value, out)
    return gone["name"], moved["name"], grown["name"]


def test_a_difference_names_types_prices_and_sizes(dovetail, changed):
    gone, moved, grown = changed
    found = json.loads(dovetail("catalog", "diff", "kwok", "b.json", "-o", "json").out)
    assert (found["added"], found["removed"]) == (["new-1x"], [gone])
    assert {one["name"] for one in found["prices"]} == {moved}
    listed = found["prices"][0]
    assert (listed["zone"], listed["after"]["price"]) == (None, 0.05)
    assert listed["by"] == pytest.approx(0.05 - listed["before"]["price"])
    assert listed["percent"] == pytest.approx(100 * listed["by"] / listed["before"]["price"], abs=0.001)
    assert {(one["name"], one["of"], one["resource"]) for one in found["room"]} == {
        (grown, "capacity", "memory"),
        (grown, "allocatable", "memory"),
    }


def test_the_table_says_the_same_in_words(dovetail, changed):
    ran = dovetail("catalog", "diff", "kwok", "b.json")
    assert ran.code == Exit.OK
    for word in (
        "1 types added",
        "+ new-1x",
        "1 types removed",
        "prices changed",
        "4 zones",
        "amounts changed",
        "3062Mi",
    ):
        assert word in ran.out
    rows = dovetail("catalog", "diff", "kwok", "b.json", "-o", "csv").out.splitlines()
    assert rows[1] == "added,new-1x,,,,"


def test_differences_are_an_exit_code_only_if_asked_for(dovetail, changed):
    assert dovetail("catalog", "diff", "kwok", "b.json").code == Exit.OK
    assert dovetail("catalog", "diff", "kwok", "b.json", "--exit-code").code == Exit.FAILED
    assert dovetail("catalog", "diff", "kwok", "kwok", "--exit-code").code == Exit.OK


def test_regions_are_compared_by_list_price_as_their_zones_have_nothing_in_common(dovetail):
    found = json.loads(dovetail("catalog", "diff", "aws", "aws:eu-west-1", "-o", "json").out)
    assert found["prices"]
    assert {one["zone"] for one in found["prices"]} == {None}


def test_a_truncated_catalogue_lists_what_is_left_and_says_so(dovetail, tmp_path):
    for name, words in (("k.json", ("-o", "kwok")), ("c.json", ())):
        dovetail("catalog", "export", "--cloud", "kwok", *words, "--to", name)
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text[: len(text) * 2 // 3])
        ran = dovetail("catalog", "list", "--catalog", name, "-o", "name")
        assert ran.code == Exit.BAD_INPUT
        assert 80 < len(ran.out.split()) < 110
        assert f"{name}: line " in ran.err
        assert "types before that were read" in ran.err


def test_a_key_given_twice_in_a_types_file_costs_that_type(dovetail, tmp_path):
    dovetail("catalog", "export", "--cloud", "kwok", "-o", "kwok", "--to", "k.json")
    text = (tmp_path / "k.json").read_text()
    (tmp_path / "k.json").write_text(text.replace('"Price":', '"Price": 1, "Price":', 1))
    ran = dovetail("catalog", "list", "--catalog", "k.json", "-o", "name")
    assert ran.code == Exit.BAD_INPUT
    assert len(ran.out.split()) == 143
    assert "k.json: [0]: c-1x-amd64-linux: offerings[0].Price: the key is given twice; keep one" in ran.err


@pytest.mark.parametrize(
    "text", ["", "{", "{}", "null", "[1]", "not json", '{"format": "dovetail.catalog/v1"}', "[" * 100_000]
)
def test_what_is_no_catalogue_is_refused_with_its_name(dovetail, tmp_path, text):
    (tmp_path / "c.json").write_text(text)
    ran = dovetail("catalog", "list", "--catalog", "c.json")
    assert ran.code == Exit.BAD_INPUT
    assert "c.json" in ran.err


def test_bytes_that_are_no_text_are_refused(dovetail, tmp_path):
    (tmp_path / "c.json").write_bytes(b"\xff\xfe\x00")
    assert "is not UTF-8 text" in dovetail("catalog", "list", "--catalog", "c.json").err


def test_an_export_that_cannot_be_written_is_said_and_leaves_nothing(dovetail, tmp_path):
    (tmp_path / "file").write_text("x")
    ran = dovetail("catalog", "export", "--cloud", "kwok", "--to", "file/c.json")
    assert ran.code == Exit.BAD_INPUT
    assert "file/c.json: cannot be written" in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(
                st.sampled_from(["name", "offerings", "Price", "Requirements", "resources"]), inner, max_size=4
            ),
        ),
        max_leaves=10,
    )
)
def test_any_json_is_a_types_file_or_bad_input(value):
    with contextlib.suppress(BadInput):
        listings.kwok_types(json.dumps(value), "k.json")
