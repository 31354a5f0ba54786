"""Whether an answer says what it must to be of any use (`Call.told`).

What lacks it is no answer: whoever reads on would stumble over the gap, in a place that cannot say whose fault it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.clouds.aws.calls import Call


def lacking(call: Call, answer: Mapping[str, Any]) -> str:
    """The first thing a call's answer should say and does not; nothing where all is there."""
    for path in call.told:
        names = path.split(".")
        items = (answer.get(call.listed) or ()) if call.listed else (answer,)
        if not all(_says(one, names) for one in items):
            return path.replace("[]", "")
    return ""


def _says(item: object, names: list[str]) -> bool:
    if not names:
        return item not in (None, "")
    if not isinstance(item, Mapping):
        return False
    name = names[0]
    if name.endswith("[]"):
        held: Iterable[object] = item.get(name[:-2]) or ()
        return all(_says(one, names[1:]) for one in held)
    return _says(item.get(name), names[1:])
