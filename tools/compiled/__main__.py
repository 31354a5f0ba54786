"""Compile the core and print the directory to put in front of PYTHONPATH."""

from __future__ import annotations

import argparse
import sys

from .build import CannotCompile, tree


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.compiled", description=__doc__)
    parser.add_argument("--if-possible", action="store_true", help="where it cannot be compiled, say so and succeed")
    asked = parser.parse_args(argv)
    try:
        print(tree())
    except CannotCompile as reason:
        print(f"the core stays interpreted: {reason}", file=sys.stderr)
        return 0 if asked.if_possible else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
