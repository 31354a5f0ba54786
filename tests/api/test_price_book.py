"""Price books on file."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction

import pytest

from dovetail.api import price_book
from dovetail.core.catalog.pricebook import Commitment, Discount, Extra, Scope

TODAY = date(2026, 7, 22)
GOOD = """\
kind,name,instanceType,capacityType,zone,region,price,percent,count,currency,asOf
,,m5.large,on-demand,,us-east-1,0.09,,,USD,2026-07-01
price,,c5.*,,,,0.2,,,,

discount,EDP,m5.*,on-demand,,,,12.5,,,
extra,agent,,,,,0.01,,,,
commitment,plan,m6i.*,,,,10,28%,,,
commitment,ri,m5.large,,,,,40,5,,
"""


def read(text: str, name: str = "prices.csv") -> price_book.BookRead:
    return price_book.read(text, name, TODAY)


def problem(text: str, name: str = "prices.csv") -> str:
    (one,) = read(text, name).problems
    return str(one)


def test_every_kind_of_entry_is_read():
    found = read(GOOD)
    assert found.problems == ()
    first, second = found.book.prices
    assert (first.scope, first.nanodollars) == (Scope("m5.large", "on-demand", None, "us-east-1"), 90_000_000)
    assert (str(first.source.kind), first.source.detail, first.source.as_of) == ("imported", "prices.csv", "2026-07-01")
    assert second.source.as_of == "2026-07-22"  # a price nobody dated is of the day it was imported
    assert found.book.discounts == (Discount(Scope("m5.*", "on-demand"), Fraction(25, 2), "EDP"),)
    assert found.book.extras == (Extra(Scope("*"), 10_000_000, "agent"),)
    assert found.book.commitments == (
        Commitment("plan", Scope("m6i.*"), Fraction(28), None, 10_000_000_000),
        Commitment("ri", Scope("m5.large"), Fraction(40), 5, None),
    )


def test_a_book_is_read_back_as_it_was_written():
    book = read(GOOD).book
    again = read(json.dumps(price_book.rows_of(book)), "x.json")
    assert (again.book, again.problems) == (book, ())


def test_json_and_yaml_say_the_same():
    as_yaml = "- {instanceType: m5.large, price: 0.09, asOf: 2026-07-01}\n"
    entry = {"instanceType": "m5.large", "price": "0.09", "asOf": "2026-07-01"}
    as_json = json.dumps({"format": price_book.FORMAT, "entries": [entry]})
    (a,), (b,) = read(as_yaml, "p.yaml").book.prices, read(as_json, "p.json").book.prices
    assert (a.scope, a.nanodollars, a.source.as_of) == (b.scope, b.nanodollars, b.source.as_of)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_may_end_as_any_spreadsheet_ends_them(end):
    found = read(end.join(["instanceType,price", "a,1", "b,x", "c,3", ""]))
    assert [one.scope.instance_type for one in found.book.prices] == ["a", "c"]
    assert "line 3: b" in str(found.problems[0])


def test_a_bad_row_costs_only_itself():
    found = read("instanceType,price\na,-1\nb,0.5\nc\nd,0.6\n")
    assert [one.scope.instance_type for one in found.book.prices] == ["b", "d"]
    assert [str(one) for one in found.problems] == [
        "prices.csv: line 2: a: price: '-1' is negative; a price is 0 or more",
        "prices.csv: line 4: has 1 cells; the header has 2",
    ]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("instancetype,price\na,1\n", "prices.csv: line 1: instancetype: unknown column; did you mean instanceType?"),
        ("price,price\n1,1\n", "line 1: price: the column is there twice"),
        ("", "prices.csv: is empty"),
        ("instanceType,price\na,NaN\n", "line 2: a: price: 'NaN' is not a price"),
        ("instanceType,price\na,\n", "line 2: a: price: is missing"),
        ("instanceType,price\n,1\n", "line 2: instanceType: is missing"),
        ("instanceType,price\na,1\na,2\n", "line 3: a: price: the same rows are priced at 1 above"),
        ("kind,instanceType,percent\ndiscount,a,120\n", "percent: '120' is more than 100"),
        ("kind,instanceType,percent\ndiscount,a,x\n", "percent: 'x' is not a percentage"),
        ("kind,instanceType,percent\ndiscount,a,\n", "percent: is missing"),
        ("kind,instanceType,percent\nprice,a,5\n", "percent: means nothing in a price"),
        ("kind,instanceType\ndiscont,a\n", "kind: 'discont' is no kind of entry; did you mean discount?"),
        ("kind,percent,count\ncommitment,5,5\n", "name: is missing"),
        ("kind,name,percent\ncommitment,a,5\n", "count: give either a count of machines or a price"),
        ("kind,name,percent,count\ncommitment,a,5,0\n", "count: '0' is not a count"),
        ("kind,name,percent,count\ncommitment,a,5,1\ncommitment,a,9,9\n", "line 3: a: name: another commitment above"),
        ("instanceType,price,currency\na,1,euro\n", "currency: 'euro' is not a currency"),
        ("instanceType,price,asOf\na,1,yesterday\n", "asOf: 'yesterday' is not a date"),
        ("instanceType,price,capacityType\na,1,sport\n", "capacityType: 'sport' is no capacity type"),
        ('instanceType,price\n"a,1\n', "not CSV"),
    ],
)
def test_an_error_names_file_line_and_column(text, told):
    assert told in problem(text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[{"instanceType": "a", "price": 1, "price": 2}]', "[0].price: the key is given twice"),
        ('[{"instanceType": "a", "price": NaN}]', "[0]: a: price: 'nan' is not a price"),
        ('[{"instanceType": "a", "prise": 1}]', "[0]: a: prise: unknown key; did you mean price?"),
        ('[{"instanceType": "a", "price": 1}', "the file ends too early"),
        ('{"prices": []}', "prices: unknown key"),
        ('"a"', "expected a list of entries, got text"),
        ("[1]", "[0]: expected a map, got a number"),
    ],
)
def test_the_same_holds_for_json(text, told):
    assert told in problem(text, "p.json")
