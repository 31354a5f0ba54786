"""Every setting that is not an argument of one verb: the only reader of the environment, and of the flags that
every verb shares. A flag beats its environment variable, and either beats the default.
"""

from __future__ import annotations

import os
from argparse import SUPPRESS
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dovetail.core.errors import BadField, BadValue

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from fractions import Fraction

INSTANCE_TYPE_CACHING: Final = "InstanceTypeCaching"
NODE_OVERLAY: Final = "NodeOverlay"
#: Known gates and whether they are on unless somebody says otherwise. Those of later chapters are accepted already,
#: so that one FEATURE_GATES serves a whole deployment.
GATES: Final[Mapping[str, bool]] = {
    INSTANCE_TYPE_CACHING: True,
    "CapacityBuffer": False,
    NODE_OVERLAY: True,
    "NodeRepair": False,
    "ReservedCapacity": True,
    "SpotToSpotConsolidation": False,
    "StaticCapacity": False,
    "TerminateFirstDrift": False,
    "TerminateFirstRepair": False,
    "PodDeletionCostManagement": False,
}
#: Gates that only AWS has, under the name its chart gives them. Others of the peer's are passed over there.
AWS_GATES_VARIABLE: Final = "AWS_FEATURE_GATES"
NODE_CLASS_CEL: Final = "NodeClassCEL"
REBOOTS: Final = "RebootForRepair"
AWS_GATES: Final[Mapping[str, bool]] = {NODE_CLASS_CEL: False, REBOOTS: False}
#: Shared flags that are followed by a value; whoever looks for the verb among the arguments must step over it.
FLAGS_WITH_VALUE: Final = frozenset({"--feature-gates"})
_NARROWEST, _WIDEST = 20, 500
_TRUE, _FALSE = frozenset({"true", "t", "1"}), frozenset({"false", "f", "0"})


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for a whole run."""

    data_dir: str
    no_color: bool = False
    columns: int | None = None
    vm_memory_overhead: Fraction | None = None
    gates_on: frozenset[str] = frozenset(name for name, on in GATES.items() if on)
    debug: bool = False
    #: Whether an EC2NodeClass may have expressions in its kubelet block.
    formulas: bool = False

    def gate(self, name: str) -> bool:
        return name in self.gates_on


def add_flags(parser: ArgumentParser) -> None:
    """The flags all verbs share; they may stand before the verb or after it, so neither place sets a default."""
    unset = SUPPRESS
    group = parser.add_argument_group("settings")
    group.add_argument("--no-color", action="store_true", default=unset, help="never colour (also: NO_COLOR)")
    gates = f"such as {INSTANCE_TYPE_CACHING}=false (also: FEATURE_GATES)"
    group.add_argument("--feature-gates", metavar="LIST", default=unset, help=gates)
    group.add_argument("--debug", action="store_true", default=unset, help="show tracebacks")


def read(flags: Namespace, environment: Mapping[str, str] | None = None) -> Settings:
    """Settle every setting; a bad one names the flag or variable it stands in."""
    found = os.environ if environment is None else environment
    return Settings(
        data_dir=_data_dir(found),
        no_color=bool(getattr(flags, "no_color", False)) or bool(found.get("NO_COLOR")) or found.get("TERM") == "dumb",
        columns=_columns(found.get("COLUMNS")),
        vm_memory_overhead=_overhead(getattr(flags, "vm_memory_overhead_percent", None), found),
        gates_on=gates_on(
            GATES,
            ("FEATURE_GATES", found.get("FEATURE_GATES")),
            ("--feature-gates", getattr(flags, "feature_gates", None)),
        ),
        debug=bool(getattr(flags, "debug", False)),
        formulas=NODE_CLASS_CEL in aws_gates_on(flags, found),
    )


def aws_gates_on(flags: Namespace, environment: Mapping[str, str]) -> frozenset[str]:
    """Of the gates that only AWS has those that are on."""
    said = getattr(flags, "option_aws_feature_gates", None)
    return gates_on(AWS_GATES, (AWS_GATES_VARIABLE, environment.get(AWS_GATES_VARIABLE)), ("--aws-feature-gates", said))


def _data_dir(environment: Mapping[str, str]) -> str:
    """Where imported prices live: DOVETAIL_HOME, or `dovetail` in the XDG data directory."""
    home = environment.get("DOVETAIL_HOME")
    if home:
        return home
    data = environment.get("XDG_DATA_HOME", "")
    # The XDG specification says to ignore a path that is not absolute.
    base = data if os.path.isabs(data) else os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(base, "dovetail")


def _columns(text: str | None) -> int | None:
    """COLUMNS as shells set it; nonsense there is not worth an error."""
    if text is None or not text.isascii() or not text.isdigit():
        return None
    return min(max(int(text[:6]), _NARROWEST), _WIDEST)


def _overhead(flag: str | None, environment: Mapping[str, str]) -> Fraction | None:
    if flag is not None:
        return parse_share(flag, "--vm-memory-overhead-percent")
    text = environment.get("VM_MEMORY_OVERHEAD_PERCENT")
    return parse_share(text, "VM_MEMORY_OVERHEAD_PERCENT") if text else None


def parse_share(text: str, name: str) -> Fraction:
    """Read `0.075`, as Karpenter writes seven and a half percent, or plainly `7.5%`."""
    from fractions import Fraction

    percent = text.endswith("%")
    number = text.removesuffix("%").strip()
    plain = number.isascii() and len(number) < 20 and number.replace(".", "", 1).isdigit()
    share = Fraction(number) / (100 if percent else 1) if plain else None
    if share is None or not 0 <= share < 1:
        raise BadValue(f"{text[:40]!r} is not a share below one; write 0.075 or 7.5%").at(name)
    return share


def gates_on(known: Mapping[str, bool], *said: tuple[str, str | None]) -> frozenset[str]:
    """Of known gates those that are on, after what was said of them in several places, the last of which wins."""
    on = {name for name, default in known.items() if default}
    for name, text in said:
        for pair in (text or "").split(","):
            if not pair.strip():
                continue
            gate, enabled = _gate(pair, name)
            if gate not in known:
                if name.startswith("--"):
                    raise BadValue(f"there is no gate {gate[:40]!r}; there are {', '.join(known)}").at(name)
                continue  # a chart written for another release may name gates we have never heard of
            on = on | {gate} if enabled else on - {gate}
    return frozenset(on)


def _gate(pair: str, name: str) -> tuple[str, bool]:
    gate, _, value = (part.strip() for part in pair.partition("="))
    if value.lower() not in _TRUE | _FALSE:
        raise _not_a_switch(value, name, gate)
    return gate, value.lower() in _TRUE


def _not_a_switch(value: str, *place: str) -> BadField:
    return BadValue(f"{value[:40]!r} is neither true nor false").at(*place)
