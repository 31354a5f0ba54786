"""One answer to "which control plane": the directory somebody named, or the one we build."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .build import CONTROL_PLANE, MANAGER_RECIPE, PEER_RECIPE, Recipe, Say, build, say_on_stderr
from .programs import MANAGER, PEER, Programs, given


def find(environment: Mapping[str, str], say: Say = say_on_stderr) -> Programs:
    """The programs, or `NoControlPlane` with the reason. May compile for minutes where the cache is empty."""
    return given(environment) or build(CONTROL_PLANE, say)


def find_cluster_api(environment: Mapping[str, str], say: Say = say_on_stderr) -> Programs:
    """Cluster API's manager and its files: beside the programs somebody named, or built."""
    return _beside(environment, MANAGER, MANAGER_RECIPE, say)


def find_peer(environment: Mapping[str, str], say: Say = say_on_stderr) -> Programs:
    """Karpenter's controller for kwok nodes and its files: beside the programs somebody named, or built."""
    return _beside(environment, PEER, PEER_RECIPE, say)


def _beside(environment: Mapping[str, str], program: str, recipe: Recipe, say: Say) -> Programs:
    named = given(environment)
    if named is not None and os.access(named.path(program), os.X_OK):
        return named
    return build(recipe, say)
