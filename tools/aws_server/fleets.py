"""CreateFleet of type instant: one call, so many machines, each of the first pool that has one.

As on EC2: errors may stand beside instances; the same client token is the same fleet, or an error with another request;
two overrides of one type and zone are refused outright; nothing falls back from a reservation to the market.
"""

from __future__ import annotations

import json
import uuid
from typing import Any, Final

from tools.aws_server.buying import SPOT, NotSold, Offer, buy, subnet_named
from tools.aws_server.graft import Actions, Answer, dry_run, refused, tags_in
from tools.aws_server.world import WORLD

_NO_PRICE: Final = 1e9
_FLEET_TAG: Final = "aws:ec2:fleet-id"


def _create(response: Any) -> Answer:
    dry_run(response)
    request = dict(response.params)
    if request.get("Type") != "instant":
        raise refused("InvalidParameterValue", "only fleets of type instant are known here")
    with WORLD.lock:
        token, digest = request.pop("ClientToken", ""), json.dumps(request, sort_keys=True, default=str)
        known = WORLD.fleet_tokens.get(token) if token else None
        if known is None:
            known = digest, _filled(response, request)
            WORLD.fleet_tokens[token or str(uuid.uuid4())] = known
        elif known[0] != digest:
            text = "The request uses the same client token as a previous, but non-identical request."
            raise refused("IdempotentParameterMismatch", text)
        return known[1]


def _filled(response: Any, request: Answer) -> Answer:
    backend, target = response.ec2_backend, request["TargetCapacitySpecification"]
    capacity_type = target.get("DefaultTargetCapacityType", "on-demand")
    offers = _offers(backend, request, capacity_type)
    _refuse_twins(offers)
    offers.sort(key=_rank(_strategy(request, capacity_type), capacity_type))
    fleet = f"fleet-{uuid.uuid4()}"
    tags = {kind: tags_in(response, kind) for kind in ("instance", "volume")}
    tags["instance"][_FLEET_TAG] = fleet
    result = _Result(capacity_type)
    for _ in range(int(target["TotalTargetCapacity"])):
        for offer in offers:
            if not result.failed(offer):
                sold = buy(backend, offer, tags)
                result.note(offer, sold)
                if not isinstance(sold, NotSold):
                    break
    return {"FleetId": fleet, "Instances": list(result.instances.values()), "Errors": list(result.errors.values())}


class _Result:
    """What came of a fleet. A pool that has failed is not asked again: EC2 has just said no."""

    def __init__(self, capacity_type: str) -> None:
        self._lifecycle = "spot" if capacity_type == SPOT else "on-demand"
        self.instances: dict[int, Answer] = {}
        self.errors: dict[int, Answer] = {}

    def failed(self, offer: Offer) -> bool:
        return id(offer) in self.errors

    def note(self, offer: Offer, sold: Any) -> None:
        override = {key: value for key, value in offer.override.items() if key != "LaunchTemplateSpecificationUserData"}
        chosen = {"LaunchTemplateSpecification": offer.specification, "Overrides": override}
        entry = {"LaunchTemplateAndOverrides": chosen, "Lifecycle": self._lifecycle}
        if isinstance(sold, NotSold):
            self.errors[id(offer)] = {**entry, "ErrorCode": sold.code, "ErrorMessage": sold.message}
            return
        held = self.instances.setdefault(id(offer), {**entry, "InstanceIds": [], "InstanceType": offer.instance_type})
        held["InstanceIds"].append(sold.instance.id)


def _offers(backend: Any, request: Answer, capacity_type: str) -> list[Offer]:
    found = []
    for config in request.get("LaunchTemplateConfigs", []):
        specification = dict(config["LaunchTemplateSpecification"])
        if "LaunchTemplateId" in specification:
            template = backend.get_launch_template(specification["LaunchTemplateId"])
        else:
            template = backend.get_launch_template_by_name(specification["LaunchTemplateName"])
        version = template.get_version(specification.get("Version", "$Default"))
        known = {"LaunchTemplateId": template.id, "Version": str(version.number)}
        wholes = (_whole(backend, override) for override in config.get("Overrides") or [{}])
        found += (Offer(known, whole, version.data, capacity_type) for whole in wholes)
    return found


def _whole(backend: Any, override: Answer) -> Answer:
    """An override with its zone; EC2 works it out from the subnet."""
    subnet = subnet_named(backend, override.get("SubnetId"))
    if subnet is None:
        return override
    return {**override, "AvailabilityZone": subnet.availability_zone}


def _refuse_twins(offers: list[Offer]) -> None:
    pools = [(offer.instance_type, offer.zone) for offer in offers]
    if len(set(pools)) != len(pools):
        raise refused("InvalidFleetConfig", "The fleet configuration contains duplicate instance pools")
    for offer in offers:
        if offer.reservation is not None and offer.preference == "none":
            text = "A capacity reservation target cannot be specified with the preference none"
            raise refused("InvalidParameterCombination", text)


def _strategy(request: Answer, capacity_type: str) -> str:
    options = request.get("SpotOptions" if capacity_type == SPOT else "OnDemandOptions") or {}
    return str(options.get("AllocationStrategy", "lowest-price"))


def _rank(strategy: str, capacity_type: str) -> Any:
    def rank(offer: Offer) -> float:
        if strategy.endswith("prioritized"):
            return float(offer.override.get("Priority", _NO_PRICE))
        if capacity_type == SPOT:
            return WORLD.spot.get((offer.instance_type, offer.zone), _NO_PRICE)
        return WORLD.on_demand.get(offer.instance_type, _NO_PRICE)

    return rank


ACTIONS: Final[Actions] = {"CreateFleet": _create}
