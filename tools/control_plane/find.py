"""One answer to "which control plane": the directory somebody named, or the one we build."""

from __future__ import annotations

from collections.abc import Mapping

from .build import Say, build, say_on_stderr
from .programs import Programs, given


def find(environment: Mapping[str, str], say: Say = say_on_stderr) -> Programs:
    """The programs, or `NoControlPlane` with the reason. May compile for minutes where the cache is empty."""
    return given(environment) or build(say)
