"""The composition root: the one place that knows the process it runs in."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dovetail.cli import program


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and say how it went; `dovetail.cli.exits` lists the codes."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    return program.run(arguments, program.Streams(sys.stdin, sys.stdout, sys.stderr))


if __name__ == "__main__":
    sys.exit(main())
