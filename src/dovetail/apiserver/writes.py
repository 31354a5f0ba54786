"""What can be asked of a write, a deletion and a patch, beside the object itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final


class FieldValidation(Enum):
    """What becomes of fields nobody defined."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


def _say_nothing(warning: str) -> None:
    """Where nobody listens for warnings."""


@dataclass(frozen=True, slots=True)
class Write:
    """How a change is made, and in whose name."""

    manager: str = "dovetail"
    dry_run: bool = False
    validation: FieldValidation = FieldValidation.IGNORE
    warn: Callable[[str], None] = _say_nothing


PLAIN: Final = Write()


class Propagation(Enum):
    """What becomes of the objects an owner leaves behind."""

    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True, slots=True)
class Deletion:
    """How to delete. `grace` of None leaves it to the object; `uid` and `revision` are what must still hold."""

    grace: int | None = None
    propagation: Propagation | None = None
    uid: str = ""
    revision: str = ""
    dry_run: bool = False


DELETE: Final = Deletion()
DELETE_NOW: Final = Deletion(grace=0)


@dataclass(frozen=True, slots=True)
class MergePatch:
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class JsonPatch:
    operations: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class StrategicPatch:
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ApplyPatch:
    """Server-side apply: `body` is all this manager wants; `force` takes fields from others."""

    body: Mapping[str, Any]
    force: bool = False


Patch = MergePatch | JsonPatch | StrategicPatch | ApplyPatch
