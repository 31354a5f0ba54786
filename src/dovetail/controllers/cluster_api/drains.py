"""What is on a Node that is to be drained: asked for then, since few Nodes are drained and many pods run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.api import kinds
from dovetail.core import timestamps
from dovetail.core.effects import Ref
from dovetail.core.errors import BadInput
from dovetail.core.machines import draining
from dovetail.core.machines.draining import Pod
from dovetail.kube.client import Client
from dovetail.kube.errors import NotFound

_MIRROR = "kubernetes.io/config.mirror"


async def on_node(client: Client, node: str) -> tuple[tuple[Pod, ...], tuple[str, ...]]:
    """Its pods, and the volumes attached to it that none of those who stay holds."""
    found = await client.list(kinds.PODS, fields=f"spec.nodeName={node}")
    attached = await client.list(kinds.VOLUME_ATTACHMENTS)
    pods = {_pod(one): one for one in found.items}
    named = (one["spec"].get("source", {}).get("persistentVolumeName") for one in attached.items if _is_on(one, node))
    volumes = {str(one) for one in named if one}
    if volumes:
        volumes -= await _held(client, [wire for pod, wire in pods.items() if draining.stays(pod)])
    return tuple(pods), tuple(sorted(volumes))


async def _held(client: Client, pods: list[dict[str, Any]]) -> set[str]:
    """The volumes of some pods."""
    found = set()
    for namespace, name in sorted({claim for one in pods for claim in _claims(one)}):
        try:
            claim = await client.get(kinds.PERSISTENT_VOLUME_CLAIMS, name, namespace)
        except NotFound:
            continue
        found.add(str((claim.get("spec") or {}).get("volumeName")))
    return found


def _claims(pod: dict[str, Any]) -> Iterator[tuple[str, str]]:
    about = pod["metadata"]
    for one in (pod.get("spec") or {}).get("volumes") or ():
        if "persistentVolumeClaim" in one:
            yield about.get("namespace", ""), one["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in one:
            yield about.get("namespace", ""), f"{about['name']}-{one['name']}"


def _is_on(attachment: dict[str, Any], node: str) -> bool:
    return attachment["spec"].get("nodeName") == node and bool((attachment.get("status") or {}).get("attached"))


def _pod(wire: dict[str, Any]) -> Pod:
    about, phase = wire["metadata"], (wire.get("status") or {}).get("phase")
    owners = about.get("ownerReferences") or []
    return Pod(
        Ref("Pod", about["name"], about.get("uid", ""), about.get("namespace", "")),
        daemon=any(one.get("kind") == "DaemonSet" and one.get("controller") for one in owners),
        mirror=_MIRROR in (about.get("annotations") or {}),
        finished=phase in ("Succeeded", "Failed"),
        deleting=_deleting(about),
        manner=draining.manner_of((about.get("labels") or {}).get(draining.LABEL)),
    )


def _deleting(about: dict[str, Any]) -> float | None:
    """When it was asked to go: what is written is when it should be gone."""
    written = about.get("deletionTimestamp")
    if not written:
        return None
    try:
        return timestamps.seconds(written) - float(about.get("deletionGracePeriodSeconds") or 0)
    except BadInput:
        return 0.0
