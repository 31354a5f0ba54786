"""`dovetail completion SHELL`: a script that completes verbs, flags and their choices."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Final, NamedTuple

from dovetail import settings
from dovetail.cli import verbs
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit


class _Flag(NamedTuple):
    names: tuple[str, ...]
    choices: tuple[str, ...]
    takes_value: bool
    help: str


EXAMPLES: Final = (
    ("dovetail completion bash", "for bash: source <(dovetail completion bash)"),
    ("dovetail completion zsh", "for zsh: source <(dovetail completion zsh), after compinit"),
    ("dovetail completion fish", "for fish: dovetail completion fish | source"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(flags: Namespace, console: Console) -> int:
    match flags.shell:
        case "bash":
            console.write(_bash())
        case "zsh":
            console.write(f"#compdef dovetail\nautoload -U +X bashcompinit && bashcompinit\n{_bash()}")
        case _:
            console.write("".join(_fish()))
    return Exit.OK


def _flags_of(verb: verbs.Verb) -> list[_Flag]:
    parser = ArgumentParser(prog="dovetail", add_help=True)
    verbs.module_of(verb).configure(parser)
    settings.add_flags(parser)
    # argparse has no public list of what was added, and has kept this one since it was written.
    return [
        _Flag(
            tuple(action.option_strings),
            tuple(str(one) for one in action.choices or ()),
            action.nargs != 0,
            (action.help or "").replace("%%", "%"),
        )
        for action in parser._actions
    ]


def _first_words() -> list[str]:
    return list(dict.fromkeys(verb.words[0] for verb in verbs.VERBS))


def _second_words(first: str) -> list[str]:
    return [verb.words[1] for verb in verbs.VERBS if len(verb.words) > 1 and verb.words[0] == first]


def _bash() -> str:
    """A function that finds the verb among the words before the cursor, whatever flags stand between."""
    lines = [
        "_dovetail() {",
        '  local word="${COMP_WORDS[$COMP_CWORD]}" before="${COMP_WORDS[$((COMP_CWORD - 1))]}"',
        '  local offered="" first="" second="" at=1',
        '  while [ "$at" -lt "$COMP_CWORD" ]; do',
        '    case "${COMP_WORDS[$at]}" in',
        f"      {'|'.join(sorted(settings.FLAGS_WITH_VALUE))}) at=$((at + 1)) ;;",
        "      -*) ;;",
        '      *) if [ -z "$first" ]; then first="${COMP_WORDS[$at]}"',
        '         elif [ -z "$second" ]; then second="${COMP_WORDS[$at]}"; fi ;;',
        "    esac",
        "    at=$((at + 1))",
        "  done",
        '  case "$first $second" in',
        f'    " ") offered="{" ".join(_first_words())}" ;;',
        *(f'    "{group} ") offered="{" ".join(_second_words(group))}" ;;' for group in verbs.GROUPS),
    ]
    for verb in verbs.VERBS:
        pattern = f'"{" ".join(verb.words)}"' if len(verb.words) > 1 else f'"{verb.words[0]} "*'
        lines += [f"    {pattern})", *_bash_verb(verb), "      ;;"]
    lines += ["  esac", '  COMPREPLY=($(compgen -W "$offered" -- "$word"))', "}"]
    lines.append("complete -o default -F _dovetail dovetail")
    return "\n".join(lines) + "\n"


def _bash_verb(verb: verbs.Verb) -> Iterator[str]:
    found = _flags_of(verb)
    yield '      case "$before" in'
    for flag in found:
        if flag.names and flag.choices:
            yield f'        {"|".join(flag.names)}) offered="{" ".join(flag.choices)}" ;;'
    values = "|".join(name for flag in found if flag.takes_value and not flag.choices for name in flag.names)
    if values:
        yield f"        {values}) return ;;"
    offered = [name for flag in found for name in flag.names]
    offered += [choice for flag in found if not flag.names for choice in flag.choices]
    yield f'        *) offered="{" ".join(offered)}" ;;'
    yield "      esac"


def _fish() -> Iterator[str]:
    yield "complete -c dovetail -f\n"
    for first in _first_words():
        about = verbs.GROUPS.get(first) or next(verb.summary for verb in verbs.VERBS if verb.words[0] == first)
        yield f"complete -c dovetail -n __fish_use_subcommand -a {first} -d {_quoted(about)}\n"
    for verb in verbs.VERBS:
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in verb.words)
        if len(verb.words) > 1:
            group = f"__fish_seen_subcommand_from {verb.words[0]}"
            rest = " ".join(_second_words(verb.words[0]))
            condition = f"{group}; and not __fish_seen_subcommand_from {rest}"
            yield f"complete -c dovetail -n '{condition}' -a {verb.words[1]} -d {_quoted(verb.summary)}\n"
        for flag in _flags_of(verb):
            yield _fish_flag(seen, flag)


def _fish_flag(seen: str, flag: _Flag) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    choices = f" -a {_quoted(' '.join(flag.choices))}" if flag.choices else ""
    if not names and not choices:
        return ""
    value = (" -x" if flag.choices else " -r -F") if flag.names and flag.takes_value else ""
    spaced = f" {names}" if names else ""
    return f"complete -c dovetail -n '{seen}'{spaced}{value}{choices} -d {_quoted(flag.help)}\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
