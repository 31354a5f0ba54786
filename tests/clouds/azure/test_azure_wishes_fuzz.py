"""Whatever an AzureMachine or an AzureCluster says is understood, or refused in a sentence; nothing else is raised."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.clouds.azure.azure_orders import BOOT, CLUSTER, SPEC, order

from dovetail.clouds.azure.machines import places, states, wishes
from dovetail.clouds.azure.machines.bodies import Order
from dovetail.clouds.port import Misconfigured
from dovetail.core.machines.infra_objects import Market, State, Wanted

KEYS = sorted(
    {*wishes._KNOWN, *wishes._REFUSED, "boot", "id", "marketplace", "lun", "name", "subnets", "vnet", "option"}
)
VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 300)
    | st.text(max_size=5)
    | st.sampled_from(["Linux", "Local", "Delete"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)
SPECS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)


@given(changes=SPECS, spot=st.booleans(), cluster=SPECS)
def test_every_object_is_understood_or_refused(changes: dict[str, Any], spot: bool, cluster: dict[str, Any]):
    wanted = Wanted("azure", "x", Market.SPOT if spot else Market.ON_DEMAND, spec={**SPEC, **changes})
    try:
        asked = wishes.wish(wanted, "s")
        where = places.place({**CLUSTER, "networkSpec": cluster, **cluster}, "c", "s")
        made = Order(order(), asked, where)
        sent = json.dumps([made.virtual_machine(BOOT, "k"), made.address(), *(body for _, body in made.interfaces())])
    except Misconfigured:
        return
    assert '"deleteOption": "Delete"' in sent
    assert ('"priority": "Spot"' in sent) is spot


WORDS = st.sampled_from(["Creating", "Succeeded", "Failed", "Deleting", "Updating", "", None, "Odd"])
CODES = st.sampled_from(
    ["PowerState/running", "PowerState/deallocated", "PowerState/", "ProvisioningState/failed/X", ""]
)


@given(word=WORDS, codes=st.lists(CODES, max_size=3), zones=st.none() | st.just([]) | st.just(["1"]))
def test_every_answer_is_a_state_and_only_what_runs_is_called_running(word: str | None, codes: list[str], zones: Any):
    statuses = [{"code": one} for one in codes]
    vm = {"id": "/x", "name": "m", "zones": zones, "properties": {"instanceView": {"statuses": statuses}}}
    vm["properties"] |= {"provisioningState": word, "timeCreated": "soon"}
    found = states.found(vm, "s")
    assert (found.state is State.RUNNING) <= ("PowerState/running" in codes)
    assert (found.state is State.GOING) is (word == "Deleting")
    assert not (states.is_undecided(vm) and states.has_failed(vm))
