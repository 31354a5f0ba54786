"""docs/reference/crds.md: every field of every resource, as the definitions have them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from dovetail.api.crds import every
from dovetail.api.crds.definition import Definition

from . import machines_reference

_HEAD: Final = """\
# Custom resources

Made by `make manifests` from the structs in `src/dovetail/api/crds`; `kubectl explain` shows the same. Install them
with [`dovetail install`](cli.md#install), or take them from `deploy/crds`.

InstanceType is dovetail's own. The others accept and refuse what Karpenter's definitions do (core and kwok 1.15, AWS
1.14), with messages of our own. One thing is wider: each provider closes the list of label keys of its own domain, and
ours close those of kwok and AWS at once, so that one NodePool definition serves every cloud.

Odd on purpose, because the originals are so:

| what | behaves so |
|---|---|
| keys of reserved domains | compared by their end, without the dot: `notkarpenter.sh/x` is refused as well |
| `requirements[].values` | any text is admitted; what no label can have is found when the pool is looked at |
| `taints[].value` | judged by the pattern of a key: empty is refused, `a/b` is admitted |
| `budgets[].schedule` | the pattern is open at its ends: `@dailyfoo` is admitted |
| `NodeOverlay` requirements | cannot name AWS reservations or placement groups |
| `EC2NodeClass` without a spec | is admitted |
| its selector terms | `id` beside other fields is refused only where every term has both |
| its `capacityReservationSelectorTerms` | an empty list is refused; leave the field out |
| its `volumeSize` | `Ti` and `T` alone are admitted; 18, 19, 28, 29 … Ti are refused |

`*` marks a field that must be given.
"""
_SHOWN: Final = (
    ("minimum", "≥ {}"),
    ("maximum", "≤ {}"),
    ("minLength", "{} characters or more"),
    ("maxLength", "{} characters or less"),
    ("minItems", "{} entries or more"),
    ("maxItems", "{} entries or less"),
    ("maxProperties", "{} entries or less"),
)
_LONG: Final = 90
Schema = dict[str, Any]


_CLUSTER_API_HEAD: Final = """\
Stricter than the providers' own definitions:

| what | behaves so |
|---|---|
| `AWSMachine` `spotMarketOptions.maxPrice` | must be a decimal number; the provider means to, and does not |
| `AzureMachine` `spotVMOptions.maxPrice` | must be more than 0, or -1 |
| type and spot fields of a machine | cannot be changed, added or taken away |
| templates | cannot be changed, in a dry run either |

Of dovetail's own: `instanceTerminationAction` and `maxRunDuration` of a GCPMachine, `remediation.backoff` of a
MachineHealthCheck, and `status.interruptible` on all three clouds.

What a block nobody here looks into holds is kept as it is written; its type is `object` below. `*` marks a field that
must be given.
"""


def text() -> str:
    return "\n".join([_HEAD, *(_section(one) for one in every.DEFINITIONS)])


def cluster_api_text() -> str:
    return machines_reference.text("\n".join([_CLUSTER_API_HEAD, *(_section(one) for one in every.CLUSTER_API)]))


def _section(definition: Definition) -> str:
    wire: Any = definition.manifest()
    schema = wire["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    names = wire["spec"]["names"]
    facts = [f"`{definition.kind.api_version}`", wire["spec"]["scope"].lower()]
    facts += [f"short {', '.join(f'`{one}`' for one in names['shortNames'])}"] if "shortNames" in names else []
    lines = [f"## {definition.kind.name}", "", schema["description"], "", f"{', '.join(facts)}.", ""]
    lines.append(fields_table(schema))
    rules = [(path, rule["message"]) for path, one, _ in _fields(schema) for rule in one.get(_RULES, ())]
    if rules:
        lines += ["Rules:", "", *(f"- {f'`{path}`: ' if path else ''}{_plain(message)}" for path, message in rules)]
    return "\n".join(lines).rstrip("\n") + "\n"


def fields_table(schema: Schema) -> str:
    """Every field below a schema."""
    lines = ["| field | type | default | allowed | means |", "|---|---|---|---|---|"]
    lines += [_row(path, one, required) for path, one, required in _fields(schema) if path]
    return "\n".join(lines) + "\n"


_RULES: Final = "x-kubernetes-validations"
_OF_THE_SERVER: Final = ("apiVersion", "kind", "metadata")


def _fields(schema: Schema, path: str = "", required: bool = False) -> Iterator[tuple[str, Schema, bool]]:
    """Every field below a schema, itself included; conditions are everywhere the same and stay closed."""
    yield path, schema, required
    if path.endswith("status.conditions"):
        return
    for name, one in schema.get("properties", {}).items():
        if path or name not in _OF_THE_SERVER:
            yield from _fields(one, f"{path}.{name}" if path else name, name in schema.get("required", ()))
    if isinstance(items := schema.get("items"), dict):
        yield from _inside(items, f"{path}[]")
    if isinstance(values := schema.get("additionalProperties"), dict):
        yield from _inside(values, f"{path}{{}}")


def _inside(schema: Schema, path: str) -> Iterator[tuple[str, Schema, bool]]:
    """Entries are shown for what is in them, or for a limit of their own."""
    if "properties" in schema:
        yield from (one for one in _fields(schema, path) if one[0] != path or _RULES in schema)
    elif (_allowed(schema) and "x-kubernetes-int-or-string" not in schema) or _RULES in schema:
        yield from _fields(schema, path)


def _row(path: str, schema: Schema, required: bool) -> str:
    default = f"`{json.dumps(schema['default'])}`" if "default" in schema else ""
    cells = (
        f"`{path}`{'*' if required else ''}",
        _type(schema),
        default,
        _allowed(schema),
        schema.get("description", ""),
    )
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _type(schema: Schema) -> str:
    if "x-kubernetes-int-or-string" in schema:
        return "integer or string" if "minimum" in schema else "quantity"
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    if isinstance(values := schema.get("additionalProperties"), dict):
        return f"map of {_type(values)}"
    return "time" if schema.get("format") == "date-time" else str(schema["type"])


def _allowed(schema: Schema) -> str:
    found = [form.format(schema[name]) for name, form in _SHOWN if name in schema]
    if "enum" in schema:
        found.insert(0, ", ".join(f"`{one}`" for one in schema["enum"]))
    pattern = schema.get("pattern", "")
    if pattern and "x-kubernetes-int-or-string" not in schema:
        found.append(f"`{pattern}`" if len(pattern) <= _LONG else "see its pattern")
    return "; ".join(found)


def _plain(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
