"""argparse with manners: an error is one line on stderr that says what to do next, and help ends with examples."""

from __future__ import annotations

import sys
from argparse import Action, ArgumentParser, HelpFormatter
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from dovetail.cli.exits import Exit

#: A command as somebody would type it, and what it does.
Example = tuple[str, str]
_HEAD: Final = "examples:"
_COMMAND, _ABOUT = "  ", "      "
_NARROWEST: Final = 20


def epilog(examples: Iterable[Example], notes: str = "") -> str:
    """What stands below the flags: examples, each command on a line of its own, and what else is worth saying."""
    lines = [f"{_COMMAND}{command}\n{_ABOUT}{about}" for command, about in examples]
    return "\n".join([_HEAD, *lines]) + (f"\n\n{notes}" if notes else "")


class Help(HelpFormatter):
    """Fills paragraphs to the terminal's width and leaves commands alone, so that they can be copied whole."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(self._paragraph(one, max(width, _NARROWEST), indent) for one in text.split("\n\n"))

    def _paragraph(self, text: str, width: int, indent: str) -> str:
        if not text.startswith(_HEAD):
            return _filled(text, width, indent)
        return "\n".join(_example_line(line, width) for line in text.splitlines())


def _example_line(line: str, width: int) -> str:
    if not line.startswith(_ABOUT):
        return line
    return _filled(line, width, _ABOUT)


def _filled(text: str, width: int, indent: str) -> str:
    import textwrap  # for who asks for help, as argparse itself does

    return textwrap.fill(" ".join(text.split()), width, initial_indent=indent, subsequent_indent=indent)


class Parser(ArgumentParser):
    """Refuses what it does not know itself, since it alone knows what was nearly right."""

    def __init__(self, **how: Any) -> None:
        defaults: dict[str, Any] = {"allow_abbrev": False, "formatter_class": Help}
        super().__init__(**defaults | how)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown[0]))
        return found, unknown

    def _unknown(self, word: str) -> str:
        shown = word[:80]
        if word.startswith("-") and word != "-":
            near = _nearest(word.partition("=")[0], self._option_string_actions)
            return f"there is no flag {shown.partition('=')[0]}{near}"
        files = self._option_string_actions.get("--file")
        hint = "; each file needs its own -f" if files is not None and files.nargs is None else ""
        return f"{shown!r} is one word too many{hint}"

    def _check_value(self, action: Action, value: Any) -> None:
        """A verb that does not exist, or a choice there is not."""
        if action.choices is not None and value not in action.choices:
            known = [str(one) for one in action.choices]
            what = "verb" if action.dest == "==SUPPRESS==" else f"{'/'.join(action.option_strings) or action.dest}:"
            self.error(f"{what} {str(value)[:80]!r} is none of {', '.join(known)}{_nearest(str(value), known)}")

    def error(self, message: str) -> NoReturn:
        joined = " Run" if message.endswith("?") else "; run"
        self._print_message(f"error: {message}{joined}: {self.prog} --help\n", sys.stderr)
        sys.exit(Exit.BAD_INPUT)


def _nearest(word: str, known: Iterable[str]) -> str:
    """The word somebody meant, as a question; nothing if there is none near."""
    from difflib import get_close_matches  # only who mistyped waits for it

    found = get_close_matches(word, list(known), 1, 0.6)
    return f"; did you mean {found[0]}?" if found else ""
