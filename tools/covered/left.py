"""Branches no test takes, named by their function and their text, so that a name lasts when lines move."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Branch:
    path: str  # below the core
    function: str
    text: str  # the line it goes out from
    to: str  # the line it would lead to; "the end" of the function
    line: int

    @property
    def place(self) -> str:
        """What a reason is given for: all that is left of one function."""
        return f"{self.path} {self.function}"

    def __str__(self) -> str:
        return f"{self.text} → {self.to}"


def branches(report: Mapping[str, Any], core: Path) -> list[Branch]:
    """All that are left in a JSON report of coverage's, in the order of their places."""
    found = []
    for name, told in sorted(report["files"].items()):
        file = Path(name)
        lines = file.read_text(encoding="utf-8").splitlines()
        functions = _functions(ast.parse("\n".join(lines)))
        for start, end in sorted(map(tuple, told["missing_branches"])):
            found.append(
                Branch(
                    file.resolve().relative_to(core).as_posix(),
                    _at(functions, start),
                    _text(lines, start),
                    _text(lines, end) if end > 0 else "the end",
                    start,
                )
            )
    return found


def _functions(tree: ast.AST, inside: str = "") -> list[tuple[int, int, str]]:
    """First line, last line and name of every function; what stands inside of another comes after it."""
    found: list[tuple[int, int, str]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = inside + node.name
            if not isinstance(node, ast.ClassDef):
                found.append((node.lineno, node.end_lineno or node.lineno, name))
            found += _functions(node, f"{name}.")
        else:
            found += _functions(node, inside)
    return found


def _at(functions: list[tuple[int, int, str]], line: int) -> str:
    return next((name for first, last, name in reversed(functions) if first <= line <= last), "the module")


def _text(lines: list[str], line: int) -> str:
    return " ".join(lines[line - 1].split()).partition("  # ")[0]
