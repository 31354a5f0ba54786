"""Every requirement is proven by a test that cites its number, and the page of them is up to date."""

from pathlib import Path

from tools.requirements import page

from tools import regions


def test_every_requirement_is_cited_by_a_test():
    cited = page.citations()
    assert [number for number in page.wording() if number not in cited] == []


def test_no_test_cites_a_requirement_that_is_not_there():
    assert sorted(page.citations().keys() - page.wording().keys()) == []


def test_the_page_is_what_the_tests_say():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), "run python -m tools.requirements"


def test_the_readme_counts_them_as_they_are():
    held = regions.held(page.README.read_text(encoding="utf-8"), *page.REGION)
    assert held == page.summary(), "run python -m tools.requirements"
    assert sum(int(row.split(" | ")[2]) for row in held.splitlines()[2:-1]) == len(page.wording())


def test_the_risk_of_control_planes_on_spot_is_documented():
    """R37."""
    words = (page.ROOT / "docs" / "why" / "cluster-api.md").read_text(encoding="utf-8")
    assert "etcd" in words.split("## Control planes", 1)[1].split("\n## ", 1)[0]


def test_names_docstrings_and_modules_are_read(tmp_path: Path):
    (tmp_path / "tests").mkdir()
    source = '"""All of it proves R10."""\ndef test_a_thing_S3_4():\n    """Also R2."""\n\ndef test_b_R7(): ...\n'
    (tmp_path / "tests" / "test_one.py").write_text(source)
    found = page.citations(tmp_path / "tests")
    assert {number: [one.name for one in tests] for number, tests in found.items()} == {
        "R10": [""],
        "S3.4": ["test_a_thing_S3_4"],
        "R2": ["test_a_thing_S3_4"],
        "R7": ["test_b_R7"],
    }
