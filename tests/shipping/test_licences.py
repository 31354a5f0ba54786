"""Every package that dovetail needs is pinned, and comes under a licence we may ship on."""

from __future__ import annotations

from email.message import Message

import pytest
from tools.sbom import licences
from tools.sbom.__main__ import pins
from tools.sbom.needed import ROOT, NotInstalled, Package, Project, dev_requirements, needed, project


def metadata(**fields: str | list[str]) -> Message:
    found = Message()
    for name, value in fields.items():
        for one in [value] if isinstance(value, str) else value:
            found[name.replace("_", "-")] = one
    return found


def test_every_package_needed_is_allowed_and_pinned() -> None:
    packages = needed(project())
    assert licences.complaints(packages, {one.name: licences.licence_of(one.name) for one in packages}, pins()) == []


def test_every_package_of_the_tests_is_pinned() -> None:
    brought = Project("tests", "0", "", "", dev_requirements(), ())
    ours = project().name
    assert [one.name for one in needed(brought) if one.name != ours and one.name not in pins()] == []


def test_what_runs_without_any_cloud_is_little() -> None:
    everybody = [one.name for one in needed(project()) if not one.extras]
    assert {"aiohttp", "msgspec", "pyyaml"} <= set(everybody)
    assert not {"botocore", "google-auth", "azure-core", "cryptography", "pydantic"} & set(everybody)


def test_a_package_that_several_extras_bring_names_them_all() -> None:
    certifi = next(one for one in needed(project()) if one.name == "certifi")
    assert certifi.extras == ("azure", "gcp")


def test_one_that_is_not_installed_is_named() -> None:
    with pytest.raises(NotInstalled, match="no-such-package is needed and not installed here"):
        needed(Project("x", "0", "", "", ("no-such-package>=1",), ()))


@pytest.mark.parametrize(
    ("said", "licence"),
    [
        ({"License_Expression": "Apache-2.0 AND MIT", "License": "nonsense"}, "Apache-2.0 AND MIT"),
        ({"License": "3-Clause BSD License"}, "BSD-3-Clause"),
        ({"License": "mit"}, "MIT"),
        ({"License": "Dual License", "Classifier": ["License :: OSI Approved :: MIT License"]}, "MIT"),
        ({"Classifier": ["License :: Other/Proprietary License"]}, "unknown"),
        (
            {"Classifier": ["License :: OSI Approved :: MIT License", "License :: Something Else"]},
            "MIT AND unknown",
        ),
        ({"License": "Copyright (c) somebody\nAll rights reserved"}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_a_licence_is_read_in_three_ways(said: dict[str, str | list[str]], licence: str) -> None:
    assert licences.read(metadata(**said)) == licence


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("Apache-2.0 AND GPL-3.0-only", False),
        ("Apache-2.0 AND MIT", True),
        ("LGPL-2.1-or-later", False),
        ("unknown", False),
        ("(MIT OR Apache-2.0) AND ISC", False),
    ],
)
def test_a_sum_needs_all_its_parts_and_a_choice_one(licence: str, allowed: bool) -> None:
    assert licences.allowed(licence) is allowed


def complaints(name: str, licence: str, pinned: str | None = "1") -> list[str]:
    """About one package; the excuses of others are not its concern."""
    pinned_versions = {} if pinned is None else {name: pinned}
    found = licences.complaints([Package(name, "1", (), ())], {name: licence}, pinned_versions)
    return [line for line in found if "not needed under" not in line]


def test_copyleft_and_the_unknown_are_refused_with_what_to_do() -> None:
    assert complaints("new", "MIT") == []
    assert "comes under GPL-3.0-only: read its licence" in complaints("new", "GPL-3.0-only")[0]
    assert "comes under unknown" in complaints("new", "unknown")[0]


def test_an_excuse_is_for_one_licence_of_one_package() -> None:
    assert complaints("certifi", "MPL-2.0") == []
    assert "comes under GPL-3.0-only" in complaints("certifi", "GPL-3.0-only")[0]
    assert "comes under MPL-2.0" in complaints("other", "MPL-2.0")[0]


def test_an_excuse_that_nobody_needs_is_named() -> None:
    assert "certifi is excused" in licences.complaints([], {}, {})[0]


def test_what_is_not_pinned_or_pinned_otherwise_is_named() -> None:
    assert complaints("new", "MIT", pinned=None) == ["new is needed and not pinned: add new==1"]
    assert "new 1 is installed and 2 is pinned" in complaints("new", "MIT", pinned="2")[0]


def test_pins_are_exact() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#") and line.count("==") != 1] == []
