"""Try mistakes, print those no test noticed, and write the page."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tools import few_examples
from tools import verdicts as told

from . import page
from .changes import Mistake, every_mistake
from .trial import Outcome, Patience, Trial

ROOT = Path(__file__).parents[2]
CORE = ROOT / "src" / "dovetail" / "core"
ROOMS = ("scheduling", "disruption")
#: Which test noticed which mistake last time: it is asked first the next time.
NOTICED = ROOT / "build" / "mutants" / "noticed.json"
TESTS = tuple(f"tests/core/{room}" for room in ROOMS)


def main(argv: list[str]) -> int:
    asked = arguments(argv)
    every = every_mistake(CORE, ROOMS)
    order = sorted((m for m in every if asked.only in m.name), key=lambda mistake: mistake.lot(asked.seed))
    mistakes = order[asked.skip : asked.skip + asked.count]
    verdicts = told.read(Path(__file__).with_name("judged.tsv"))
    patience = Patience(asked.slowest_test, asked.in_all)
    tell = Telling(len(mistakes), verdicts)
    noticed = json.loads(NOTICED.read_text(encoding="utf-8")) if NOTICED.is_file() else {}
    tests = asked.tests or TESTS
    trial = Trial(CORE, mistakes, patience, (kept(tests), noticed), tell)
    status = pytest.main(["-p", "no:xdist", "-s", *tests], plugins=[few_examples, trial])
    if trial.failing or len(trial.outcomes) != len(mistakes):
        print(trial.failing or f"the tests could not be collected (pytest says {status})", file=sys.stderr)
        return 2
    NOTICED.write_text(json.dumps(noticed, indent=0, sort_keys=True), encoding="utf-8")
    run = page.Run(asked.seed, len(every), tuple(trial.outcomes))
    print(page.figures(run, verdicts))
    for name in gone(verdicts, every):
        print(f"judged, but not in the code any more: {name}")
    if asked.page:
        page.PAGE.write_text(page.text(run, verdicts), encoding="utf-8")
        print(f"wrote {page.PAGE.relative_to(ROOT)}")
    return 1 if any(o.survived and o.mistake.name not in verdicts for o in trial.outcomes) else 0


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which mistakes are drawn (default %(default)s)")
    parser.add_argument("--count", type=int, default=400, help="how many (default %(default)s)")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first so many of the draw")
    parser.add_argument("--only", default="", metavar="TEXT", help="only mistakes whose name has this in it")
    parser.add_argument("--tests", nargs="+", metavar="PATH", help="only these tests (default: those of both rooms)")
    parser.add_argument("--slowest-test", type=float, default=4.0, metavar="S", help="leave slower tests out")
    parser.add_argument("--in-all", type=float, default=25.0, metavar="S", help="processor time for one mistake")
    parser.add_argument("--page", action="store_true", help="write docs/why/mutants.md")
    return parser.parse_args(argv)


class Telling:
    """Prints each survivor when it is known, and now and then how far things are."""

    def __init__(self, count: int, verdicts: Mapping[str, str]) -> None:
        self.count = count
        self.verdicts = verdicts
        self.done = 0

    def __call__(self, outcome: Outcome) -> None:
        self.done += 1
        if outcome.survived:
            mistake = outcome.mistake
            print(f"{mistake.path}:{mistake.line} {mistake.function}: {mistake.change}")
            print(f"    {self.verdicts.get(mistake.name) or f'not judged; {outcome.tests} tests reach it'}", flush=True)
        if self.done % 25 == 0:
            print(f"{self.done} of {self.count} tried", file=sys.stderr, flush=True)


def kept(tests: Sequence[str]) -> Path:
    """Where what a listened-to run of the tests has told stays: the name is a hash of all that it depends on."""
    told = hashlib.sha256(f"{few_examples.FEW} {tests}".encode())
    for file in sorted([*CORE.rglob("*.py"), *(ROOT / "tests" / "core").rglob("*.py"), ROOT / "tests" / "builders.py"]):
        told.update(file.read_bytes())
    return ROOT / "build" / "mutants" / f"{told.hexdigest()[:16]}.json"


def gone(verdicts: Mapping[str, str], every: list[Mistake]) -> list[str]:
    return sorted(verdicts.keys() - {mistake.name for mistake in every})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
