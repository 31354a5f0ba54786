"""What the schemas of several kinds are made of: quantities, durations, taints, conditions, references."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from dovetail.api.crds.schema import ATOMIC_LIST, IntOrString, Limits, Rule, Wire

_NUMBER: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
#: A quantity as text, without its ends, so that it can be one branch of another pattern.
QUANTITY_BODY: Final = rf"(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?"
QUANTITY_PATTERN: Final = f"^{QUANTITY_BODY}$"
_DNS: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
QUALIFIED_NAME: Final = rf"^({_DNS}(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"
LABEL_VALUE: Final = r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$"
KEY_LENGTH: Final = 316
VALUE_LENGTH: Final = 63

Quantity = Annotated[int | str, IntOrString(), Limits(pattern=QUANTITY_PATTERN)]
ResourceList = dict[str, Quantity]
Duration = Annotated[str, Limits(pattern=r"^([0-9]+(s|m|h))+$")]
DurationOrNever = Annotated[str, Limits(pattern=r"^(([0-9]+(s|m|h))+|Never)$")]


def not_empty(field: str) -> Rule:
    """Used where a text must be given and must say something."""
    return Rule("self != ''", f"{field} may not be empty")


class NodeClassRef(Wire, frozen=True):
    """Which node class describes the machines."""

    group: Annotated[str, Limits(pattern=r"^[^/]*$"), not_empty("group"), "API group of the node class."]
    kind: Annotated[str, not_empty("kind"), "Kind of the node class."]
    name: Annotated[str, not_empty("name"), "Name of the node class."]


class Taint(Wire, frozen=True):
    """A taint keeps pods that do not tolerate it off a node."""

    key: Annotated[str, Limits(min_length=1, pattern=QUALIFIED_NAME), "Key of the taint."]
    effect: Annotated[
        str, Limits(enum=("NoSchedule", "PreferNoSchedule", "NoExecute")), "What happens to pods without a toleration."
    ]
    # The pattern of a key, not of a value: "" is refused and "a/b" is let through, as everywhere this kind is served.
    value: Annotated[str, Limits(pattern=QUALIFIED_NAME), "Value of the taint."] = ""
    time_added: Annotated[datetime | None, "When the taint was put on; of NoExecute taints only."] = None


Taints = Annotated[tuple[Taint, ...], ATOMIC_LIST]

_CONDITION_TYPE: Final = rf"^({_DNS}/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
_REASON: Final = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

ConditionType = Annotated[str, Limits(max_length=316, pattern=_CONDITION_TYPE), "What the condition is about."]
ConditionStatus = Annotated[str, Limits(enum=("True", "False", "Unknown")), "Whether it holds."]
ConditionMessage = Annotated[str, Limits(max_length=32768), "A sentence for people."]
Generation = Annotated[int | None, Limits(format="int64", minimum=0), "Generation of the object that was looked at."]


class Condition(Wire, frozen=True):
    """One thing that is, is not, or may be the case with an object."""

    type: ConditionType
    status: ConditionStatus
    reason: Annotated[str, Limits(min_length=1, max_length=1024, pattern=f"^{_REASON}$"), "Why, as one CamelCase word."]
    message: ConditionMessage
    last_transition_time: Annotated[datetime, "When the status changed last."]
    observed_generation: Generation = None


class ClaimCondition(Wire, frozen=True):
    """A condition of a NodeClaim, whose reason and message may be left out."""

    type: ConditionType
    status: ConditionStatus
    last_transition_time: Annotated[datetime, "When the status changed last."]
    reason: Annotated[str, Limits(max_length=1024, pattern=f"^({_REASON}|)$"), "Why, as one CamelCase word."] = ""
    message: ConditionMessage = ""
    observed_generation: Generation = None
