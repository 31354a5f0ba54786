"""The mistakes: what could be written instead of one expression or statement of a function.

A mistake is known by its function and its text, not by its line, so that it is still the same one when the file grows
above it. Which mistakes a run tries is drawn by a hash of that name and a seed: other code may change, the draw stays.
Left alone are asserts and what is raised (mistakes there can only be loud), annotations, decorators and default values,
and everything outside functions.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
RECKONED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
QUIET = (ast.Assert, ast.Raise, ast.JoinedStr)
UNSPOKEN = ("annotation", "returns", "decorator_list", "defaults", "kw_defaults", "ctx")


@dataclass(frozen=True)
class Mistake:
    path: str  # below the room's root, e.g. "scheduling/packer.py"
    function: str  # its qualified name
    change: str  # "a < b → a <= b", with "(no. 2)" if the function has the text more than once
    line: int
    lines: range  # from the beginning of its statement: what a test must run to reach it
    first_line: int  # of the function, decorators included: how its code object is known
    number: int  # in walking order through the module: how it is made again

    @property
    def name(self) -> str:
        return f"{self.path} {self.function}: {self.change}"

    def lot(self, seed: int) -> str:
        """The smaller, the earlier it is drawn."""
        return hashlib.sha256(f"{seed} {self.name}".encode()).hexdigest()


@dataclass(frozen=True)
class Place:
    """Where a node hangs in its tree."""

    parent: ast.AST
    field: str
    index: int | None

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


Function = ast.FunctionDef | ast.AsyncFunctionDef
Edit = tuple[Place, ast.AST, ast.AST, range]  # where, what stands there, what could, and the lines of it


def mistakes_in(source: str, path: str) -> list[Mistake]:
    """Everything that could be wrong in the functions of one module, in walking order."""
    found: list[Mistake] = []
    seen: Counter[tuple[str, str]] = Counter()
    for function, name in functions_of(ast.parse(source)):
        first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
        for place, old, new, lines in edits_in(function):
            change = _change(place, old, new)
            seen[name, change] += 1
            if (again := seen[name, change]) > 1:
                change += f" (no. {again})"
            found.append(Mistake(path, name, change, getattr(old, "lineno", lines[0]), lines, first, len(found)))
    return found


def tree_with(source: str, mistake: Mistake) -> ast.Module:
    """The module with the mistake in it."""
    tree = ast.parse(source)
    every = (edit for function, _ in functions_of(tree) for edit in edits_in(function))
    place, _, new, _ = next(islice(every, mistake.number, None))
    place.put(new)
    return ast.fix_missing_locations(tree)


def every_mistake(root: Path, rooms: Sequence[str]) -> list[Mistake]:
    return [
        mistake
        for room in rooms
        for file in sorted((root / room).rglob("*.py"))
        for mistake in mistakes_in(file.read_text(encoding="utf-8"), file.relative_to(root).as_posix())
    ]


def functions_of(tree: ast.AST, inside: str = "") -> Iterator[tuple[Function, str]]:
    """Outermost functions and methods, with their qualified names; what they hold inside belongs to them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield node, inside + node.name
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node, f"{inside}{node.name}.")
        elif isinstance(node, ast.If | ast.Try):
            yield from functions_of(node, inside)


def edits_in(function: Function) -> Iterator[Edit]:
    for index, statement in enumerate(function.body):
        yield from _edits(statement, Place(function, "body", index), statement.lineno)


def _edits(node: ast.AST, place: Place, line: int) -> Iterator[Edit]:
    if isinstance(node, QUIET):
        return
    if isinstance(node, ast.stmt):
        line = node.lineno
    for new in instead_of(node, place):
        yield place, node, ast.copy_location(new, node), range(line, (getattr(node, "end_lineno", None) or line) + 1)
    for field, value in ast.iter_fields(node):
        if field in UNSPOKEN:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST):
                yield from _edits(child, Place(node, field, index), line)


def instead_of(node: ast.AST, place: Place) -> Iterator[ast.AST]:
    """What could be written by mistake where `node` stands."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for index, op in enumerate(ops):
                for other in COMPARED[type(op)]:
                    yield ast.Compare(left, [*ops[:index], other(), *ops[index + 1 :]], others)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in RECKONED and not _is_text(left, right):
            yield ast.BinOp(left, RECKONED[type(op)](), right)
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in RECKONED and not _is_text(value):
            yield ast.AugAssign(target, RECKONED[type(op)](), value)
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
            if value > 0:
                yield ast.Constant(value - 1)
        case ast.Return(value=ast.expr() as value) if not _is_constant(value):
            yield ast.Return(ast.Constant(None))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in CALLED:
            yield ast.Call(ast.Name(CALLED[name], ast.Load()), args, keywords)
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
    if place.field in ("test", "ifs") and isinstance(node, ast.expr) and not _turns_over_anyway(node):
        yield ast.UnaryOp(ast.Not(), node)


def _change(place: Place, old: ast.AST, new: ast.AST) -> str:
    """A number says nothing alone: it is shown in what holds it."""
    if not _is_constant(old) or not isinstance(place.parent, ast.expr | ast.keyword | ast.Return | ast.Assign):
        return f"{_text(old)} → {_text(new)}"
    before = _text(place.parent)
    place.put(new)
    after = _text(place.parent)
    place.put(old)
    return f"{before} → {after}"


def _turns_over_anyway(test: ast.expr) -> bool:
    """A condition whose opposite is among its own mistakes already."""
    return isinstance(test, ast.UnaryOp) or (isinstance(test, ast.Compare) and len(test.ops) == 1)


def _is_text(*nodes: ast.AST) -> bool:
    return any(
        isinstance(n, ast.JoinedStr) or (isinstance(n, ast.Constant) and isinstance(n.value, str)) for n in nodes
    )


def _is_constant(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant)


def _text(node: ast.AST) -> str:
    """On one line, and short: of a statement that holds others, its first line."""
    return ast.unparse(node).splitlines()[0]
