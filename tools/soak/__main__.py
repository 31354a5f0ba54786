"""`python -m tools.soak`: exit 1 if anything is left, failed of its own, or grew."""

from __future__ import annotations

import argparse
import asyncio
import sys

from tools.soak.soak import soak
from tools.soak.world import Around


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description="Minutes of chaos; nothing may be left.")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    report = asyncio.run(soak(flags.minutes * 60, flags.seed, Around(), lambda line: print(line, flush=True)))
    print("\n".join(report.lines()))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
