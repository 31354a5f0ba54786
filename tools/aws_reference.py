"""`python -m tools.aws_reference`: the tables of docs/reference/iam.md and ec2nodeclass.md, made from the code.

What stands between the marks of a page is made; the rest is written by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tools.deploy import reference

from dovetail.api.crds import every
from dovetail.clouds.aws import policy

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "reference"
END: Final = "<!-- end -->\n"


def begin(name: str) -> str:
    return f"<!-- {name}: python -m tools.aws_reference -->\n"


def rights() -> str:
    """What is allowed, to what, and why."""
    scope = policy.Scope("NAME", "REGION", queue="QUEUE", features=frozenset(policy.Feature))
    rows = ["| right | actions | bound to | only if |", "|---|---|---|---|"]
    for one in policy.RIGHTS:
        actions = "<br>".join(f"`{action}`" for action in one.actions)
        needed = "" if one.feature in policy.ALWAYS else f"`{one.feature}`"
        rows.append(f"| `{one.sid}`: {one.why} | {actions} | {_bound(one, scope)} | {needed} |")
    return "\n".join(rows) + "\n"


def _bound(one: policy.Right, scope: policy.Scope) -> str:
    found = [] if one.resources(scope) == ["*"] else [_kinds(one.resources(scope))]
    told = one.condition(scope)
    found += [f"`{key}`" for test in told.values() for key in test]
    return "; ".join(found)


def _kinds(resources: list[str]) -> str:
    return ", ".join(f"`{one.split(':', 5)[5]}`" for one in sorted(resources))


def fields() -> str:
    """Every field of the spec and of the status, as the definition has them."""
    definition = next(one for one in every.DEFINITIONS if one.kind.name == "EC2NodeClass")
    wire: Any = definition.manifest()
    schema = wire["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    rows = ["| field | type | default | allowed | means |", "|---|---|---|---|---|"]
    rows += [reference._row(path, one, required) for path, one, required in reference._fields(schema) if path]
    return "\n".join(rows) + "\n"


PAGES: Final[Mapping[str, Mapping[str, Callable[[], str]]]] = {
    "iam.md": {"rights": rights},
    "ec2nodeclass.md": {"fields": fields},
}


def page(name: str, text: str) -> str:
    """A page with its tables as they should be."""
    for mark, made in PAGES[name].items():
        before, rest = text.split(begin(mark))
        text = f"{before}{begin(mark)}\n{made()}\n{END}{rest.split(END, 1)[1]}"
    return text


def main() -> int:
    for name in PAGES:
        path = FOLDER / name
        path.write_text(page(name, path.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
