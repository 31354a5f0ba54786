"""`python -m tools.reference` makes the marked parts of docs/reference anew."""

from __future__ import annotations

import sys

from . import pages


def main() -> int:
    for name in pages.PAGES:
        path = pages.FOLDER / name
        text = path.read_text(encoding="utf-8")
        made = pages.made(name, text)
        if made != text:
            path.write_text(made, encoding="utf-8")
            print(f"written: docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
