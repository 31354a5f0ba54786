"""What every Kubernetes object says of itself, and the head our own kinds share."""

from __future__ import annotations

from datetime import datetime

import msgspec

from dovetail.api.crds.schema import Wire


class OwnerReference(Wire, frozen=True):
    """Whom an object belongs to; when the owner goes, it goes too."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class Metadata(Wire, frozen=True):
    """The part of `metadata` that controllers look at; the rest is the server's own."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Resource(Wire, omit_defaults=False, frozen=True):
    """A whole object. Its kind is always written, and an empty status does no harm: the server drops it."""

    api_version: str
    kind: str
    metadata: Metadata = msgspec.field(default_factory=Metadata)
