"""Azure on a bad day: every answer it may give instead of the true one, at every request of a machine's life."""

from __future__ import annotations

import asyncio
import builtins
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.clouds.azure.azure_orders import BOOT, Shop, order, shop, sought
from tools.azure_server import Fault
from tools.azure_server.world import VM

from dovetail.clouds import port
from dovetail.clouds.azure import machines as azure
from dovetail.clouds.machines import refusal


def run(scenario: Callable[[Shop], Awaitable[None]], seconds: float = 5.0) -> None:
    async def through() -> None:
        async with shop(seconds) as one:
            await scenario(one)

    asyncio.run(through())


PUT_VM = ("PUT", "/virtualMachines/")
#: A request whose connection had been used before is sent again by the HTTP client itself.
LOST = 2
AT_ONCE = [
    (409, "SkuNotAvailable", "The requested VM size is not available.", port.NoCapacity),
    (409, "OverconstrainedAllocationRequest", "x", port.NoCapacity),
    (409, "OperationNotAllowed", "exceeding approved LowPriorityCores quota", port.QuotaExceeded),
    (403, "AuthorizationFailed", "The client does not have authorization.", port.Misconfigured),
    (401, "InvalidAuthenticationToken", "The access token is invalid.", port.Misconfigured),
    (404, "ResourceNotFound", "x", port.NotFound),
    (409, "AnotherOperationInProgress", "x", port.Unavailable),
    (500, "InternalServerError", "x", port.Unavailable),
]


@pytest.mark.parametrize(("status", "code", "message", "error"), AT_ONCE)
def test_R38_what_azure_refuses_at_once_is_sorted_and_the_next_order_finishes_what_was_begun(
    status: int, code: str, message: str, error: type[port.CloudError]
):
    async def scenario(one: Shop) -> None:
        one.server.faults.append(Fault(*PUT_VM, status, code, message))
        with pytest.raises(error, match=code) as told:
            await one.machines.create(order(), BOOT)
        assert type(told.value) is error
        assert await one.made(order())
        assert len(one.server.everything()) == 3

    run(scenario)


