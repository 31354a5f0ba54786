"""The mistakes that are made on purpose, and the branches that are counted."""

from __future__ import annotations

import ast
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from tools.covered.left import branches
from tools.mutants.changes import Mistake, mistakes_in, tree_with
from tools.mutants.trial import functions_below, put_in

SOURCE = '''
LIMIT = 5


@cache
def most(values: list[int], limit: int = 3) -> int:
    """Not this text."""
    assert limit > 0
    for one in values:
        if not one or one == limit:
            continue
        store(one)
        limit += one
    return max(values) if values else 7


class Box:
    def holds(self, one: int) -> bool:
        return 0 < one <= self.size
'''


def changes(source: str = SOURCE) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in mistakes_in(source, "box.py"):
        found.setdefault(one.function, []).append(one.change)
    return found


def test_every_place_of_a_function_can_be_got_wrong_in_its_own_ways():
    assert changes()["most"] == [
        "not one or one == limit → not one and one == limit",
        "not one or one == limit → not (not one or one == limit)",
        "not one → one",
        "one == limit → one != limit",
        "continue → break",
        "store(one) → pass",
        "limit += one → limit -= one",
        "return max(values) if values else 7 → return None",
        "values → not values",
        "max(values) → min(values)",
        "max(values) if values else 7 → max(values) if values else 8",
        "max(values) if values else 7 → max(values) if values else 6",
    ]


def test_bounds_are_got_wrong_by_one_and_the_wrong_way_round():
    assert changes()["Box.holds"][1:] == [
        "0 < one <= self.size → 0 <= one <= self.size",
        "0 < one <= self.size → 0 >= one <= self.size",
        "0 < one <= self.size → 0 < one < self.size",
        "0 < one <= self.size → 0 < one > self.size",
        "0 < one <= self.size → 1 < one <= self.size",
    ]


def test_nothing_is_wrong_outside_of_functions_in_defaults_asserts_and_texts():
    everything = " ".join(change for some in changes().values() for change in some)
    assert "LIMIT" not in everything
    assert "assert" not in everything
    assert "limit=4" not in everything


def test_the_same_change_twice_in_a_function_has_two_names():
    names = changes("def f(a):\n    g(a + 1)\n    h(a + 1)\n")["f"]
    assert names.count("a + 1 → a - 1") == 1
    assert "a + 1 → a - 1 (no. 2)" in names


def test_a_mistake_keeps_its_name_and_its_lot_when_the_file_grows_above_it():
    before = mistakes_in(SOURCE, "box.py")
    after = mistakes_in("def more(a):\n    return a\n" + SOURCE, "box.py")[1:]
    assert [(one.name, one.lot(1)) for one in before] == [(one.name, one.lot(1)) for one in after]
    assert [one.line for one in before] == [one.line - 2 for one in after]


@pytest.mark.parametrize("mistake", mistakes_in(SOURCE, "box.py"), ids=lambda one: one.change)
def test_a_mistake_is_made_at_its_own_place_and_nowhere_else(mistake: Mistake):
    right, wrong = (ast.unparse(tree).splitlines() for tree in (ast.parse(SOURCE), tree_with(SOURCE, mistake)))
    assert sum(one != other for one, other in zip(right, wrong, strict=True)) == 1


def test_everybody_who_has_imported_a_function_gets_its_mistake(tmp_path: Path):
    file = tmp_path / "sums.py"
    source = "class Sums:\n    def up(self, a):\n        return a + 1\n\n    def same(self, a):\n        return a\n"
    file.write_text(source)
    spec = spec_from_file_location("sums", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    held = module.Sums().up
    (wrong,) = [one for one in mistakes_in(source, "sums.py") if one.change == "a + 1 → a - 1"]
    put_in(tmp_path, wrong, functions_below(tmp_path))
    assert (held(1), module.Sums().same(1)) == (0, 1)


def test_a_branch_that_is_left_is_named_by_its_function_and_its_lines(tmp_path: Path):
    file = tmp_path / "box.py"
    file.write_text(SOURCE)
    lines = SOURCE.splitlines()
    at, to = lines.index("        if not one or one == limit:") + 1, lines.index("            continue") + 1
    report = {"files": {str(file): {"missing_branches": [[at, to], [at - 1, -6]]}}}
    found = branches(report, tmp_path)
    assert {one.place for one in found} == {"box.py most"}
    assert [str(one) for one in found] == ["for one in values: → the end", "if not one or one == limit: → continue"]
