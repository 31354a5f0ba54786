"""A wheel with the planner compiled, where `DOVETAIL_COMPILE=1` asks for one; without it a wheel for every machine."""

from __future__ import annotations

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CompiledPlanner(BuildHookInterface):  # type: ignore[type-arg]
    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return ["mypy", "setuptools"] if _wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if not _wanted() or version == "editable":
            return
        sys.path.insert(0, self.root)
        from tools.compiled.build import compiled, extensions

        place = compiled()
        build_data["pure_python"], build_data["infer_tag"] = False, True
        build_data["force_include"].update({str(place / one): str(one) for one in extensions(place)})


def _wanted() -> bool:
    return os.environ.get("DOVETAIL_COMPILE") == "1"
