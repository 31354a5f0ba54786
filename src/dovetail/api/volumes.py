"""Volumes: what a pod's claims demand of a node, looked up through claim, volume and storage class (§2.2, §3.9).

A claim that is bound goes where its volume can be used; one that waits for its first consumer goes where its storage
class can make one. Anything else about a claim that would keep Kubernetes from starting the pod is told as the pod's
problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from dovetail.api.affinities import texts
from dovetail.api.fields import Fields, fields
from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.pods import NO_VOLUMES, Volumes
from dovetail.core.requirements import EMPTY, Operator, Requirement, Requirements, requirement

_BOUND: Final = "pv.kubernetes.io/bind-completed"
_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
_BETA_DEFAULT_CLASS: Final = "storageclass.beta.kubernetes.io/is-default-class"
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_ON_FIRST_USE: Final = "WaitForFirstConsumer"
#: More combinations than this say no more about where a pod may go.
_MOST_PLACES: Final = 256
#: Drivers that took over from code inside Kubernetes: by the old provisioner, and by the field of an old volume.
_MIGRATED: Final[Mapping[str, str]] = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
_OLD_FIELDS: Final[Mapping[str, str]] = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "azureDisk": "disk.csi.azure.com",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim, as far as a pod's place depends on it."""

    volume: str = ""
    bound: bool = False
    storage_class: str | None = None
    leaving: bool = False
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Volume:
    """A PersistentVolume: where it can be used, and which driver attaches it."""

    places: tuple[Requirements, ...] = ()
    driver: str | None = None
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class StorageClass:
    places: tuple[Requirements, ...] = ()
    driver: str | None = None
    on_first_use: bool = False
    default: bool = False


@dataclass(slots=True)
class Storage:
    """Everything about storage that the files hold."""

    claims: dict[tuple[str, str], Claim] = field(default_factory=dict)
    volumes: dict[str, Volume] = field(default_factory=dict)
    classes: dict[str, StorageClass] = field(default_factory=dict)

    @property
    def default_class(self) -> str | None:
        return min((name for name, one in self.classes.items() if one.default), default=None)


# ---- reading


def read_claim(wire: Fields) -> Claim:
    about, spec = wire.map("metadata"), wire.map("spec")
    notes = about.map("annotations")
    phase = wire.map("status").text("phase")
    name = spec.text("storageClassName")
    return Claim(
        volume=spec.text("volumeName") or "",
        bound=notes.has(_BOUND) or phase == "Bound",
        storage_class=name if name is not None else notes.text(_BETA_CLASS),
        leaving=about.has("deletionTimestamp"),
        lost=phase == "Lost",
    )


def read_volume(wire: Fields) -> Volume:
    spec = wire.map("spec")
    required = spec.map("nodeAffinity").map("required")
    local = spec.has("local") or spec.has("hostPath")
    terms = [_place(term, local) for term in required.items("nodeSelectorTerms")]
    driver = spec.map("csi").text("driver")
    if driver is None:
        driver = next((new for old, new in _OLD_FIELDS.items() if spec.has(old)), None)
    return Volume(tuple(terms), driver, wire.map("metadata").has("deletionTimestamp"))


def _place(term: Fields, local: bool) -> Requirements:
    """One alternative. A disk inside a machine goes nowhere, but what is planned is a machine like it."""
    found = (_expression(one) for one in term.items("matchExpressions"))
    return Requirements(one for one in found if not (local and one.key == labels.HOSTNAME))


def _expression(entry: Fields) -> Requirement:
    try:
        return requirement(entry.required("key"), entry.required("operator"), texts(entry, "values"))
    except BadInput as problem:
        raise entry.bad("", str(problem)) from None


def read_storage_class(wire: Fields) -> StorageClass:
    notes = wire.map("metadata").map("annotations")
    provisioner = wire.text("provisioner")
    places = []
    for term in wire.items("allowedTopologies"):
        expressions = term.items("matchLabelExpressions")
        places.append(
            Requirements(requirement(one.required("key"), Operator.IN, texts(one, "values")) for one in expressions)
        )
    return StorageClass(
        tuple(places),
        _MIGRATED.get(provisioner, provisioner) if provisioner else None,
        wire.text("volumeBindingMode") == _ON_FIRST_USE,
        any(notes.wire.get(key) == "true" for key in (_DEFAULT_CLASS, _BETA_DEFAULT_CLASS)),
    )


# ---- looking up


@dataclass(frozen=True, slots=True)
class Used:
    """A claim a pod uses: by name, or as the template of one that will be made for it."""

    name: str
    template: Claim | None = None


def claims_of(spec: Fields, pod: str) -> tuple[Used, ...]:
    """The claims behind a pod's volumes; an ephemeral volume's is named after the pod."""
    found = []
    for one in spec.items("volumes"):
        if one.has("persistentVolumeClaim"):
            found.append(Used(one.map("persistentVolumeClaim").required("claimName")))
        elif one.has("ephemeral"):
            template = one.map("ephemeral").map("volumeClaimTemplate")
            found.append(Used(f"{pod}-{one.required('name')}", read_claim(fields(template.wire))))
    return tuple(found)


def resolved(used: Iterable[Used], namespace: str, storage: Storage) -> tuple[Volumes, list[str]]:
    """What the claims demand together, and what is wrong with them."""
    places: tuple[Requirements, ...] = ()
    attached: dict[tuple[str, str], None] = {}
    problems: list[str] = []
    for one in used:
        found, driver, problem = _resolve(one, namespace, storage)
        if problem is not None:
            problems.append(f"volume claim {one.name}: {problem}")
            continue
        places = _both(places, found)
        if driver is not None:
            attached[driver, f"{namespace}/{one.name}"] = None
    if not places and not attached:
        return NO_VOLUMES, problems
    return Volumes(places, tuple(attached)), problems


def _resolve(used: Used, namespace: str, storage: Storage) -> tuple[tuple[Requirements, ...], str | None, str | None]:
    """Where one claim can be used, which driver attaches it, and why it cannot be used at all."""
    claim = storage.claims.get((namespace, used.name), used.template)
    problem = _unusable(claim)
    if claim is None or problem is not None:
        return (), None, problem
    if claim.volume:
        volume = storage.volumes.get(claim.volume)
        if volume is None or volume.leaving:
            state = "does not exist" if volume is None else "is being deleted"
            return (), None, f"its volume {claim.volume[:80]} {state}"
        if not claim.bound:
            return (), None, f"is not bound to its volume {claim.volume[:80]} yet"
        return volume.places, volume.driver, None
    name = storage.default_class if claim.storage_class is None else claim.storage_class
    if not name:
        return (), None, "has neither a volume nor a storage class"
    found = storage.classes.get(name)
    if found is None:
        return (), None, f"its storage class {name[:80]} does not exist"
    if not found.on_first_use:
        return (), None, f"has no volume yet, and storage class {name[:80]} binds it at once, not on first use"
    return found.places, found.driver, None


def _unusable(claim: Claim | None) -> str | None:
    if claim is None:
        return "does not exist"
    if claim.leaving:
        return "is being deleted"
    return "has lost its volume" if claim.lost else None


def _both(one: tuple[Requirements, ...], other: tuple[Requirements, ...]) -> tuple[Requirements, ...]:
    """Every combination that can hold; where none can they all stay, so that the refusal shows them."""
    if not one or not other:
        return one or other
    every = dict.fromkeys(a & b for a in one for b in other)
    sound = [both for both in every if not both.is_contradictory]
    chosen = sound or list(every)
    return (EMPTY,) if EMPTY in chosen and len(chosen) == 1 else tuple(chosen[:_MOST_PLACES])
