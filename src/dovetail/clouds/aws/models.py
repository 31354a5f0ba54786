"""AWS's own descriptions of its services, cut to the calls this program makes.

EC2's describes more than seven hundred calls. Read whole it is a hundred thousand objects that Python's collector looks
through again and again, and reading it holds up every thread for a tenth of a second. So the file is split into its
parts without reading them, and read is only what our calls (`calls.EVERY`) ask and answer with. Services that the SDK
itself uses to find credentials are left as they are.

Of the longest answers only those fields are described that somebody here reads: the SDK passes over the others, which
is half of its work.

The SDK's loader takes `Files` in the place of its own reader of files; nothing here imports the SDK.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import inspect

from dovetail.clouds.aws import calls
from dovetail.clouds.aws.wire import TypeAnswer

_ENDINGS: Final = (".json", ".json.gz")
_MODEL: Final = "service-2"
#: The SDK calls this of its own accord, to have a role.
_WHOLE: Final = frozenset({"sts"})
#: Shapes of which there are thousands in an answer, and what is read of each: `wire`, `types_live`, `spot_history`.
_READ: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "InstanceTypeOffering": frozenset({"InstanceType", "Location"}),
        "SpotPrice": frozenset({"InstanceType", "AvailabilityZone", "SpotPrice", "Timestamp"}),
    }
)
_TYPE: Final = "InstanceTypeInfo"
_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Files:
    """`botocore.loaders.JSONFileLoader`, in its two questions. Paths come without their ending."""

    def exists(self, file_path: str) -> bool:
        return any(Path(file_path + ending).is_file() for ending in _ENDINGS)

    def load_file(self, file_path: str) -> Any:
        """What a file says, None where there is none. Raises ValueError for one that is no JSON."""
        found = next((one for ending in _ENDINGS if (one := Path(file_path + ending)).is_file()), None)
        if found is None:
            return None
        text = gzip.decompress(found.read_bytes()) if found.suffix == ".gz" else found.read_bytes()
        wanted = _calls_of(Path(file_path))
        try:
            return cut(text, wanted) if wanted else msgspec.json.decode(text)
        except msgspec.MsgspecError as wrong:
            raise ValueError(f"{found} cannot be read: {wrong}") from None


def _calls_of(path: Path) -> frozenset[str]:
    """The calls we make of the service that a file describes: its path is …/service/version/service-2."""
    if path.name != _MODEL:
        return frozenset()
    service = path.parent.parent.name
    return frozenset() if service in _WHOLE else frozenset(one.name for one in calls.EVERY if one.service == service)


def cut(text: bytes, wanted: frozenset[str]) -> dict[str, Any]:
    """A description with the wanted calls only, and the shapes they are made of."""
    parts = _PARTS.decode(text)
    operations = {name: raw for name, raw in _split(parts, "operations").items() if name in wanted}
    read: dict[str, Any] = {name: msgspec.json.decode(raw) for name, raw in operations.items()}
    rest = {name: msgspec.json.decode(raw) for name, raw in parts.items() if name not in ("operations", "shapes")}
    return {**rest, "operations": read, "shapes": _reached(read, _narrowed(_split(parts, "shapes")))}


def _split(parts: dict[str, msgspec.Raw], name: str) -> dict[str, msgspec.Raw]:
    found = parts.get(name)
    return _PARTS.decode(found) if found is not None else {}


def _narrowed(shapes: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
    """Shapes with only what is read of them."""
    read = dict(_READ)
    if _TYPE in shapes:
        _read_by(inspect.type_info(TypeAnswer), _TYPE, shapes, read)
    found = dict(shapes)
    for name, members in read.items():
        if name in shapes:
            shape = msgspec.json.decode(shapes[name])
            shape["members"] = {key: one for key, one in shape.get("members", {}).items() if key in members}
            found[name] = msgspec.Raw(msgspec.json.encode(shape))
    return found


def _read_by(kind: inspect.Type, name: str, shapes: dict[str, msgspec.Raw], read: dict[str, frozenset[str]]) -> None:
    """What a struct reads of a shape, and those within it of the shapes within that."""
    match kind:
        case inspect.UnionType():
            for one in kind.types:
                _read_by(one, name, shapes, read)
        case inspect.ListType() | inspect.VarTupleType():
            _read_by(kind.item_type, msgspec.json.decode(shapes[name])["member"]["shape"], shapes, read)
        case inspect.StructType():
            members = msgspec.json.decode(shapes[name])["members"]
            fields = {one.encode_name: one.type for one in kind.fields if one.encode_name in members}
            read[name] = read.get(name, frozenset()) | fields.keys()
            for key, inner in fields.items():
                _read_by(inner, members[key]["shape"], shapes, read)


def _reached(start: object, shapes: dict[str, msgspec.Raw]) -> dict[str, Any]:
    """The shapes that are named from `start` on, and from one another."""
    found: dict[str, Any] = {}
    open_names = set(_named(start))
    while open_names:
        name = open_names.pop()
        if name not in found and name in shapes:
            found[name] = msgspec.json.decode(shapes[name])
            open_names.update(_named(found[name]))
    return found


def _named(value: object) -> Iterator[str]:
    """Every shape that something refers to, as `{"shape": name}`."""
    if isinstance(value, dict):
        name = value.get("shape")
        if isinstance(name, str):
            yield name
        for one in value.values():
            yield from _named(one)
    elif isinstance(value, list):
        for one in value:
            yield from _named(one)
