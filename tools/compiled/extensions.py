"""Run mypyc and the C compiler; what they make goes below the directory named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext

from .build import modules


def build(into: Path) -> None:
    """Compiled modules, laid out as packages are. mypyc reads the project's settings from where it is started."""
    work = into / "work"
    extensions = mypycify(
        [str(one) for one in modules()],
        opt_level="2",
        debug_level="0",
        multi_file=True,
        target_dir=str(work),
        group_name="dovetail",
    )
    command = build_ext(Distribution({"name": "dovetail", "ext_modules": extensions}))
    command.build_lib, command.build_temp = str(into), str(work)
    command.parallel = os.cpu_count()
    command.ensure_finalized()
    command.run()


if __name__ == "__main__":
    build(Path(sys.argv[1]))
