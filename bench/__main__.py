"""`python -m bench [NAME …]`: run all benchmarks or those named; `--render-only`: the page from kept figures, and the
README's table from the page."""

import argparse
import datetime
import importlib
import inspect
import pkgutil
import sys
from types import ModuleType

import bench
from bench import excerpt, page, peer
from bench.report import RESULTS, ROOT, broken, from_json, write


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=bench.__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="which benchmarks to run; if none is named, all but `live…`",
    )
    parser.add_argument("--render-only", action="store_true", help="measure nothing, render the page anew")
    asked = parser.parse_args()

    known = benchmarks()
    unknown = [name for name in asked.names if name not in known]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; there are: {', '.join(known) or 'none yet'}.", file=sys.stderr)
        return 2
    failures: list[str] = []
    if not asked.render_only:
        for name in asked.names or usual(known):
            rows = known[name].run()
            write(name, rows)
            failures += (f"{name}, {words}" for words in broken(rows))
    # After a part of them the page is left alone: `--render-only` puts in what is worth keeping.
    status = 0 if asked.names and not asked.render_only else render(known)
    for words in failures:
        print(f"FAILED: {words}", file=sys.stderr)
    return 1 if failures else status


def benchmarks() -> dict[str, ModuleType]:
    """Every `bench_*.py` beside this file, by its NAME, in alphabetical order."""
    found = (
        importlib.import_module(f"{bench.__name__}.{module.name}")
        for module in pkgutil.iter_modules(bench.__path__)
        if module.name.startswith("bench_")
    )
    return {module.NAME: module for module in sorted(found, key=lambda module: str(module.NAME))}


def usual(known: dict[str, ModuleType]) -> list[str]:
    """Those run when none is named: all but the ones that ask to be."""
    return [name for name, module in known.items() if not getattr(module, "ON_REQUEST", False)]


def render(known: dict[str, ModuleType]) -> int:
    kept = {name: path for name in known if (path := RESULTS / f"{name}.json").exists()}
    if not kept:
        excerpt.write()
        print("There are no figures here: the page stays as it is, and the README's table was made from it.")
        return 0
    sections = [
        page.Section(
            name,
            inspect.getdoc(known[name]) or "",
            from_json(path.read_text(encoding="utf-8")),
            datetime.datetime.fromtimestamp(path.stat().st_mtime, tz=datetime.UTC).date(),
        )
        for name, path in kept.items()
    ]
    page.PAGE.parent.mkdir(parents=True, exist_ok=True)
    before = page.PAGE.read_text(encoding="utf-8") if page.PAGE.exists() else ""
    page.PAGE.write_text(page.render(sections, page.this_machine(), peer.version(), before), encoding="utf-8")
    excerpt.write()
    print(f"wrote {page.PAGE.relative_to(ROOT)} and the table in {excerpt.README.name}")
    missed = [row.row for section in sections for row in section.rows if row.met is False]
    if missed:
        print(f"targets missed: {', '.join(missed)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
