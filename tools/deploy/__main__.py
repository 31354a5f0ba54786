"""`python -m tools.deploy` writes `deploy/` and the reference of its resources; --check only says what is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .files import files

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.deploy", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if something would change")
    check = parser.parse_args().check
    stale = stale_files(REPOSITORY)
    for path, text in stale.items():
        print(f"{'stale' if check else 'written' if text is not None else 'removed'}: {path.relative_to(REPOSITORY)}")
        if check:
            continue
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


def stale_files(root: Path) -> dict[Path, str | None]:
    """What of ours is not as it should be, and what should be there; None where nothing should."""
    wanted = {root / name: text for name, text in files().items()}
    owned = {path for path in (root / "deploy").rglob("*") if path.is_file()}
    there = {path: path.read_text(encoding="utf-8") for path in owned | wanted.keys() if path.is_file()}
    return {path: wanted.get(path) for path in sorted(wanted.keys() | owned) if wanted.get(path) != there.get(path)}


if __name__ == "__main__":
    sys.exit(main())
