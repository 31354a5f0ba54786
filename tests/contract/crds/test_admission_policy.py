"""The policy that keeps control planes off machines that may be taken away (R36), on a server that enforces it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contract.crds.machine_rows import AWS_MACHINE, AZURE_MACHINE, GCP_MACHINE
from tests.contract.crds.putting import define
from tests.contract.crds.rows import Table, changed
from tests.contract.kubernetes.raw_api import Answer, Api, Server, asked
from tests.control_plane_plugin import GROUP

from dovetail.api.crds.cluster_api import policy
from dovetail.api.kinds import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS

pytestmark = pytest.mark.xdist_group(GROUP)
LABEL = {"metadata.labels": {policy.CONTROL_PLANE: ""}}
SPOT = [
    (AWS_MACHINE, {"spec.spotMarketOptions": {}}),
    (AWS_MACHINE, {"spec.marketType": "Spot"}),
    (GCP_MACHINE, {"spec.preemptible": True}),
    (GCP_MACHINE, {"spec.provisioningModel": "Spot"}),
    (AZURE_MACHINE, {"spec.spotVMOptions": {"maxPrice": "-1"}}),
]
NOT_SPOT = [
    (AWS_MACHINE, {"spec.marketType": "OnDemand"}),
    (GCP_MACHINE, {"spec.preemptible": False, "spec.provisioningModel": "Standard"}),
    (AZURE_MACHINE, {}),
]


def _named(value: Any) -> str:
    return value.kind.name if isinstance(value, Table) else ",".join(value).replace("spec.", "") or "nothing"


#: A policy is enforced a moment after it is stored.
PATIENCE, STEP = 150, 0.2


async def put(api: Api, table: Table, changes: dict[str, Any]) -> Answer:
    return await api.post(table.kind.path(namespace="default"), changed(table.base, changes), dryRun="All")


@pytest.fixture(scope="module")
def guarded(real_server: Server) -> Iterator[Server]:
    """A server with our definitions and the policy, at work."""

    async def guard(api: Api) -> None:
        await define(api)
        (await api.apply(ADMISSION_POLICIES.path(policy.NAME), policy.policy(), "contract", force="true")).ok()
        (await api.apply(ADMISSION_POLICY_BINDINGS.path(policy.NAME), policy.binding(), "contract", force="true")).ok()
        for table in (AWS_MACHINE, GCP_MACHINE, AZURE_MACHINE):
            spot = next(changes for one, changes in SPOT if one is table)
            for _ in range(PATIENCE):
                if (await put(api, table, LABEL | spot)).status == 403:
                    break
                await asyncio.sleep(STEP)

    async def free(api: Api) -> None:
        await api.delete(ADMISSION_POLICY_BINDINGS.path(policy.NAME))
        await api.delete(ADMISSION_POLICIES.path(policy.NAME))

    asked(real_server, guard)
    yield real_server
    asked(real_server, free)


@pytest.mark.parametrize(("table", "spot"), SPOT, ids=_named)
def test_a_control_plane_on_spot_is_refused_however_spot_is_asked_for(
    guarded: Server, table: Table, spot: dict[str, Any]
) -> None:
    answer = asked(guarded, lambda api: put(api, table, LABEL | spot))
    assert answer.status == 403
    assert policy.MESSAGE in answer.body["message"]


@pytest.mark.parametrize(("table", "spot"), SPOT, ids=_named)
def test_a_worker_on_spot_is_let_in(guarded: Server, table: Table, spot: dict[str, Any]) -> None:
    assert asked(guarded, lambda api: put(api, table, spot)).status == 201


@pytest.mark.parametrize(("table", "plain"), NOT_SPOT, ids=_named)
def test_a_control_plane_that_stays_is_let_in(guarded: Server, table: Table, plain: dict[str, Any]) -> None:
    assert asked(guarded, lambda api: put(api, table, LABEL | plain)).status == 201


def test_the_label_is_judged_when_it_comes_later(guarded: Server) -> None:
    path = AWS_MACHINE.kind.path("late", "default")

    async def scenario(api: Api) -> Answer:
        wire = changed(AWS_MACHINE.base, {"metadata.name": "late", "spec.spotMarketOptions": {}})
        (await api.post(AWS_MACHINE.kind.path(namespace="default"), wire)).ok()
        try:
            return await api.patch(path, {"metadata": {"labels": {policy.CONTROL_PLANE: ""}}})
        finally:
            await api.delete(path)

    assert asked(guarded, scenario).status == 403
