"""One answer to "which control plane": the directory somebody named, or the one we build."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .build import CONTROL_PLANE, MANAGER_RECIPE, Say, build, say_on_stderr
from .programs import MANAGER, Programs, given


def find(environment: Mapping[str, str], say: Say = say_on_stderr) -> Programs:
    """The programs, or `NoControlPlane` with the reason. May compile for minutes where the cache is empty."""
    return given(environment) or build(CONTROL_PLANE, say)


def find_cluster_api(environment: Mapping[str, str], say: Say = say_on_stderr) -> Programs:
    """Cluster API's manager and its files: beside the programs somebody named, or built."""
    named = given(environment)
    if named is not None and os.access(named.path(MANAGER), os.X_OK):
        return named
    return build(MANAGER_RECIPE, say)
