"""One custom resource: its names, its columns, its subresources, and the struct that describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from dovetail.api.crds import openapi
from dovetail.api.crds.schema import Json, Rule, Wire
from dovetail.api.kinds import CRDS, Kind


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`. Priority 1 shows with `-o wide` only."""

    name: str
    path: str
    type: Literal["string", "integer", "date"] = "string"
    priority: int = 0

    @property
    def printed(self) -> dict[str, Json]:
        found: dict[str, Json] = {"name": self.name, "type": self.type, "jsonPath": self.path}
        if self.priority:
            found["priority"] = self.priority
        return found


def condition_column(condition: str, priority: int = 0) -> Column:
    return Column(condition, f'.status.conditions[?(@.type=="{condition}")].status', priority=priority)


READY: Final = condition_column("Ready")
AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """Where the `scale` subresource reads and writes."""

    wanted: str
    present: str
    selector: str = ""

    @property
    def subresource(self) -> dict[str, Json]:
        found: dict[str, Json] = {"specReplicasPath": self.wanted, "statusReplicasPath": self.present}
        if self.selector:
            found["labelSelectorPath"] = self.selector
        return found


_PRESERVED: Final = ("apiVersion", "kind", "metadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A kind, and everything its CustomResourceDefinition says."""

    kind: Kind
    struct: type[Wire]
    categories: tuple[str, ...] = ("karpenter",)
    short_names: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    #: Labels of the definition itself, by which others learn what it can be used for.
    labels: tuple[tuple[str, str], ...] = ()
    #: Rules over the whole object; of its metadata they see the name only.
    rules: tuple[Rule, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.kind.plural}.{self.kind.group}"

    def manifest(self) -> dict[str, Json]:
        """The CustomResourceDefinition object."""
        return {
            "apiVersion": CRDS.api_version,
            "kind": CRDS.name,
            "metadata": self._metadata(),
            "spec": {
                "group": self.kind.group,
                "names": self._names(),
                "scope": "Namespaced" if self.kind.namespaced else "Cluster",
                "versions": [self._version()],
            },
        }

    def _metadata(self) -> dict[str, Json]:
        labels: dict[str, Json] = dict(self.labels)
        return {"name": self.name, **({"labels": labels} if labels else {})}

    def _names(self) -> dict[str, Json]:
        names: dict[str, Json] = {
            "categories": list(self.categories),
            "kind": self.kind.name,
            "listKind": f"{self.kind.name}List",
            "plural": self.kind.plural,
            "shortNames": list(self.short_names),
            "singular": self.kind.name.lower(),
        }
        return {name: value for name, value in names.items() if value}

    def _version(self) -> dict[str, Json]:
        subresources: dict[str, Json] = {"status": {}}
        if self.scale is not None:
            subresources["scale"] = self.scale.subresource
        version: dict[str, Json] = {
            "name": self.kind.version,
            "additionalPrinterColumns": [column.printed for column in self.columns],
            "schema": {"openAPIV3Schema": self._schema()},
            "served": True,
            "storage": True,
            "subresources": subresources,
        }
        return {name: value for name, value in version.items() if value != []}

    def _schema(self) -> dict[str, Json]:
        """The struct's schema with the three fields every object has left to the server."""
        schema = openapi.schema_of(self.struct)
        properties = schema["properties"]
        assert isinstance(properties, dict)
        properties |= {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
        schema["properties"] = dict(sorted(properties.items()))
        required = schema.get("required", [])
        assert isinstance(required, list)
        left = [name for name in required if name not in _PRESERVED]
        schema.pop("required", None)
        if left:
            schema["required"] = left
        if self.rules:
            schema["x-kubernetes-validations"] = [rule.schema for rule in self.rules]
        return schema
