"""Go's regular expressions (RE2) as Python's.

Both read the common subset alike, and then differ where it hurts: Go's `$` does not match before a final newline, its
`\\d`, `\\w` and `\\s` know ASCII only, `[[:alpha:]]`, `\\pL`, `\\z` and `\\Q…\\E` are Go's alone, `{,3}` is plain
text there, and flags may start in the middle. The translation walks the pattern once and writes Python's spelling of
what Go would do. What Go refuses (looking ahead or behind, back-references, a repeat of a repeat) is refused here
too.

Python's engine goes back and tries again where Go's does not, so a hostile pattern can be slow here.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Final

from dovetail.core.errors import BadValue, shown

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_PERL: Final = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t\n\f\r "}
_SAME: Final = frozenset("abfnrtvAB")
_REPEAT: Final = re.compile(r"[*+?]|\{[0-9]+(,[0-9]*)?\}")
_FLAGS: Final = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED: Final = re.compile(r"\(\?P?<([A-Za-z_][A-Za-z_0-9]*)>")
_POSIX_CLASS: Final = re.compile(r"\[:(\^?)([a-z]+):\]")
_PROPERTY: Final = re.compile(r"\\([pP])(?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))")
_HEX: Final = re.compile(r"\\x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")
_SINGLE: Final = re.compile(r"[^\\]|\\[a-zA-Z]|\\U[0-9a-f]{8}", re.S)
_OCTAL: Final = re.compile(r"\\(0[0-7]{0,2}|[1-7][0-7]{2})")


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str]:
    """Python's form of a Go pattern; use `search`, for Go's matching is never anchored. `BadValue` if Go has none."""
    translated = _Translation(pattern).done()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError, RecursionError) as problem:
        raise BadValue(f"{shown(pattern)} is not a regular expression: {problem}") from None


class _Translation:
    """One walk over one pattern. `open_flags` holds, per open group, the flags that began inside it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        self.open_flags: list[list[str]] = [[]]
        self.multiline = [False]
        self.repeatable = False

    def done(self) -> str:
        while self.at < len(self.pattern):
            self._step(self.pattern[self.at])
        if len(self.open_flags) != 1:
            raise self._bad("a group is not closed")
        self._close_flags()
        return "".join(self.out)

    def _step(self, one: str) -> None:
        match one:
            case "(":
                self._group()
            case ")":
                self._close_group()
            case "[":
                self._put(self._bracket())
            case "\\":
                self._escape()
            case "|":
                self._alternative()
            case "$":
                self._put("$" if self.multiline[-1] else r"\Z", 1)
            case "^" | ".":
                self._put(one, 1)
            case "*" | "+" | "?" | "{":
                self._repeat(one)
            case _:
                self._put(re.escape(one), 1)

    def _put(self, text: str, taken: int = 0) -> None:
        self.out.append(text)
        self.at += taken
        self.repeatable = True

    def _repeat(self, one: str) -> None:
        found = _REPEAT.match(self.pattern, self.at)
        if found is None:
            self._put(re.escape(one), 1)
            return
        if not self.repeatable:
            raise self._bad(f"nothing for {found[0]} to repeat")
        self.at = found.end()
        lazy = self.pattern.startswith("?", self.at)
        self.at += lazy
        self.out.append(found[0] + ("?" if lazy else ""))
        self.repeatable = False

    def _group(self) -> None:
        flags, named = _FLAGS.match(self.pattern, self.at), _NAMED.match(self.pattern, self.at)
        if named:
            self._open(f"(?P<{named[1]}>", named.end())
        elif flags:
            self._flags(flags)
        elif self.pattern.startswith("(?", self.at):
            raise self._bad("groups that look ahead or behind are not part of Go's expressions")
        else:
            self._open("(", self.at + 1)

    def _open(self, text: str, end: int) -> None:
        self.out.append(text)
        self.at = end
        self.open_flags.append([])
        self.multiline.append(self.multiline[-1])
        self.repeatable = False

    def _flags(self, found: re.Match[str]) -> None:
        on, off = found[1], found[2] or ""
        if "U" in on + off:
            raise self._bad("the flag U has no counterpart here")
        text = f"(?{on}{'-' + off if off else ''}:"
        many = ("m" in on) or (self.multiline[-1] and "m" not in off)
        if found[3] == ":":
            self._open(text, found.end())
        else:
            self.out.append(text)
            self.open_flags[-1].append(text)
            self.at = found.end()
            self.repeatable = False
        self.multiline[-1] = many

    def _close_flags(self) -> None:
        self.out.append(")" * len(self.open_flags[-1]))

    def _close_group(self) -> None:
        if len(self.open_flags) == 1:
            raise self._bad("a group is closed that was never opened")
        self._close_flags()
        self.open_flags.pop()
        self.multiline.pop()
        self._put(")", 1)

    def _alternative(self) -> None:
        """Flags go on past a bar, and Python's grouped spelling of them does not."""
        self._close_flags()
        self.out.append("|" + "".join(self.open_flags[-1]))
        self.at += 1
        self.repeatable = False

    def _escape(self) -> None:
        if self.pattern.startswith(r"\Q", self.at):
            end = self.pattern.find(r"\E", self.at)
            stop = len(self.pattern) if end < 0 else end
            self._put(re.escape(self.pattern[self.at + 2 : stop]))
            self.at = stop if end < 0 else stop + 2
            return
        following = self.pattern[self.at + 1 : self.at + 2]
        if following == "z":
            self._put(r"\Z", 2)
        elif following and following in "bBA":
            self._put("\\" + following, 2)
        else:
            inside, negated = self._set_of()
            self._put(f"[{'^' if negated else ''}{inside}]" if len(inside) != 1 else re.escape(inside))

    def _set_of(self) -> tuple[str, bool]:
        """What one escape stands for, written for the inside of a bracket, and whether it means everything else."""
        pattern, at = self.pattern, self.at
        following = pattern[at + 1 : at + 2]
        if (found := _PROPERTY.match(pattern, at)) is not None:
            self.at = found.end()
            return _property(found[3] or found[4]), (found[1] == "P") != bool(found[2])
        if (found := _HEX.match(pattern, at)) is not None:
            self.at = found.end()
            return _literal(chr(int(found[1] or found[2], 16))), False
        if following != "0" and following.isdigit() and _OCTAL.match(pattern, at) is None:
            raise self._bad("back-references are not part of Go's expressions")
        if (found := _OCTAL.match(pattern, at)) is not None:
            self.at = found.end()
            return _literal(chr(int(found[1], 8))), False
        self.at += 2
        if following.lower() in _PERL and following:
            return _PERL[following.lower()], following.isupper()
        if following in _SAME and following:
            return "\\" + following, False
        if not following or (following.isascii() and following.isalnum()):
            raise self._bad(f"\\{following} is not an escape")
        return _literal(following), False

    def _bracket(self) -> str:
        """A class, item by item: Python warns of, or misreads, brackets, dashes and bars Go takes as they stand."""
        self.at += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        parts: list[str] = []
        first = True
        while first or not self.pattern.startswith("]", self.at):
            if self.at >= len(self.pattern):
                raise self._bad("a [ is not closed")
            parts.append(self._item())
            first = False
        self.at += 1
        return f"[{'^' if negated else ''}{''.join(parts)}]"

    def _item(self) -> str:
        posix = _POSIX_CLASS.match(self.pattern, self.at)
        if posix:
            if posix[2] not in _POSIX:
                raise self._bad(f"{posix[0]} is not a class")
            self.at = posix.end()
            return _complement(_POSIX[posix[2]]) if posix[1] else _POSIX[posix[2]]
        low = self._one()
        ranged = self.pattern.startswith("-", self.at) and not self.pattern.startswith("-]", self.at)
        if not ranged or not _SINGLE.fullmatch(low):
            return low
        self.at += 1
        return f"{low}-{self._one()}"

    def _one(self) -> str:
        one = self.pattern[self.at : self.at + 1]
        if one != "\\":
            self.at += 1
            return _literal(one)
        inside, negated = self._set_of()
        return _complement(inside) if negated else inside

    def _bad(self, why: str) -> BadValue:
        return BadValue(f"{shown(self.pattern)} is not a regular expression: {why}")


