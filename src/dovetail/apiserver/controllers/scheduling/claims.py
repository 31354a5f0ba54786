"""Volumes of a pod that waits: where its claims let it go, and the volumes made for those nobody has bound.

There is no storage here, so a claim that waits for its first consumer is bound at once to a volume that exists in
name only, in the zone of the node chosen. A claim of a class that binds immediately gets the same, without waiting
for anybody else to do it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dovetail.api import kinds, volumes
from dovetail.api.fields import fields
from dovetail.apiserver.controllers.scheduling.nodes import NodeInfo
from dovetail.apiserver.controllers.scheduling.shapes import PodShape, holds
from dovetail.apiserver.objects import Objects
from dovetail.apiserver.storage import Object
from dovetail.apiserver.writes import MergePatch, Write
from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.requirements import Requirements

WRONG_PLACE: Final = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
_BINDER: Final = Write("kube-scheduler")
_BOUND: Final = "pv.kubernetes.io/bind-completed"


class Claims:
    """The claims of one pod, as they are now."""

    def __init__(self, objects: Objects, namespace: str, pod: PodShape) -> None:
        self._objects = objects
        self.missing = ""
        self._unbound: list[Object] = []
        self._places: list[tuple[tuple[Requirements, ...], str]] = []
        for name in pod.claims:
            claim = objects.find(kinds.PERSISTENT_VOLUME_CLAIMS, name, namespace)
            if claim is None:
                self.missing = self.missing or f'persistentvolumeclaim "{name}" not found'
            else:
                self._add(claim)

    def _add(self, claim: Object) -> None:
        volume = claim["spec"].get("volumeName")
        if volume:
            found = self._objects.find(kinds.PERSISTENT_VOLUMES, volume)
            if found is not None:
                self._places.append((_places_of_volume(found), WRONG_PLACE))
            return
        self._unbound.append(claim)
        name = claim["spec"].get("storageClassName") or ""
        kept = self._objects.find(kinds.STORAGE_CLASSES, name) if name else None
        if kept is not None:
            self._places.append((_places_of_class(kept), NO_VOLUME))

    def complaint(self, node_labels: Mapping[str, str]) -> str | None:
        for places, why in self._places:
            if places and not any(holds(one, node_labels) for one in places):
                return why
        return None

    def bind(self, node: NodeInfo) -> None:
        """Give each claim that has none a volume where the node is."""
        for claim in self._unbound:
            about = claim["metadata"]
            volume = f"pvc-{about['uid']}"
            if self._objects.find(kinds.PERSISTENT_VOLUMES, volume) is None:
                made = self._objects.create(kinds.PERSISTENT_VOLUMES, _volume(claim, volume, node), write=_BINDER)
                made["status"] = {"phase": "Bound"}
                self._objects.update(kinds.PERSISTENT_VOLUMES, made, subresource="status", write=_BINDER)
            where = (
                about["name"],
                MergePatch({"metadata": {"annotations": {_BOUND: "yes"}}, "spec": {"volumeName": volume}}),
            )
            self._objects.patch(kinds.PERSISTENT_VOLUME_CLAIMS, *where, about["namespace"], write=_BINDER)
            status = {"phase": "Bound", "accessModes": claim["spec"].get("accessModes", [])}
            status["capacity"] = ((claim["spec"].get("resources") or {}).get("requests")) or {}
            self._objects.patch(
                kinds.PERSISTENT_VOLUME_CLAIMS,
                about["name"],
                MergePatch({"status": status}),
                about["namespace"],
                subresource="status",
                write=_BINDER,
            )


def _places_of_volume(volume: Object) -> tuple[Requirements, ...]:
    try:
        return volumes.read_volume(fields(volume)).places
    except BadInput:
        return ()


def _places_of_class(found: Object) -> tuple[Requirements, ...]:
    try:
        return volumes.read_storage_class(fields(found)).places
    except BadInput:
        return ()


def _volume(claim: Object, name: str, node: NodeInfo) -> dict[str, Any]:
    about, spec = claim["metadata"], claim["spec"]
    zone = node.labels.get(labels.ZONE)
    made: dict[str, Any] = {
        "capacity": (spec.get("resources") or {}).get("requests") or {"storage": "1Gi"},
        "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Delete",
        "storageClassName": spec.get("storageClassName") or "",
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": about["namespace"],
            "name": about["name"],
            "uid": about["uid"],
        },
        "csi": {"driver": "fake.csi.dovetail", "volumeHandle": name},
    }
    if zone is not None:
        expression = {"key": labels.ZONE, "operator": "In", "values": [zone]}
        made["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    return {"metadata": {"name": name}, "spec": made}
