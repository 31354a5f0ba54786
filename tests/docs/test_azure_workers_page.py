"""What the page on Spot workers on Azure says to apply is taken as it stands; its role is the table of what is done."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from dovetail.api.cluster_api import infra_reading
from dovetail.api.fields import fields
from dovetail.api.kinds import AZURE_MACHINES
from dovetail.clouds.azure import resources
from dovetail.clouds.azure.machines import places
from dovetail.clouds.azure.machines.bodies import Order
from dovetail.clouds.azure.machines.wishes import wish
from dovetail.clouds.machines import UserData
from dovetail.core.machines.infra_objects import Purchase

PAGE = (Path(__file__).resolve().parents[2] / "docs/howto/spot-workers-azure.md").read_text(encoding="utf-8")
MANIFESTS = {one["kind"]: one for one in yaml.safe_load_all(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])}


def test_R26_R27_R28_the_manifests_of_the_page_make_a_spot_machine():
    spec = MANIFESTS["AzureMachineTemplate"]["spec"]["template"]["spec"]
    whole = {"metadata": {"name": "m", "creationTimestamp": "2027-01-15T08:00:00Z"}, "spec": spec}
    wanted = infra_reading.infra_machine(AZURE_MACHINES, fields(whole)).wanted
    where = places.place(MANIFESTS["AzureCluster"]["spec"], "my-cluster", "ID")
    order = Order(Purchase("m", "t" * 64, "my-cluster", "m", wanted, "1", False), wish(wanted, "ID"), where)
    sent: dict[str, Any] = order.virtual_machine(UserData(b"x"), "ssh-ed25519 x")["properties"]
    assert (sent["priority"], sent["evictionPolicy"], sent["billingProfile"]) == ("Spot", "Delete", {"maxPrice": 0.05})
    ((_, interface),) = order.interfaces()
    (first,) = interface["properties"]["ipConfigurations"]
    assert first["properties"]["subnet"]["id"].endswith(
        "/my-network/providers/Microsoft.Network/virtualNetworks/my-vnet/subnets/workers"
    )


def test_R12_the_role_of_the_page_allows_what_is_done_and_starts_nothing():
    actions = set(json.loads(re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0])["Actions"])
    done = {f"{one.type}/{verb}" for one in resources.EVERY for verb in ("read", "write", "delete")}
    joined = {one for one in actions if one.endswith(("/join/action", "/assign/action"))}
    assert actions - joined == done
    assert not [one for one in actions if "start" in one or "deallocate" in one.lower()]
