"""`catalog import`: a user's own prices, kept between calls."""

from __future__ import annotations

import json
import os
import stat

import pytest

from dovetail.cli.exits import Exit

PRICES = """\
kind,name,instanceType,capacityType,price,percent,count,asOf
,,m6i.4xlarge,on-demand,0.65,,,2026-07-06
discount,EDP,m5.*,on-demand,,10,,
extra,agent,c5.large,,0.01,,,
commitment,savings plan,m6i.*,,,28,5,
"""
SHOW = ("catalog", "show", "m6i.4xlarge", "-o", "json")


@pytest.fixture
def prices(tmp_path):
    (tmp_path / "prices.csv").write_text(PRICES)
    return "prices.csv"


def on_demand(ran) -> dict:
    return next(row for row in json.loads(ran.out)["offerings"] if row["capacityType"] == "on-demand")


def test_imported_prices_show_from_then_on_with_source_and_date(dovetail, prices, home):
    ran = dovetail("catalog", "import", prices)
    assert ran.code == Exit.OK
    assert ran.out.startswith("read 1 price, 1 discount, 1 extra, 1 commitment\n")
    row = on_demand(dovetail(*SHOW))
    assert (row["price"], row["source"], row["asOf"], row["detail"]) == (0.65, "imported", "2026-07-06", "prices.csv")
    table = dovetail("catalog", "show", "m6i.4xlarge").out
    assert "imported" in table
    assert "savings plan: 28% off for 5 machines, then the price below" in table
    assert stat.S_IMODE(os.stat(home / "prices.json").st_mode) == 0o600


def test_discounts_and_extras_tell_what_they_did(dovetail, prices):
    dovetail("catalog", "import", prices)
    m5 = on_demand(dovetail("catalog", "show", "m5.large", "-o", "json"))
    assert m5["price"] == 0.0864
    assert m5["detail"].endswith("less 10% EDP")
    c5 = on_demand(dovetail("catalog", "show", "c5.large", "-o", "json"))
    assert c5["price"] == 0.095
    assert c5["detail"].endswith("plus 0.01 agent")


def test_importing_again_changes_nothing_and_newer_prices_replace_older(dovetail, prices, home, tmp_path):
    dovetail("catalog", "import", prices)
    before = (home / "prices.json").read_text()
    dovetail("catalog", "import", prices)
    assert (home / "prices.json").read_text() == before
    (tmp_path / "newer.csv").write_text("instanceType,capacityType,price\nm6i.4xlarge,on-demand,0.5\n")
    dovetail("catalog", "import", "newer.csv")
    assert on_demand(dovetail(*SHOW))["price"] == 0.5


def test_a_dry_run_keeps_nothing(dovetail, prices, home):
    ran = dovetail("catalog", "import", prices, "--dry-run")
    assert ran.code == Exit.OK
    assert "would hold" in ran.out
    assert not home.exists()


def test_clearing_forgets_everything(dovetail, prices):
    dovetail("catalog", "import", prices)
    assert dovetail("catalog", "import", "--clear").code == Exit.OK
    assert on_demand(dovetail(*SHOW))["source"] == "bundled"


def test_a_file_with_a_bad_row_is_not_kept_unless_one_insists(dovetail, home, tmp_path):
    (tmp_path / "bad.csv").write_text("instanceType,price\nm6i.4xlarge,0.5\nm5.large,NaN\n")
    ran = dovetail("catalog", "import", "bad.csv")
    assert ran.code == Exit.BAD_INPUT
    assert "bad.csv: line 3: m5.large: price: 'NaN' is not a price" in ran.err
    assert not home.exists()
    assert dovetail("catalog", "import", "bad.csv", "--keep-going").code == Exit.BAD_INPUT
    assert on_demand(dovetail(*SHOW))["price"] == 0.5


def test_prices_for_one_call_are_not_kept(dovetail, prices, home):
    assert on_demand(dovetail(*SHOW, "--prices", prices))["price"] == 0.65
    assert on_demand(dovetail(*SHOW))["price"] == 0.768
    assert not home.exists()


def test_a_spoiled_book_costs_its_bad_entries_only(dovetail, prices, home):
    dovetail("catalog", "import", prices)
    path = home / "prices.json"
    path.write_text(path.read_text().replace('"10"', '"110"'))
    ran = dovetail(*SHOW)
    assert ran.code == Exit.BAD_INPUT
    assert "percent: '110' is more than 100" in ran.err
    assert on_demand(ran)["price"] == 0.65


def test_a_spoiled_book_is_not_written_over_unasked(dovetail, prices, home):
    dovetail("catalog", "import", prices)
    path = home / "prices.json"
    path.write_text(path.read_text()[:-40])
    spoiled = path.read_text()
    ran = dovetail("catalog", "import", prices)
    assert ran.code == Exit.BAD_INPUT
    assert "kept nothing" in ran.out
    assert path.read_text() == spoiled
    assert dovetail("catalog", "import", "--clear").code == Exit.OK


@pytest.mark.parametrize("spoiled", [b"\xff\xfe", b"{"])
def test_whatever_became_of_the_book_the_catalogue_is_shown(dovetail, prices, home, spoiled):
    dovetail("catalog", "import", prices)
    (home / "prices.json").write_bytes(spoiled)
    ran = dovetail(*SHOW)
    assert ran.code == Exit.BAD_INPUT
    assert str(home / "prices.json") in ran.err
    assert on_demand(ran)["source"] == "bundled"


def test_the_summary_can_be_read_by_programs(dovetail, prices):
    found = json.loads(dovetail("catalog", "import", prices, "-o", "json").out)
    counts = {"prices": 1, "discounts": 1, "extras": 1, "commitments": 1}
    assert (found["read"], found["stored"], found["written"]) == (counts, counts, True)


def test_stdin_is_csv_and_no_file_is_an_error(dovetail):
    assert dovetail("catalog", "import", "-", stdin=PRICES).code == Exit.OK
    assert dovetail("catalog", "import").code == Exit.BAD_INPUT


def test_a_data_directory_that_cannot_be_written_is_said(dovetail, prices, home):
    home.write_text("a file where a directory should be")
    ran = dovetail("catalog", "import", prices)
    assert ran.code == Exit.BAD_INPUT
    assert "cannot be" in ran.err
