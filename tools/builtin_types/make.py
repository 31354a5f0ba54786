"""Makes `src/dovetail/apiserver/builtin_types.json.gz` of the Go modules that define Kubernetes' API.

    go mod download k8s.io/api@v0.36.3 k8s.io/apimachinery@v0.36.3
    python -m tools.builtin_types.make $(go env GOMODCACHE) v0.36.3

What is taken are facts about the wire: each type's fields, their names in JSON, numbers in protobuf and types, and how
lists and maps are merged. No text of the modules goes into the file.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

OUT: Final = Path("src/dovetail/apiserver/builtin_types.json.gz")
GROUPS: Final = (
    "admissionregistration",
    "apps",
    "authentication",
    "authorization",
    "autoscaling",
    "batch",
    "coordination",
    "core",
    "discovery",
    "events",
    "flowcontrol",
    "networking",
    "node",
    "policy",
    "rbac",
    "scheduling",
    "storage",
)
#: Go types that are one value on the wire.
PLAIN: Final = {
    "string": "string",
    "bool": "bool",
    "int": "int",
    "int32": "int",
    "int64": "int",
    "uint32": "int",
    "uint64": "int",
    "float64": "float",
    "[]byte": "bytes",
    "metav1.Time": "time",
    "Time": "time",
    "metav1.MicroTime": "microtime",
    "MicroTime": "microtime",
    "metav1.Duration": "duration",
    "resource.Quantity": "quantity",
    "intstr.IntOrString": "intstr",
    "types.UID": "string",
    "runtime.RawExtension": "any",
    "runtime.Object": "any",
    "FieldsV1": "any",
    "JSON": "any",
    "JSONSchemaProps": "any",
}
_IMPORT: Final = re.compile(r'^\t(\w+)? ?"k8s.io/(?:api|apimachinery/pkg/apis)/(\w+)/v1"')
_TYPE: Final = re.compile(r"^type (\w+) (struct \{|[\w.\[\]]+)")
_FIELD: Final = re.compile(r"^\t(?:(\w+)\s+)?([*\[\]\w.]+)\s+`(.*)`")
_TAG: Final = re.compile(r'(\w+):"([^"]*)"')
_MARK: Final = re.compile(r"^\s*// \+(listType|listMapKey|structType|mapType|default)=(.*)")


@dataclass
class Package:
    name: str
    structs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    whole: set[str] = field(default_factory=set)
    #: What other packages are called here.
    imports: dict[str, str] = field(default_factory=dict)


def read(name: str, files: list[Path]) -> Package:
    found = Package(name)
    for path in files:
        marks: dict[str, list[str]] = {}
        inside: list[dict[str, Any]] | None = None
        for line in path.read_text().splitlines():
            if imported := _IMPORT.match(line):
                found.imports[imported[1] or "v1"] = imported[2].rpartition("/")[2]
            if mark := _MARK.match(line):
                marks.setdefault(mark[1], []).append(mark[2].strip())
            elif inside is None and not line.endswith("{}") and (start := _TYPE.match(line)):
                if start[2].startswith("struct"):
                    inside = found.structs[start[1]] = []
                    if "atomic" in marks.get("structType", ()):
                        found.whole.add(start[1])
                else:
                    found.aliases[start[1]] = start[2]
                marks = {}
            elif inside is not None and line.startswith("}"):
                inside, marks = None, {}
            elif inside is not None and (one := _FIELD.match(line)):
                inside.append({"go": one[2], "tags": dict(_TAG.findall(one[3])), "marks": marks})
                marks = {}
            elif not line.strip().startswith("//"):
                marks = {}
    return found


class Types:
    """Resolves Go types across packages."""

    def __init__(self, packages: dict[str, Package]) -> None:
        self.packages = packages

    def resolve(self, go: str, package: Package) -> str:
        go = go.removeprefix("*")
        if go in PLAIN:
            return PLAIN[go]
        if go.startswith("[]"):
            return f"[]{self.resolve(go[2:], package)}"
        if go.startswith("map["):
            return f"{{}}{self.resolve(go.partition(']')[2], package)}"
        prefix, dot, name = go.rpartition(".")
        home = package.imports.get(prefix, prefix) if dot else package.name
        other = self.packages.get(home)
        if other is None:
            return "any"
        if name in other.aliases:
            target = other.aliases[name]
            # A named list is a message of its own in protobuf, with the items as field 1.
            found = self.resolve(target, other)
            return f"%{found}" if target.startswith("[]") else found
        return f"@{home}.{name}" if name in other.structs else "any"

    def fields(self, package: Package, name: str) -> list[list[Any]]:
        found = (self._field(package, one) for one in package.structs[name])
        return [one for one in found if one]

    def _field(self, package: Package, one: dict[str, Any]) -> list[Any] | None:
        json_name, *flags = one["tags"].get("json", "-").split(",")
        if json_name == "-":
            return None
        number = one["tags"].get("protobuf", ",0").split(",")[1]
        more: dict[str, Any] = {}
        if "inline" in flags:
            if "TypeMeta" in one["go"]:
                return None
            more["inline"] = 1
        kind = self.resolve(one["go"], package)
        # Go leaves out what is empty, save structs.
        if "omitempty" in flags and not one["go"].startswith("*") and not kind.startswith("@"):
            more["zero"] = 1
        if one["go"].startswith("*") and kind.startswith("@"):
            more["pointer"] = 1
        marks = one["marks"]
        if "default" in marks and kind == "string":
            more["default"] = marks["default"][0].strip('"')
        if "listType" in marks:
            more["list"] = marks["listType"][0]
        if "listMapKey" in marks:
            more["keys"] = marks["listMapKey"]
        if "atomic" in (*marks.get("mapType", ()), *marks.get("structType", ())):
            more["whole"] = 1
        if "merge" in one["tags"].get("patchStrategy", "").split(","):
            more["merge"] = one["tags"].get("patchMergeKey", "")
        return [json_name, int(number), kind, *([more] if more else [])]


def main(cache: str, version: str) -> None:
    root = Path(cache) / "k8s.io"
    packages = {"meta": read("meta", [root / f"apimachinery@{version}/pkg/apis/meta/v1/types.go"])}
    for group in GROUPS:
        packages[group] = read(group, [root / f"api@{version}/{group}/v1/types.go"])
    packages["autoscaling2"] = read("autoscaling2", [root / f"api@{version}/autoscaling/v2/types.go"])
    extensions = root / f"apiextensions-apiserver@{version}/pkg/apis/apiextensions/v1/types.go"
    packages["apiextensions"] = read("apiextensions", [extensions])
    types = Types(packages)
    table: dict[str, Any] = {}
    whole = []
    for package in packages.values():
        for name in package.structs:
            table[f"{package.name}.{name}"] = types.fields(package, name)
        whole += [f"{package.name}.{name}" for name in package.whole]
    needed = reachable(table)
    document = {
        "source": f"k8s.io/api, k8s.io/apimachinery, k8s.io/apiextensions-apiserver {version} (Apache-2.0)",
        "whole": sorted(name for name in whole if name in needed),
        "types": {name: table[name] for name in sorted(needed)},
    }
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    OUT.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def reachable(table: dict[str, Any]) -> set[str]:
    """Types of objects, and all they are made of; lists and options of requests are left out."""
    todo = [
        name
        for name, fields in table.items()
        if any(one[0] == "metadata" and one[2] == "@meta.ObjectMeta" for one in fields)
    ]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in found or name not in table:
            continue
        found.add(name)
        todo += [one[2].rpartition("@")[2] for one in table[name] if "@" in one[2]]
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
