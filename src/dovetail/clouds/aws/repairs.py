"""When a Node of AWS is broken, for how long that is borne, and what is done (`spec/aws` §7).

The conditions beside `Ready` are those of EKS' node monitoring agent, and so are the reasons: of what befalls a GPU its
documentation says which errors a restart cures. Whoever allows restarts (`RebootForRepair`) has them tried for these,
and after two in a day a machine is replaced all the same.
"""

from __future__ import annotations

from typing import Final

from dovetail.clouds.port import RepairPolicy

_HALF_HOUR: Final = 1800.0
_TEN_MINUTES: Final = 600.0
_ACCELERATORS: Final = "AcceleratedHardwareReady"
#: Errors of a GPU, by NVIDIA's numbers, that EKS restarts a machine for.
_RESTARTED: Final = "NvidiaXID(13|31|48|63|64|94|95)Error"
#: For so long pods are asked to leave before a restart; those that stay ride it.
_DRAIN_SECONDS: Final = 600.0
_ANY: Final = ".*"


def policies(reboots: bool = False) -> tuple[RepairPolicy, ...]:
    """The first, for any reason at all, is the one that repair falls back to."""
    hardware = (
        (
            RepairPolicy(_ACCELERATORS, "False", _TEN_MINUTES, f"^{_RESTARTED}$", _DRAIN_SECONDS, action="RebootNode"),
            RepairPolicy(_ACCELERATORS, "False", _TEN_MINUTES, f"^(?!{_RESTARTED}$)"),
        )
        if reboots
        else (RepairPolicy(_ACCELERATORS, "False", _TEN_MINUTES, _ANY),)
    )
    return (
        RepairPolicy("Ready", "False", _HALF_HOUR),
        RepairPolicy("Ready", "Unknown", _HALF_HOUR, _ANY),
        *hardware,
        RepairPolicy("StorageReady", "False", _HALF_HOUR, _ANY),
        RepairPolicy("NetworkingReady", "False", _HALF_HOUR, _ANY),
        RepairPolicy("KernelReady", "False", _HALF_HOUR, _ANY),
        RepairPolicy("ContainerRuntimeReady", "False", _HALF_HOUR, _ANY),
    )
