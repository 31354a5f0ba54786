"""CEL that the library cannot parse, said in CEL that it can.

The library's parser knows neither optional field selection nor comprehensions over two variables; it does know calls
of our own functions as methods. So each such form becomes a call, or a comprehension over one variable:

    a.?b                    a.optField("b")
    a[?k]                   a.optIndex(k)
    m.all(k, v, p)          m.entries().all(e, [e[0]].all(k, [e[1]].all(v, p)))
    m.transformList(k, v, t)   m.entries().map(e, [e[0]].map(k, [e[1]].map(v, t)[0])[0])
    o.optMap(x, t)          o.optList().map(x, t).optOne()

Two functions of the library cannot be replaced under their own names: `matches` compiles its pattern at each call and
reads it as Rust does, and `size` counts the bytes of a string. They are called by other names, the latter where self is
a string.

Once a chain of selections is optional, the rest of it is too: `a.?b.c` asks for `c` only where `b` is. Nothing else is
touched, and an expression without these forms comes out as it went in. Optional entries of list and map literals
(`[?x]`, `{?k: v}`) and `sortBy` have no such spelling and stay errors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from dovetail.core.errors import BadValue, shown

_TOKEN: Final = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<number>0x[0-9a-fA-F]+[uU]?|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?[uU]?)
      | (?P<space>\s+|//[^\n]*)
      | (?P<mark>[=!<>]=|&&|\|\||.)""",
    re.X | re.S,
)
_NEEDED: Final = re.compile(
    r"\?\s*[A-Za-z_]|\[\s*\?|\b(?:all|exists|existsOne|exists_one|transform\w+|opt\w*Map|matches|size)\s*\("
)
_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_TWO_VARIABLES: Final = {
    "all": ("all", "all"),
    "exists": ("exists", "exists"),
    "existsOne": ("exists_one", "exists"),
    "exists_one": ("exists_one", "exists"),
}
_RENAMED: Final = {"matches": "matchesPattern"}
_RENAMED_FOR_STRINGS: Final = {**_RENAMED, "size": "countCharacters"}


@dataclass(slots=True)
class Token:
    kind: str
    text: str
    #: What stands between brackets, where this token is one.
    inner: list[Token] | None = None


def rewritten(source: str, *, of_string: bool = False) -> str:
    """The expression in forms the library parses; `of_string` if self is a string."""
    if _NEEDED.search(source) is None:
        return source
    grouped, _ = _grouped(tokens(source), 0, "")
    writer = _Writer(_RENAMED_FOR_STRINGS if of_string else _RENAMED)
    written = writer.sequence(grouped)
    return written if writer.changed else source


def tokens(source: str) -> list[Token]:
    """The tokens of an expression, spaces and comments among them."""
    return [Token(one.lastgroup or "", one[0]) for one in _TOKEN.finditer(source)]


def _grouped(flat: list[Token], at: int, closer: str) -> tuple[list[Token], int]:
    """Tokens with brackets made into one token each, up to the closer."""
    out: list[Token] = []
    while at < len(flat):
        one = flat[at]
        at += 1
        if one.kind == "mark" and one.text == closer:
            return out, at
        if one.kind == "mark" and one.text in _CLOSERS:
            inner, at = _grouped(flat, at, _CLOSERS[one.text])
            out.append(Token("group", one.text, inner))
        elif one.kind != "space":
            out.append(one)
    if closer:
        raise BadValue(f"a {shown(closer)} is missing")
    return out, at


class _Writer:
    def __init__(self, renamed: Mapping[str, str]) -> None:
        self._renamed = renamed
        self._fresh = 0
        self.changed = False

    def sequence(self, tokens: list[Token]) -> str:
        out: list[str] = []
        at, optional = 0, False
        while at < len(tokens):
            taken, text, optional = self._next(tokens, at, optional)
            out.append(text)
            at += taken
        return " ".join(out)

    def _next(self, tokens: list[Token], at: int, optional: bool) -> tuple[int, str, bool]:
        """How many tokens are written next, as what, and whether the chain they belong to is optional."""
        texts = [one.text for one in tokens[at : at + 4]]
        kinds = [one.kind for one in tokens[at : at + 4]]
        if texts[:2] == [".", "?"] and kinds[2:3] == ["name"]:
            self.changed = True
            return 3, f'.optField("{texts[2]}")', True
        if texts[:1] == ["."] and kinds[1:2] == ["name"]:
            if texts[2:3] == ["("]:
                return 3, self._call(texts[1], tokens[at + 2]), False
            return (2, f'.optField("{texts[1]}")', True) if optional else (2, f".{texts[1]}", False)
        one = tokens[at]
        if one.kind == "group":
            return 1, *self._group(tokens, at, optional)
        calls = one.kind == "name" and texts[1:2] == ["("]
        return 1, self._called(one.text) if calls else one.text, False

    def _called(self, name: str) -> str:
        found = self._renamed.get(name)
        self.changed = self.changed or found is not None
        return found or name

    def _group(self, tokens: list[Token], at: int, optional: bool) -> tuple[str, bool]:
        one = tokens[at]
        inner = one.inner or []
        indexing = one.text == "[" and at > 0 and (tokens[at - 1].kind in ("name", "group", "text"))
        if indexing and inner and inner[0].text == "?":
            self.changed = True
            return f".optIndex({self.sequence(inner[1:])})", True
        if indexing and optional:
            return f".optIndex({self.sequence(inner)})", True
        return f"{one.text}{self.sequence(inner)}{_CLOSERS[one.text]}", False

    def _call(self, name: str, group: Token) -> str:
        arguments = _arguments(group.inner or [])
        plain = [one[0].text if len(one) == 1 and one[0].kind == "name" else "" for one in arguments]
        if name in _TWO_VARIABLES and len(arguments) == 3 and plain[0] and plain[1]:
            self.changed = True
            outer, inner = _TWO_VARIABLES[name]
            e = self._name()
            last = self.sequence(arguments[2])
            return f".entries().{outer}({e}, [{e}[0]].{inner}({plain[0]}, [{e}[1]].{inner}({plain[1]}, {last})))"
        if name.startswith("transform") and len(arguments) in (3, 4):
            return self._transform(name, plain, [self.sequence(one) for one in arguments])
        if name in ("optMap", "optFlatMap") and len(arguments) == 2:
            self.changed = True
            end = "optOne" if name == "optMap" else "optFlat"
            return f".optList().map({plain[0]}, {self.sequence(arguments[1])}).{end}()"
        return f".{self._called(name)}({', '.join(self.sequence(one) for one in arguments)})"

    def _transform(self, name: str, plain: list[str], written: list[str]) -> str:
        self.changed = True
        e = self._name()

        def bound(expression: str) -> str:
            return f"[{e}[0]].map({plain[0]}, [{e}[1]].map({plain[1]}, {expression})[0])[0]"

        chosen = f"{bound(written[2])}, " if len(written) == 4 else ""
        made = bound(written[-1])
        if name == "transformMap":
            return f".entries().map({e}, {chosen}[{e}[0], {made}]).fromEntries()"
        if name == "transformMapEntry":
            return f".entries().map({e}, {chosen}{made}).mergeMaps()"
        return f".entries().map({e}, {chosen}{made})"

    def _name(self) -> str:
        self._fresh += 1
        return f"entry_{self._fresh}_"


def _arguments(tokens: list[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for one in tokens:
        if one.kind == "mark" and one.text == ",":
            parts.append([])
        else:
            parts[-1].append(one)
    return parts if tokens else []