def _literal(one: str) -> str:
    """One character, for the inside of a bracket."""
    return one if one.isalnum() or one in "_ ,;:/@=" else f"\\U{ord(one):08x}"


@lru_cache(maxsize=64)
def _complement(inside: str) -> str:
    """Everything outside a set, as ranges."""
    runs = re.finditer(f"[^{inside}]+", _every_character())
    return "".join(_range(ord(run[0][0]), ord(run[0][-1])) for run in runs)


@lru_cache(maxsize=1)
def _every_character() -> str:
    return "".join(map(chr, range(sys.maxunicode + 1)))


@lru_cache(maxsize=64)
def _property(name: str) -> str:
    """A Unicode category as ranges; scripts such as Greek are not known to Python's library."""
    found = [runs for category, runs in _categories().items() if category.startswith(name)]
    if not found:
        raise BadValue(f"\\p{{{name}}} is not a Unicode category known here")
    return "".join(found)


@lru_cache(maxsize=1)
def _categories() -> dict[str, str]:
    """Each category's characters, as ranges."""
    found: dict[str, list[str]] = {}
    for category, run in groupby(range(sys.maxunicode + 1), key=lambda code: unicodedata.category(chr(code))):
        codes = list(run)
        found.setdefault(category, []).append(_range(codes[0], codes[-1]))
    return {category: "".join(runs) for category, runs in found.items()}


def _range(first: int, last: int) -> str:
    return f"\\U{first:08x}-\\U{last:08x}"
