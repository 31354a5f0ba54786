"""KWOKNodeClass (karpenter.kwok.sh/v1alpha1): machines that are only simulated."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Final

from dovetail.api.crds.definition import Definition
from dovetail.api.crds.metadata import Resource
from dovetail.api.crds.parts import Condition, Duration
from dovetail.api.crds.schema import Filled, Wire
from dovetail.api.kinds import KWOK_NODE_CLASSES

_LONG_AGO: Final = datetime(2024, 1, 1, 1, 1, 1, tzinfo=UTC)
#: A simulated class is in order the moment it exists; nobody has to say so first.
_READY: Final = Condition(type="Ready", status="True", reason="Ready", message="", last_transition_time=_LONG_AGO)


class KwokNodeClassSpec(Wire, frozen=True):
    """How simulated machines behave."""

    node_registration_delay: Annotated[Duration | None, "How long after its launch a machine joins the cluster."] = None


class KwokNodeClassStatus(Wire, frozen=True):
    """What holds of the class."""

    conditions: Annotated[tuple[Condition, ...], "What holds of it."] = ()


class KwokNodeClass(Resource, kw_only=True, frozen=True):
    """A KWOKNodeClass describes machines that are only simulated."""

    api_version: str = KWOK_NODE_CLASSES.api_version
    kind: str = KWOK_NODE_CLASSES.name
    spec: KwokNodeClassSpec = KwokNodeClassSpec()
    status: Annotated[
        KwokNodeClassStatus,
        Filled(
            {
                "conditions": [
                    {
                        "type": "Ready",
                        "status": "True",
                        "reason": "Ready",
                        "message": "",
                        "lastTransitionTime": "2024-01-01T01:01:01Z",
                    }
                ]
            }
        ),
    ] = KwokNodeClassStatus(conditions=(_READY,))


DEFINITION: Final = Definition(kind=KWOK_NODE_CLASSES, struct=KwokNodeClass, short_names=("kwoknc", "kwokncs"))
