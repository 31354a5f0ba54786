"""User data of several parts: the user's first, ours last, so that where both say something ours holds."""

from __future__ import annotations

import email
import email.errors
import email.policy
from dataclasses import dataclass
from typing import Final

from dovetail.core.errors import BadValue

SHELL: Final = 'text/x-shellscript; charset="us-ascii"'
NODE_CONFIG: Final = "application/node.eks.aws"
_BOUNDARY: Final = "//"


@dataclass(frozen=True, slots=True)
class Part:
    content: str
    text: str


def joined(parts: tuple[Part, ...]) -> str:
    lines = ["MIME-Version: 1.0", f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"', ""]
    for one in parts:
        lines += [f"--{_BOUNDARY}", f"Content-Type: {one.content}", "", one.text.rstrip("\n"), ""]
    return "\n".join([*lines, f"--{_BOUNDARY}--", ""])


def is_multipart(text: str) -> bool:
    head = text.lstrip()[:512].lower()
    return head.startswith(("mime-version:", "content-type: multipart/"))


def parts(text: str) -> tuple[Part, ...]:
    """What the user wrote, part by part."""
    message = email.message_from_string(text.lstrip(), policy=email.policy.default)
    if not message.is_multipart():
        raise BadValue("userData says it has several parts, but they cannot be told apart: check its boundary")
    wrong = next(
        (one for one in message.defects if isinstance(one, email.errors.MultipartInvariantViolationDefect)), None
    )
    if wrong is not None:
        raise BadValue("userData says it has several parts, but they cannot be told apart: check its boundary")
    found = []
    for one in message.iter_parts():
        payload = one.get_payload(decode=True)
        body = payload.decode("utf-8", "replace") if isinstance(payload, bytes) else ""
        found.append(Part(str(one.get("Content-Type", "text/plain")), body))
    return tuple(found)
