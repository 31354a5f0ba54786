"""Lists: pages, versions, and what happens when a page's version is forgotten."""

from __future__ import annotations

from tests.contract.kubernetes.custom import forgetful
from tests.contract.kubernetes.raw_api import Answer, Api
from tests.contract.kubernetes.things import config_map

from dovetail.api.kinds import CONFIG_MAPS, PODS


async def filled(api: Api, namespace: str, count: int) -> str:
    path = CONFIG_MAPS.path(namespace=namespace)
    for number in range(count):
        (await api.post(path, config_map(f"m{number}", labels={"from": "contract"}))).ok()
    return path


def names(answer: Answer) -> list[str]:
    # A controller puts the cluster's CA into every namespace; it is no business of these rows.
    found = [item["metadata"]["name"] for item in answer.ok()["items"]]
    return [name for name in found if name != "kube-root-ca.crt"]


OURS = "from=contract"


async def test_a_list_has_a_kind_a_version_and_items_in_order_of_name(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 3)
    answer = await api.get(path)
    assert names(answer) == ["m0", "m1", "m2"]
    assert (answer.body["kind"], answer.body["apiVersion"]) == ("ConfigMapList", "v1")
    assert int(answer.body["metadata"]["resourceVersion"]) > 0


async def test_items_of_a_list_do_not_repeat_kind_and_version(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 1)
    item = (await api.get(path, labelSelector=OURS)).ok()["items"][0]
    assert "kind" not in item
    assert "apiVersion" not in item


async def test_an_empty_list_has_an_empty_array(api: Api, namespace: str) -> None:
    assert (await api.get(PODS.path(namespace=namespace))).ok()["items"] == []


async def test_a_list_of_all_namespaces_holds_those_of_one(api: Api, namespace: str) -> None:
    await filled(api, namespace, 1)
    found = (await api.get(CONFIG_MAPS.path(), labelSelector=OURS)).ok()["items"]
    assert namespace in {item["metadata"]["namespace"] for item in found}


async def test_a_list_of_a_missing_namespace_is_empty(api: Api) -> None:
    assert (await api.get(CONFIG_MAPS.path(namespace="not-there"))).ok()["items"] == []


async def test_pages_cut_a_list_without_losing_or_doubling(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 5)
    first = await api.get(path, limit=2, fieldSelector="metadata.name!=kube-root-ca.crt")
    assert names(first) == ["m0", "m1"]
    token = first.body["metadata"]["continue"]
    second = await api.get(path, limit=2, fieldSelector="metadata.name!=kube-root-ca.crt", **{"continue": token})
    third = await api.get(
        path,
        limit=2,
        fieldSelector="metadata.name!=kube-root-ca.crt",
        **{"continue": second.body["metadata"]["continue"]},
    )
    assert names(second) + names(third) == ["m2", "m3", "m4"]
    assert "continue" not in third.body["metadata"]


async def test_the_first_page_says_how_many_are_left_when_nothing_was_selected(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 4)
    everything = len((await api.get(path)).ok()["items"])
    page = (await api.get(path, limit=3)).ok()
    assert page["metadata"]["remainingItemCount"] == everything - 3


async def test_the_last_page_counts_nothing_left(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 2)
    page = (await api.get(path, limit=50)).ok()
    assert "remainingItemCount" not in page["metadata"]
    assert "continue" not in page["metadata"]


async def test_a_selected_list_does_not_count_what_is_left(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 3)
    page = (await api.get(path, limit=1, labelSelector=OURS)).ok()
    assert "continue" in page["metadata"]
    assert "remainingItemCount" not in page["metadata"]


async def test_all_pages_show_the_moment_of_the_first(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 3)
    first = (await api.get(path, limit=1, labelSelector=OURS)).ok()
    (await api.delete(f"{path}/m2")).ok()
    (await api.post(path, config_map("m1a", labels={"from": "contract"}))).ok()
    rest = await api.get(path, labelSelector=OURS, limit=10, **{"continue": first["metadata"]["continue"]})
    assert names(rest) == ["m1", "m2"]
    assert rest.body["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_continue_token_of_forgotten_history_is_expired(api: Api, namespace: str) -> None:
    path = await forgetful(api, namespace)
    token = (await api.get(path, limit=1)).ok()["metadata"]["continue"]
    api.server.expire()
    answer = await api.get(path, limit=1, **{"continue": api.server.aged(token)})
    status = answer.refused(410, "Expired")
    assert "The provided continue parameter is too old" in status["message"]


async def test_an_expired_list_offers_a_token_to_go_on_with_at_a_newer_version(api: Api, namespace: str) -> None:
    path = await forgetful(api, namespace)
    token = (await api.get(path, limit=1)).ok()["metadata"]["continue"]
    api.server.expire()
    expired = await api.get(path, limit=1, **{"continue": api.server.aged(token)})
    offered = expired.body["metadata"]["continue"]
    assert names(await api.get(path, limit=5, **{"continue": offered})) == ["two"]


async def test_a_continue_token_of_nonsense_is_refused(api: Api, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace=namespace), limit=1, **{"continue": "nonsense"})
    assert answer.status in (400, 410)


async def test_a_list_at_version_zero_is_whatever_the_server_has(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 1)
    assert (await api.get(path, resourceVersion="0")).status == 200


async def test_a_list_not_older_than_a_version_holds_what_was_written_then(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    made = (await api.post(path, config_map("one"))).ok()
    answer = await api.get(
        path, resourceVersion=made["metadata"]["resourceVersion"], resourceVersionMatch="NotOlderThan"
    )
    assert "one" in names(answer)


async def test_a_list_at_an_exact_version_shows_that_moment(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    made = (await api.post(path, config_map("one"))).ok()
    (await api.post(path, config_map("two"))).ok()
    version = made["metadata"]["resourceVersion"]
    answer = await api.get(path, resourceVersion=version, resourceVersionMatch="Exact")
    assert names(answer) == ["one"]
    assert answer.body["metadata"]["resourceVersion"] == version


async def test_a_version_that_is_no_number_is_refused(api: Api, namespace: str) -> None:
    answer = await api.get(CONFIG_MAPS.path(namespace=namespace), resourceVersion="abc")
    assert answer.status in (400, 422)
    assert answer.body["kind"] == "Status"


async def test_versions_grow_across_kinds(api: Api, namespace: str) -> None:
    first = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    listed = (await api.get(PODS.path(namespace=namespace))).ok()
    assert int(listed["metadata"]["resourceVersion"]) >= int(first["metadata"]["resourceVersion"])


async def test_a_collection_is_deleted_by_selector(api: Api, namespace: str) -> None:
    path = await filled(api, namespace, 2)
    (await api.post(path, config_map("kept", labels={"from": "elsewhere"}))).ok()
    (await api.delete(path, labelSelector=OURS)).ok()
    assert names(await api.get(path)) == ["kept"]
