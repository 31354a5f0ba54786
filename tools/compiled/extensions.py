"""Run mypyc and the C compiler: `python -m tools.compiled.extensions INTO SOURCE…`, from the root of the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mypyc.build import mypycify
from setuptools import Distribution
from setuptools.command.build_ext import build_ext


def build(into: Path, sources: list[str]) -> None:
    """Compiled modules below a directory, laid out as packages are. mypyc reads the project's settings of mypy."""
    with TemporaryDirectory() as work:
        made = mypycify(
            sources, opt_level="2", debug_level="0", multi_file=True, target_dir=work, group_name="dovetail"
        )
        command = build_ext(Distribution({"name": "dovetail", "ext_modules": made}))
        command.build_lib, command.build_temp = str(into), work
        command.parallel = os.cpu_count()
        command.ensure_finalized()
        command.run()


if __name__ == "__main__":
    build(Path(sys.argv[1]), sys.argv[2:])
