"""Our own catalogue file: what is read back plans as what was written."""

from __future__ import annotations

import json
from functools import cache

import pytest

from dovetail.api import catalog_export, catalog_file
from dovetail.clouds.load import CLOUDS, load
from dovetail.core.catalog.listing import Listing
from dovetail.core.errors import BadInput


@cache
def written(cloud: str) -> tuple[Listing, str]:
    listing = load(cloud)
    return listing, "".join(catalog_export.write(listing, {}))


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_catalogue_is_read_back_as_it_was_written(cloud):
    listing, text = written(cloud)
    again = catalog_file.read(text, "c.json")
    assert catalog_file.is_one(text)
    assert again.problems == ()
    assert again.hardware == listing.hardware
    assert again.offerings == dict(listing.offerings)
    assert (again.rules, again.dialect, again.region) == (listing.rules, listing.dialect, listing.region)
    names = {one.name for one in listing.hardware}
    assert again.list_prices == {name: price for name, price in listing.list_prices.items() if name in names}


def test_a_truncated_file_gives_the_types_before_the_cut_and_one_error():
    listing, text = written("kwok")
    found = catalog_file.read(text[: len(text) // 2], "c.json")
    assert found.hardware == listing.hardware[: len(found.hardware)]
    assert 60 < len(found.hardware) < 80
    (problem,) = found.problems
    assert str(problem).startswith("c.json: line ")
    assert f"the {len(found.hardware)} types before that were read" in str(problem)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"memory": "1,5Gi"}, "memory: '1,5Gi' is not a quantity"),
        ({"memroy": "1Gi"}, "memroy: unknown key; did you mean memory?"),
        ({"cpu": "-1"}, "is negative"),
        ({"listPrice": {"price": "-1", "source": "bundled"}}, "listPrice.price: '-1' is negative"),
        ({"listPrice": {"price": "1", "source": "rumour"}}, "listPrice.source: 'rumour' is no source"),
        ({"labels": {"a": 1}}, "labels.a: expected text, got a number"),
        ({"offerings": [{"labels": {}, "count": -1}]}, "offerings[0].count: -1 is not a whole number"),
        ({"pods": "many"}, "pods: 'many' is not a whole number"),
        ({"disk": []}, "disk: expected a map, got a list"),
    ],
)
def test_a_bad_type_costs_only_itself_and_is_named(change, told):
    _, text = written("kwok")
    value = json.loads(text)
    value["types"][3].update(change)
    found = catalog_file.read(json.dumps(value), "c.json")
    assert len(found.hardware) == 143
    (problem,) = found.problems
    assert str(problem).startswith(f"c.json: {value['types'][3]['name']}: ")
    assert told in str(problem)


@pytest.mark.parametrize("change", [{"cloud": None}, {"rules": {"reserve": "more"}}, {"types": {}}, {"extra": 1}])
def test_a_bad_header_is_refused(change):
    _, text = written("kwok")
    with pytest.raises(BadInput, match=r"c\.json"):
        catalog_file.read(json.dumps({**json.loads(text), **change}), "c.json")
