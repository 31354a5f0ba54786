"""Answers without what nobody reads, before the SDK makes objects of them.

DescribeInstanceStatus tells of each machine that all its checks are well, which is most of the answer and nobody's
concern: those who ask want to know which machines run, or which checks fail.
"""

from __future__ import annotations

import re
from typing import Final

_STATUSES: Final = "DescribeInstanceStatusResult"
_WELL: Final = re.compile(
    rb"<(systemStatus|instanceStatus|attachedEbsStatus)>\s*<status>ok</status>.*?</\1>", re.DOTALL
)


def leaner(shape: str, body: bytes) -> bytes:
    """The body of an answer of a shape, as short as it can be read."""
    return _WELL.sub(b"", body) if shape == _STATUSES else body