@pytest.mark.parametrize(("written", "wait"), [("7", 7.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("soon", 30.0)])
def test_a_throttle_is_passed_on_with_what_azure_asks_for(written: str, wait: float):
    async def scenario(one: Shop) -> None:
        one.server.faults.append(Fault(*PUT_VM, 429, "TooManyRequests", headers={"Retry-After": written}))
        with pytest.raises(port.Throttled) as told:
            await one.machines.create(order(), BOOT)
        assert refusal(told.value).wait == wait
        assert (
            len(
                [
                    asked
                    for asked in one.server.asked
                    if (asked.method, "/virtualMachines/" in asked.path) == ("PUT", True)
                ]
            )
            == 1
        )

    run(scenario)


@pytest.mark.parametrize("path", ["/networkInterfaces/", "/publicIPAddresses/", "/virtualMachines/"])
def test_R9_an_answer_that_was_lost_leaves_one_of_everything(path: str):
    async def scenario(one: Shop) -> None:
        one.server.faults.append(Fault("PUT", path, lost=True, times=LOST))
        with pytest.raises(port.Unavailable, match="cannot be reached"):
            await one.machines.create(order(allocatePublicIP=True), BOOT)
        one.machines = one.process()
        await one.made(order(allocatePublicIP=True))
        assert len(one.server.world.made) == 1
        assert len(one.server.everything()) == 4

    run(scenario)


def test_a_slow_answer_is_given_up_on_and_its_machine_found_again():
    async def scenario(one: Shop) -> None:
        one.server.faults.append(Fault(*PUT_VM, seconds=0.2, honest=True))
        with pytest.raises(port.Unavailable, match=r"did not answer within 0\.1 s"):
            await one.machines.create(order(), BOOT)
        await one.made(order())
        assert len(one.server.world.made) == 1

    run(scenario, 0.1)


@pytest.mark.parametrize("text", ["<html>Bad gateway</html>", "", "{", "[]", "null"])
@pytest.mark.parametrize("status", [200, 502])
def test_nonsense_is_no_answer(text: str, status: int):
    async def scenario(one: Shop) -> None:
        one.server.faults.append(Fault("GET", "/virtualMachines/", status, text=text))
        with pytest.raises(port.Unavailable):
            await one.machines.find(sought())

    run(scenario)


@pytest.mark.parametrize("text", [None, "<html>Not found</html>"])
def test_a_404_that_is_not_azures_and_another_subscription_are_no_machine_that_is_gone(text: str | None):
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        one.server.faults.append(Fault("GET", "/virtualMachines/", 404, "SubscriptionNotFound", text=text))
        theirs = made.provider_id.replace(one.server.world.subscription, "another")
        for id_ in (made.provider_id, theirs, "aws:///a/i-1"):
            with pytest.raises((port.Misconfigured, port.Unavailable)):
                await one.machines.find(sought(provider_id=id_))
        one.server.faults.append(Fault("GET", "/virtualMachines/", 404, "SubscriptionNotFound", text=text, times=3))
        for id_ in (made.provider_id, theirs, "aws:///a/i-1"):
            with pytest.raises((port.Misconfigured, port.Unavailable)):
                await one.machines.delete(sought(provider_id=id_))
        assert one.server.names(VM) == ["m"]

    run(scenario)


def test_a_fault_while_looking_is_never_taken_for_a_machine_that_is_gone():
    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        for status in (401, 403, 409, 429, 500, 503):
            one.server.faults.append(Fault("GET", "/virtualMachines/", status, str(status)))
            with pytest.raises(port.CloudError) as told:
                await one.machines.find(sought(provider_id=made.provider_id))
            assert not isinstance(told.value, port.NotFound)

    run(scenario)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("path", ["/virtualMachines/", "/networkInterfaces", "/disks", "/publicIPAddresses"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_fault_while_removing_passes_and_leaves_nothing(method: str, path: str, lost: bool):
    async def scenario(one: Shop) -> None:
        made = await one.made(order(allocatePublicIP=True))
        one.server.world.takes_along = False
        one.server.faults.append(Fault(method, path, lost=lost, times=LOST if lost else 1))
        with pytest.raises(port.Unavailable):
            await one.gone(made)
        one.machines = one.process()
        await one.gone(made)
        assert one.server.everything() == []

    run(scenario)


def test_a_conflict_with_ourselves_is_looked_into():
    """The order was taken, its answer lost, and ARM calls the second one a conflict."""

    async def scenario(one: Shop) -> None:
        made = await one.made(order())
        one.server.faults.append(Fault("GET", "/virtualMachines/", 404, "ResourceNotFound"))
        assert (await one.machines.create(order(), BOOT)).provider_id == made.provider_id
        assert len(one.server.world.made) == 1

    run(scenario)


def test_secrets_are_in_no_error():
    async def scenario(one: Shop) -> None:
        one.server.faults.append(
            Fault(*PUT_VM, 400, "InvalidParameter", "The value of parameter osProfile is invalid.")
        )
        with pytest.raises(port.Misconfigured) as told:
            await one.machines.create(order(), BOOT)
        assert "I2Nsb3Vk" not in repr(told.value) + str(told.value.__cause__)

    run(scenario)


# ------------------------------------------------------------------------------------------------ the door


def test_without_the_extra_it_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def missing(name: str, *more: Any, **given: Any) -> Any:
        if name.startswith("azure"):
            raise ImportError(name)
        return real(name, *more, **given)

    async def scenario() -> None:
        async with azure.opened(subscription="s"):
            raise AssertionError("it was opened")

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(port.Misconfigured, match=r"pip install 'dovetail\[azure\]'"):
        asyncio.run(scenario())


def test_without_a_subscription_it_is_said_in_one_sentence():
    async def scenario() -> None:
        async with azure.opened(subscription=""):
            raise AssertionError("it was opened")

    with pytest.raises(port.Misconfigured, match="no Azure subscription"):
        asyncio.run(scenario())


def test_it_is_opened_on_a_server_of_ones_own_and_asks_nobody_before_it_is_asked():
    async def scenario(one: Shop) -> None:
        given = {"subscription": one.server.world.subscription, "endpoint": one.server.url, "clusters": one.clusters}
        async with azure.opened(**given) as machines:
            assert machines.cloud == "azure"
            assert one.server.asked == []
            await machines.create(order(), BOOT)
        assert one.server.names(VM) == ["m"]

    run(scenario)


def test_credentials_that_cannot_be_had_are_said(monkeypatch: pytest.MonkeyPatch):
    """Over TLS the SDK asks its credentials first; here there are none, and nothing is sent."""
    from azure.core.exceptions import ClientAuthenticationError
    from azure.identity.aio import DefaultAzureCredential

    async def none(self: Any, *scopes: str, **more: Any) -> Any:
        raise ClientAuthenticationError(
            "DefaultAzureCredential failed to retrieve a token from the included credentials.\nmore"
        )

    monkeypatch.setattr(DefaultAzureCredential, "get_token", none)
    monkeypatch.setattr(DefaultAzureCredential, "get_token_info", none, raising=False)

    async def scenario() -> None:
        async with azure.opened(subscription="s", endpoint="https://127.0.0.1:1") as machines:
            with pytest.raises(port.Misconfigured, match="credentials are wrong"):
                await machines.roll_call((sought(),))

    asyncio.run(scenario())


def test_the_sdk_is_imported_when_it_is_opened_and_not_before():
    loaded = "import sys, dovetail.clouds.azure.machines.machines; print([m for m in sys.modules if m[:5] == 'azure'])"
    ran = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
