"""The bill of materials beside a wheel: whole, consistent, and the same for the same wheel."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tools.sbom import cyclonedx, licences
from tools.sbom.needed import needed, project


def bill(wheel: Path) -> dict[str, Any]:
    packages = needed(project())
    return cyclonedx.bill(project(), packages, {one.name: licences.licence_of(one.name) for one in packages}, wheel)


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "dovetail-1-py3-none-any.whl"
    path.write_bytes(b"not really a wheel")
    return path


def test_it_names_the_wheel_by_its_sum(wheel: Path) -> None:
    top = bill(wheel)["metadata"]["component"]
    assert top["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    assert top["version"] == project().version


def test_the_same_wheel_makes_the_same_bill_and_another_wheel_another(wheel: Path) -> None:
    first = bill(wheel)
    assert json.dumps(bill(wheel)) == json.dumps(first)
    wheel.write_bytes(b"changed")
    assert bill(wheel)["serialNumber"] != first["serialNumber"]


def test_every_reference_leads_to_one_component(wheel: Path) -> None:
    found = bill(wheel)
    refs = [one["bom-ref"] for one in found["components"]] + [found["metadata"]["component"]["bom-ref"]]
    assert len(refs) == len(set(refs))
    assert {line["ref"] for line in found["dependencies"]} <= set(refs)
    assert {ref for line in found["dependencies"] for ref in line["dependsOn"]} <= set(refs)


def test_everything_but_the_program_itself_is_needed_by_something(wheel: Path) -> None:
    found = bill(wheel)
    libraries = {one["bom-ref"] for one in found["components"] if one["type"] == "library"}
    assert libraries == {ref for line in found["dependencies"] for ref in line["dependsOn"]}


def test_extras_are_optional_and_say_who_brings_them(wheel: Path) -> None:
    by_name = {one["name"]: one for one in bill(wheel)["components"]}
    assert by_name["aiohttp"]["scope"] == "required"
    assert (by_name["botocore"]["scope"], by_name["botocore"]["properties"]) == (
        "optional",
        [{"name": "dovetail:extra", "value": "aws"}],
    )


def test_bundled_facts_are_listed_with_the_packages_they_come_from(wheel: Path) -> None:
    data = {one["purl"].partition("@")[0] for one in bill(wheel)["components"] if one["type"] == "data"}
    notice = (cyclonedx.ROOT / "NOTICE").read_text(encoding="utf-8")
    assert data
    assert all(one.removeprefix("pkg:pypi/").removeprefix("pkg:golang/") in notice for one in data)


def test_every_component_says_its_licence(wheel: Path) -> None:
    assert [one["name"] for one in bill(wheel)["components"] if not one["licenses"]] == []
