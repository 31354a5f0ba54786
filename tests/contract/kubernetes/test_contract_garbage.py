"""Owners and dependents: background, foreground and orphan deletion."""

from __future__ import annotations

from typing import Any

from tests.contract.kubernetes.raw_api import Answer, Api, gone
from tests.contract.kubernetes.things import config_map

from dovetail.api.kinds import CONFIG_MAPS


def owned_by(owner: dict[str, Any], **fields: Any) -> dict[str, Any]:
    metadata = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"], **fields}


async def family(api: Api, namespace: str, **reference: Any) -> tuple[str, str]:
    """An owner and its dependent; returns their paths."""
    path = CONFIG_MAPS.path(namespace=namespace)
    owner = (await api.post(path, config_map("owner"))).ok()
    (await api.post(path, config_map("child", ownerReferences=[owned_by(owner, **reference)]))).ok()
    return f"{path}/owner", f"{path}/child"


async def test_dependents_go_after_their_owner(api: Api, namespace: str) -> None:
    owner, child = await family(api, namespace)
    (await api.delete(owner, {"propagationPolicy": "Background"})).ok()
    assert (await api.get(owner)).status == 404
    await api.until(child, gone)


async def test_background_is_what_happens_when_nothing_is_said(api: Api, namespace: str) -> None:
    owner, child = await family(api, namespace)
    (await api.delete(owner)).ok()
    await api.until(child, gone)


async def test_grandchildren_go_too(api: Api, namespace: str) -> None:
    owner, child = await family(api, namespace)
    middle = (await api.get(child)).ok()
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("grandchild", ownerReferences=[owned_by(middle)]))).ok()
    (await api.delete(owner)).ok()
    await api.until(f"{path}/grandchild", gone)


async def test_orphans_stay_and_forget_their_owner(api: Api, namespace: str) -> None:
    owner, child = await family(api, namespace)
    (await api.delete(owner, {"propagationPolicy": "Orphan"})).ok()
    await api.until(owner, gone)
    left = await api.until(child, lambda answer: "ownerReferences" not in answer.ok()["metadata"])
    assert left.status == 200


async def test_a_foreground_deletion_waits_for_dependents_that_block_it(api: Api, namespace: str) -> None:
    owner, child = await family(api, namespace, blockOwnerDeletion=True)
    (await api.patch(child, {"metadata": {"finalizers": ["contract.test/wait"]}})).ok()
    answer = (await api.delete(owner, {"propagationPolicy": "Foreground"})).ok()
    assert answer["metadata"]["finalizers"] == ["foregroundDeletion"]

    def marked(answer: Answer) -> bool:
        return "deletionTimestamp" in answer.ok()["metadata"]

    await api.until(child, marked)
    assert (await api.get(owner)).status == 200
    (await api.patch(child, {"metadata": {"finalizers": None}})).ok()
    await api.until(owner, gone)


async def test_a_dependent_with_another_living_owner_stays(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    first, second = [(await api.post(path, config_map(name))).ok() for name in ("first", "second")]
    references = [owned_by(first), owned_by(second)]
    (await api.post(path, config_map("child", ownerReferences=references))).ok()
    (await api.delete(f"{path}/first")).ok()
    left = await api.until(f"{path}/child", lambda answer: len(answer.ok()["metadata"]["ownerReferences"]) == 1)
    assert left.body["metadata"]["ownerReferences"][0]["name"] == "second"


async def test_a_dependent_of_an_owner_that_never_was_goes(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    stranger = {"metadata": {"name": "never", "uid": "11111111-2222-3333-4444-555555555555"}}
    (await api.post(path, config_map("child", ownerReferences=[owned_by(stranger)]))).ok()
    await api.until(f"{path}/child", gone)


async def test_an_owner_of_the_same_name_and_another_uid_is_no_owner(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    owner = (await api.post(path, config_map("owner"))).ok()
    other = {"metadata": {**owner["metadata"], "uid": "11111111-2222-3333-4444-555555555555"}}
    (await api.post(path, config_map("child", ownerReferences=[owned_by(other)]))).ok()
    await api.until(f"{path}/child", gone)
    assert (await api.get(f"{path}/owner")).status == 200


async def test_two_controllers_of_one_object_are_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    owners = [(await api.post(path, config_map(name))).ok() for name in ("a", "b")]
    references = [owned_by(owner, controller=True) for owner in owners]
    answer = await api.post(path, config_map("child", ownerReferences=references))
    assert answer.causes() == {("FieldValueInvalid", "metadata.ownerReferences")}
