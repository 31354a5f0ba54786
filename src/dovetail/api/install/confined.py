"""What none of our processes needs, taken away from all of them: root, privileges, a file system to write to."""

from __future__ import annotations

from typing import Final

from dovetail.api.crds.schema import Json

_NOBODY: Final = 65532


def pod(*, owns_files: bool = True) -> dict[str, Json]:
    """A pod's security context. `owns_files`: what is mounted, such as a token, is for its group to read."""
    return {
        "runAsNonRoot": True,
        "runAsUser": _NOBODY,
        "runAsGroup": _NOBODY,
        **({"fsGroup": _NOBODY} if owns_files else {}),
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container() -> dict[str, Json]:
    """A container's."""
    return {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
