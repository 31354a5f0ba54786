"""Where machines go: subnets, security groups and the placement group that a class selects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dovetail.clouds.aws import calls, selecting, tags
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.intervals import EARLY_SECONDS
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.aws.nodeclass.spec import Term, shown
from dovetail.clouds.aws.nodeclass.verdicts import GROUPS, PLACEMENT, SUBNETS, Look, Verdict, bad, failed, good
from dovetail.clouds.aws.resolved import PlacementGroup, Subnet
from dovetail.clouds.port import CloudError, NotFound

Wire = Mapping[str, Any]
AGAIN: Final = 60.0
PLACEMENT_SECONDS: Final = AGAIN - EARLY_SECONDS
RARELY: Final = 300.0


async def found(
    memory: Memory, call: Call, questions: Sequence[dict[str, Any]], seconds: float
) -> tuple[tuple[Wire, ...], CloudError | None]:
    """The answers to several questions, each thing once; and the trouble that made one of them an old one."""
    by_id: dict[str, Wire] = {}
    problem = None
    for question in questions:
        answer = await memory.all(call, question, seconds)
        problem = problem or answer.problem
        by_id |= {str(one[_IDS[call.name]]): one for one in answer.value}
    return tuple(by_id.values()), problem


_IDS: Final = {
    calls.DESCRIBE_SUBNETS.name: "SubnetId",
    calls.DESCRIBE_SECURITY_GROUPS.name: "GroupId",
    calls.DESCRIBE_IMAGES.name: "ImageId",
    calls.DESCRIBE_RESERVATIONS.name: "CapacityReservationId",
}


# ---- subnets


async def subnets(memory: Memory, terms: Sequence[Term]) -> Look[tuple[Wire, ...]]:
    seconds = memory.intervals.subnets - EARLY_SECONDS
    try:
        wires, problem = await found(memory, calls.DESCRIBE_SUBNETS, selecting.subnets(terms), seconds)
    except CloudError as error:
        return Look(failed(SUBNETS, error), None, AGAIN, error)
    wires = tuple(sorted(wires, key=lambda one: (-int(one.get("AvailableIpAddressCount", 0)), one["SubnetId"])))
    return Look(_subnets_judged(terms, wires), wires, AGAIN, problem)


def subnets_of(wires: Sequence[Wire]) -> tuple[Subnet, ...]:
    return tuple(
        Subnet(
            one["SubnetId"],
            one["AvailabilityZone"],
            one.get("AvailabilityZoneId", ""),
            one.get("AvailableIpAddressCount", 0),
        )
        for one in wires
    )


def _subnets_judged(terms: Sequence[Term], wires: Sequence[Wire]) -> Verdict:
    if not wires:
        every = shown(terms, "subnetSelectorTerms", range(len(terms)))
        return bad(SUBNETS, "SubnetsNotFound", f"no subnet is selected by {every}; change a term, or tag a subnet so")
    if not any(one.get("AvailableIpAddressCount", 0) for one in wires):
        names = ", ".join(one["SubnetId"] for one in wires)
        told = f"no selected subnet has a free address ({names}): nothing can be launched; select a larger one"
        return good(SUBNETS, told)
    return good(SUBNETS, _idle(terms, wires, "subnetSelectorTerms", "SubnetId"))


def _idle(terms: Sequence[Term], wires: Sequence[Wire], field: str, key: str) -> str:
    """Terms that select nothing while others do: nobody need act, and somebody may have mistyped."""
    idle = [at for at, term in enumerate(terms) if not any(matches(term, one, key) for one in wires)]
    return f"nothing is selected by {shown(terms, field, idle)}" if idle else ""


def matches(term: Term, wire: Wire, key: str) -> bool:
    """Whether a term is one that selects this. Terms with an id, a name or tags alone can be told by looking."""
    if term.get("id"):
        return bool(wire.get(key) == term["id"])
    if term.get("name") and term["name"] not in (wire.get("GroupName"), wire.get("Name")):
        return False
    told = tags.read(wire.get("Tags"))
    wanted = (term.get("tags") or {}).items()
    return all(name in told and value in (selecting.ANY, told[name]) for name, value in wanted)


# ---- security groups


async def groups(memory: Memory, terms: Sequence[Term]) -> Look[tuple[Wire, ...]]:
    questions, seconds = selecting.security_groups(terms), memory.intervals.groups - EARLY_SECONDS
    try:
        wires, problem = await found(memory, calls.DESCRIBE_SECURITY_GROUPS, questions, seconds)
    except CloudError as error:
        return Look(failed(GROUPS, error), None, AGAIN, error)
    wires = tuple(sorted(wires, key=lambda one: str(one["GroupId"])))
    if not wires:
        every = shown(terms, "securityGroupSelectorTerms", range(len(terms)))
        told = f"no security group is selected by {every}; change a term, or tag a group so"
        return Look(bad(GROUPS, "SecurityGroupsNotFound", told), wires, AGAIN, problem)
    idle = _idle(terms, wires, "securityGroupSelectorTerms", "GroupId")
    return Look(good(GROUPS, idle), wires, RARELY, problem)


def networks_differ(subnet_wires: Sequence[Wire], group_wires: Sequence[Wire]) -> str:
    """Why no machine could have these groups in any of these subnets, "" if one could: all groups stand on each."""
    networks = {one.get("VpcId") for one in group_wires}
    homes = {one.get("VpcId") for one in subnet_wires}
    if not networks or not homes or (len(networks) == 1 and networks <= homes):
        return ""
    there = "; ".join(f"{one['GroupId']} is in {one.get('VpcId')}" for one in group_wires)
    return (
        f"no selected subnet is in one VPC with all selected security groups: subnets are in "
        f"{', '.join(sorted(map(str, homes)))}, {there}; narrow securityGroupSelectorTerms"
    )


# ---- the placement group


async def placement(memory: Memory, selector: Term | None) -> Look[PlacementGroup]:
    """Without a selector there is nothing to find, and that is good."""
    if selector is None:
        return Look(good(PLACEMENT), None, RARELY)
    named = str(selector.get("name") or selector.get("id") or "")
    question = {"GroupNames": [named]} if selector.get("name") else {"GroupIds": [named]}
    try:
        answer = await memory.all(calls.DESCRIBE_PLACEMENT_GROUPS, question, PLACEMENT_SECONDS)
    except NotFound:
        return Look(_no_group(named), None, AGAIN)
    except CloudError as error:
        return Look(failed(PLACEMENT, error, "PlacementGroupResolutionFailed"), None, AGAIN, error)
    if not answer.value:
        return Look(_no_group(named), None, AGAIN)
    wire = answer.value[0]
    if wire.get("State", "available") != "available":
        told = f"the placement group {named} is {wire['State']}, not available"
        return Look(bad(PLACEMENT, "PlacementGroupResolutionFailed", told), None, AGAIN)
    group = PlacementGroup(
        wire["GroupId"], wire.get("GroupName", ""), wire.get("Strategy", "cluster"), wire.get("PartitionCount") or 0
    )
    return Look(good(PLACEMENT), group, RARELY, answer.problem)


def _no_group(named: str) -> Verdict:
    told = f"there is no placement group {named}, which placementGroupSelector names; create it, or name another"
    return bad(PLACEMENT, "PlacementGroupNotFound", told)
