"""What guards an instance's start and its memory, and the accelerators it has: all of them tie it to its host."""

from __future__ import annotations

from typing import Any, Final

from dovetail.api.fields import Fields

Json = dict[str, Any]
_SWITCH: Final = {"Enabled": True, "Disabled": False}
_SHIELDED: Final = {
    "secureBoot": "enableSecureBoot",
    "virtualizedTrustedPlatformModule": "enableVtpm",
    "integrityMonitoring": "enableIntegrityMonitoring",
}
#: The provider's own words, which it spells in two ways.
_CONFIDENTIAL: Final = {
    "AMDEncrytedVirtualization": "SEV",
    "AMDEncryptedVirtualization": "SEV",
    "AMDEncrytedVirtualizationNestedPaging": "SEV_SNP",
    "AMDEncryptedVirtualizationNestedPaging": "SEV_SNP",
    "IntelTrustedDomainExtensions": "TDX",
}
_MOST: Final = 64


def switched(spec: Fields, name: str) -> bool | None:
    """Enabled or Disabled; None where nothing is said."""
    written = spec.text(name)
    if written is None:
        return None
    if written not in _SWITCH:
        raise spec.bad(name, "write Enabled or Disabled")
    return _SWITCH[written]


def shielded(spec: Fields) -> Json:
    if not spec.has("shieldedInstanceConfig"):
        return {}
    asked = spec.map("shieldedInstanceConfig").only(_SHIELDED)
    told = {wire: on for name, wire in _SHIELDED.items() if (on := switched(asked, name)) is not None}
    return {"shieldedInstanceConfig": told} if told else {}


def confidential(spec: Fields) -> Json:
    written = spec.text("confidentialCompute")
    if written in (None, "Disabled"):
        return {}
    if written == "Enabled":
        return {"confidentialInstanceConfig": {"enableConfidentialCompute": True}}
    kind = _CONFIDENTIAL.get(str(written))
    if kind is None:
        raise spec.bad("confidentialCompute", f"write Enabled, Disabled or one of {', '.join(sorted(_CONFIDENTIAL))}")
    return {"confidentialInstanceConfig": {"enableConfidentialCompute": True, "confidentialInstanceType": kind}}


def accelerators(spec: Fields, project: str, zone: str) -> Json:
    asked = [_accelerator(one.only(("type", "count")), project, zone) for one in spec.items("guestAccelerators")]
    return {"guestAccelerators": asked} if asked else {}


def _accelerator(one: Fields, project: str, zone: str) -> Json:
    kind = one.required("type")
    link = kind if "/" in kind else f"projects/{project}/zones/{zone}/acceleratorTypes/{kind}"
    return {"acceleratorType": link, "acceleratorCount": one.whole("count", 1, _MOST) or 1}
