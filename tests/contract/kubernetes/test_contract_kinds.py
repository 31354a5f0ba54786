"""Kinds with habits of their own: secrets, leases, events, priorities, tokens, node updates."""

from __future__ import annotations

import base64

import aiohttp
from tests.contract.kubernetes.raw_api import MERGE, Api
from tests.contract.kubernetes.things import fresh, node, pod

from dovetail.api.kinds import (
    CONFIG_MAPS,
    CORE_EVENTS,
    EVENTS,
    LEASES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    SECRETS,
    SERVICE_ACCOUNTS,
)


async def test_a_secrets_plain_strings_are_encoded(api: Api, namespace: str) -> None:
    body = {"metadata": {"name": "one"}, "stringData": {"word": "open"}}
    made = (await api.post(SECRETS.path(namespace=namespace), body)).ok()
    assert made["data"] == {"word": base64.b64encode(b"open").decode()}
    assert "stringData" not in made
    assert made["type"] == "Opaque"


async def test_a_lease_is_taken_by_whoever_saw_it_last(api: Api, namespace: str) -> None:
    times = {"acquireTime": "2026-01-01T00:00:00.000001Z", "renewTime": "2026-01-01T00:00:00.000001Z"}
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 1, **times}
    made = (await api.post(LEASES.path(namespace=namespace), {"metadata": {"name": "lock"}, "spec": spec})).ok()
    assert made["spec"] == spec
    path = LEASES.path("lock", namespace)
    (await api.put(path, {**made, "spec": {**spec, "holderIdentity": "b"}})).ok()
    (await api.put(path, {**made, "spec": {**spec, "holderIdentity": "c"}})).refused(409, "Conflict")
    assert (await api.get(path)).ok()["spec"]["holderIdentity"] == "b"


async def test_a_lease_of_no_duration_is_refused(api: Api, namespace: str) -> None:
    body = {"metadata": {"name": "lock"}, "spec": {"leaseDurationSeconds": 0}}
    answer = await api.post(LEASES.path(namespace=namespace), body)
    assert answer.causes() == {("FieldValueInvalid", "spec.leaseDurationSeconds")}


async def test_an_event_is_the_same_in_both_groups(api: Api, namespace: str) -> None:
    event = {
        "metadata": {"name": "one"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "contract.test/reporter",
        "reportingInstance": "one",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "note": "hello",
        "regarding": {"apiVersion": "v1", "kind": "Pod", "name": "some", "namespace": namespace},
    }
    (await api.post(EVENTS.path(namespace=namespace), event)).ok()
    old = (await api.get(CORE_EVENTS.path("one", namespace))).ok()
    assert (old["message"], old["involvedObject"]["name"]) == ("hello", "some")
    assert old["reportingComponent"] == "contract.test/reporter"
    again = (
        await api.patch(
            EVENTS.path("one", namespace), {"series": {"count": 2, "lastObservedTime": event["eventTime"]}}, MERGE
        )
    ).ok()
    assert again["series"]["count"] == 2


async def test_a_pods_priority_comes_from_its_class(api: Api, namespace: str) -> None:
    name = fresh("important")
    (await api.post(PRIORITY_CLASSES.path(), {"metadata": {"name": name}, "value": 1234})).ok()
    made = (await api.post(PODS.path(namespace=namespace), pod("one", priorityClassName=name))).ok()
    assert made["spec"]["priority"] == 1234
    assert made["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    answer = await api.post(PODS.path(namespace=namespace), pod("two", priorityClassName="never-heard-of"))
    assert "no PriorityClass with name never-heard-of was found" in answer.refused(403, "Forbidden")["message"]


async def test_a_service_account_is_given_a_token_that_lets_it_in(api: Api, namespace: str) -> None:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    answer = await api.post(f"{SERVICE_ACCOUNTS.path('default', namespace)}/token", request)
    assert answer.status == 201
    assert "expirationTimestamp" in answer.body["status"]
    headers = {"Authorization": f"Bearer {answer.body['status']['token']}"}
    connector = aiohttp.TCPConnector(ssl=_trusting(api))
    async with (
        aiohttp.ClientSession(api.server.url, connector=connector, headers=headers) as session,
        session.get("/api") as known,
    ):
        assert known.status == 200


def _trusting(api: Api) -> bool:
    # Without the client certificate of the suite: the token alone must do. Whom we talk to is of no matter here.
    assert api.server.url.startswith("https://127.0.0.1:")
    return False


async def test_a_nodes_provider_id_is_set_once(api: Api) -> None:
    name = fresh("provided")
    (await api.post(NODES.path(), node(name))).ok()
    (await api.patch(NODES.path(name), {"spec": {"providerID": "test://one"}})).ok()
    answer = await api.patch(NODES.path(name), {"spec": {"providerID": "test://two"}})
    assert {field for _, field in answer.causes()} == {"spec.providerID"}
    (await api.delete(NODES.path(name))).ok()


async def test_two_taints_of_one_key_and_effect_are_refused(api: Api) -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    answer = await api.post(NODES.path(), node(fresh("twice"), taints=[taint, taint]))
    assert ("FieldValueDuplicate", "metadata.taints[1]") in answer.causes()


async def test_a_method_nobody_offers_is_refused(api: Api, namespace: str) -> None:
    answer = await api.put(CONFIG_MAPS.path(namespace=namespace), {})
    answer.refused(405, "MethodNotAllowed")


async def test_a_version_from_the_future_is_waited_for_in_vain(api: Api, namespace: str) -> None:
    query = {"resourceVersion": str(10**12), "resourceVersionMatch": "NotOlderThan"}
    status = (await api.get(CONFIG_MAPS.path(namespace=namespace), **query)).refused(504, "Timeout")
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"
    assert status["details"]["retryAfterSeconds"] >= 1
