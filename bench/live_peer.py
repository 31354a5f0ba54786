"""The peer's controller for kwok nodes and its definitions, as `tools.control_plane` makes and keeps them.

Without Go, or without the network the first build needs, ours is measured alone, and one sentence says why.
"""

import functools
import os
import sys
from pathlib import Path

from tools.control_plane.find import find_peer
from tools.control_plane.programs import PEER, NoControlPlane, Programs


@functools.cache
def _programs() -> Programs | None:
    try:
        return find_peer(os.environ)
    except NoControlPlane as reason:
        print(f"The peer's column stays empty: {reason}", file=sys.stderr)
        return None


def built() -> bool:
    """Whether there is one; asked once a run, it is built if need be."""
    return _programs() is not None


def program() -> Path:
    return _there().path(PEER)


def definitions() -> Path:
    return _there().karpenter_files / "crds"


def _there() -> Programs:
    programs = _programs()
    assert programs is not None, "ask whether it was built first"
    return programs
