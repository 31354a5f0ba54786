"""Run the tests of the core, count the branches they take, and print those they do not."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import coverage
import pytest

from tools import few_examples, verdicts

from . import page
from .left import branches

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "src" / "dovetail" / "core"
OUT = ROOT / "build" / "coverage"
LEAST_PERCENT = 95.0


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.covered", description=__doc__)
    parser.add_argument("--page", action="store_true", help="write docs/why/coverage.md")
    asked = parser.parse_args(argv)
    OUT.mkdir(parents=True, exist_ok=True)
    cov = coverage.Coverage(data_file=str(OUT / "data"), branch=True, source=[str(CORE)], config_file=False)
    cov.exclude(r"raise AssertionError\b")
    cov.start()
    status = pytest.main(["-p", "no:xdist", "tests/core"], plugins=[few_examples])
    cov.stop()
    cov.json_report(outfile=str(OUT / "report.json"))
    cov.html_report(directory=str(OUT))
    report = json.loads((OUT / "report.json").read_text(encoding="utf-8"))
    reasons = verdicts.read(Path(__file__).with_name("reasons.tsv"))
    left = branches(report, CORE)
    for one in left:
        print(f"{one.path}:{one.line} {one.function}: {one}")
        print(f"    {reasons.get(one.place, 'nobody has said why')}")
    for place in sorted(reasons.keys() - {one.place for one in left}):
        print(f"a reason that nobody needs any more: {place}")
    print(f"{page.figures(report['totals'])}; line by line in {(OUT / 'index.html').relative_to(ROOT)}")
    if status:
        print("tests fail, so these figures say little", file=sys.stderr)
        return 2
    if asked.page:
        page.PAGE.write_text(page.text(report["totals"], left, reasons), encoding="utf-8")
        print(f"wrote {page.PAGE.relative_to(ROOT)}")
    share = 100 * report["totals"]["covered_branches"] / report["totals"]["num_branches"]
    return 0 if share >= LEAST_PERCENT else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
