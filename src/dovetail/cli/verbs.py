"""The verbs, as a table. A verb's module is imported when it is called, never to print somebody else's help.

A verb module has two functions: `configure(parser)`, which adds its flags, and `run(flags, console)`, which does the
work and returns an exit code; and `EXAMPLES`, which its help ends with, and perhaps `NOTES`, which come after them.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, cast

from dovetail import settings
from dovetail.cli.parsing import Example, Parser, epilog
from dovetail.collector import RESTING

if TYPE_CHECKING:
    from dovetail.cli.console import Console


class Verb(NamedTuple):
    words: tuple[str, ...]
    module: str
    summary: str


class VerbModule(Protocol):
    EXAMPLES: tuple[Example, ...]

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, flags: argparse.Namespace, console: Console) -> int: ...


GROUPS: Final = {
    "aws": "what only AWS has",
    "catalog": "what every cloud sells, at what price",
    "explain": "why a number, a pod or a node is what it is",
    "windows": "when nodes may be taken away",
}
VERBS: Final = (
    Verb(("plan",), "plan", "the nodes it would buy for your pods, and what waits and why"),
    Verb(("consolidate",), "consolidate", "the nodes it would give up now, what that saves, and why the others stay"),
    Verb(("lint",), "lint", "what in your manifests will not do what you meant"),
    Verb(("catalog", "list"), "catalog_list", "list instance types with room and prices"),
    Verb(("catalog", "show"), "catalog_show", "everything about one type"),
    Verb(("catalog", "diff"), "catalog_diff", "compare two catalogues"),
    Verb(("catalog", "import"), "catalog_import", "keep your own prices, discounts and commitments"),
    Verb(("catalog", "export"), "catalog_export", "write a catalogue to a file"),
    Verb(("catalog", "refresh"), "catalog_refresh", "ask a cloud what it sells now, and keep it as a file"),
    Verb(("explain", "type"), "explain_type", "each term of a type's allocatable, and each price"),
    Verb(("explain", "pod"), "explain_pod", "why a pod waits, or where it goes and why there"),
    Verb(("explain", "node"), "explain_node", "what is on a node, what it costs, and why it is still here"),
    Verb(("windows", "preview"), "windows_preview", "when each pool lets nodes go, and for which reason, drawn"),
    Verb(("dump",), "dump", "a live cluster as one file that every command reads back"),
    Verb(("run",), "run", "the controller: buy nodes for pods that wait, on a live cluster"),
    Verb(("machines",), "machines", "Cluster API machines of one cloud: buy, watch and remove their instances"),
    Verb(("handler",), "handler", "on a node the cloud may take away: see the notice, drain in time"),
    Verb(("apiserver",), "apiserver", "an embedded Kubernetes API server to try things on"),
    Verb(("install",), "install", "what a cluster needs for it: definitions, roles, the deployment"),
    Verb(("aws", "policy"), "aws_policy", "the IAM policy the controller needs, for the features in use"),
    Verb(("demo",), "demo", "the main job in one terminal: the real controller on simulated machines"),
    Verb(("version",), "version", "print the version"),
    Verb(("completion",), "completion", "print a completion script for your shell"),
)
_EXAMPLES: Final = (
    ("dovetail plan -f shop.yaml", "the nodes it would buy for these manifests; no cluster is needed"),
    ("dovetail catalog list --cloud aws --sort price --limit 5", "the cheapest five types of AWS"),
    ("dovetail run --cloud kwok --dry-run", "the controller on kubectl's current cluster, changing nothing"),
)
_EXITS: Final = (
    "exit codes: 0 done, 1 failed (or different, with --exit-code; or findings of lint), 2 bad input, "
    "3 pods have to wait, 130 interrupted"
)


def chosen(arguments: Sequence[str]) -> Verb | None:
    """The verb the words before the first flag name, if they name one."""
    words: list[str] = []
    before = ""
    for word in arguments:
        if not word.startswith("-") and before not in settings.FLAGS_WITH_VALUE:
            words.append(word)
        before = word
    return next((verb for verb in VERBS if tuple(words[: len(verb.words)]) == verb.words), None)


def module_of(verb: Verb) -> VerbModule:
    with RESTING:  # what is loaded stays
        return cast(VerbModule, import_module(f"dovetail.cli.{verb.module}"))


def parser_for(verb: Verb | None) -> argparse.ArgumentParser:
    """All verbs by name and summary; the flags of one."""
    root = Parser(
        prog="dovetail",
        description="A Kubernetes node provisioner that knows what every cloud sells, and says why it buys.",
        epilog=epilog(_EXAMPLES, _EXITS),
    )
    root.add_argument("--version", action="store_true", help="print the version")
    settings.add_flags(root)
    verbs = root.add_subparsers(title="verbs", metavar="VERB", prog="dovetail")
    groups = {}
    for name, summary in GROUPS.items():
        group = verbs.add_parser(name, help=summary, description=f"{summary[:1].upper()}{summary[1:]}.")
        group.set_defaults(group=group)
        group.epilog = epilog(_group_examples(name))
        groups[name] = group.add_subparsers(title="verbs", metavar="VERB", prog=f"dovetail {name}")
    for one in VERBS:
        under = groups[one.words[0]] if len(one.words) > 1 else verbs
        leaf = under.add_parser(one.words[-1], help=one.summary)
        leaf.description = f"{one.summary[:1].upper()}{one.summary[1:]}."
        if one == verb:
            module = module_of(one)
            module.configure(leaf)
            leaf.epilog = epilog(module.EXAMPLES, getattr(module, "NOTES", ""))
            settings.add_flags(leaf)
    return root


def _group_examples(group: str) -> list[Example]:
    of_group = (one for one in VERBS if one.words[0] == group)
    return [(f"dovetail {' '.join(one.words)} --help", f"{one.summary}: its flags and examples") for one in of_group]
