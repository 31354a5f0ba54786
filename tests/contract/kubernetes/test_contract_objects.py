"""Objects come, change and go: what the server fills in, what it refuses, and who wins when two write at once."""

from __future__ import annotations

import re
import ssl

import aiohttp
import pytest
from tests.contract.kubernetes.raw_api import Api, Server
from tests.contract.kubernetes.things import config_map, deployment, fresh, node, pod

from dovetail.api.kinds import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


async def test_a_created_object_gets_a_uid_a_stamp_and_a_version(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))
    assert answer.status == 201
    metadata = answer.body["metadata"]
    assert UUID.fullmatch(metadata["uid"])
    assert STAMP.fullmatch(metadata["creationTimestamp"])
    assert int(metadata["resourceVersion"]) > 0
    assert metadata["namespace"] == namespace
    assert answer.body["kind"] == "ConfigMap"
    assert answer.body["apiVersion"] == "v1"
    read = await api.get(CONFIG_MAPS.path("one", namespace))
    assert (read.status, read.body) == (200, answer.body)


async def test_what_the_server_fills_in_cannot_be_given(api: Api, namespace: str) -> None:
    given = config_map("one", uid="mine", creationTimestamp="2001-01-01T00:00:00Z", generation=7, selfLink="/x")
    metadata = (await api.post(CONFIG_MAPS.path(namespace=namespace), given)).ok()["metadata"]
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2001")
    assert "selfLink" not in metadata


async def test_kind_and_version_may_be_left_out_of_a_created_object(api: Api, namespace: str) -> None:
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), {"metadata": {"name": "bare"}})).ok()
    assert (made["kind"], made["apiVersion"]) == ("ConfigMap", "v1")


async def test_another_kind_than_the_address_says_is_refused(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), pod("one"))
    answer.refused(400, "BadRequest")


async def test_a_second_object_of_a_name_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("one"))).ok()
    status = (await api.post(path, config_map("one"))).refused(409, "AlreadyExists")
    assert status["message"] == 'configmaps "one" already exists'
    assert status["details"] == {"name": "one", "kind": "configmaps"}


async def test_a_generated_name_starts_as_asked_and_differs_every_time(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    made = [(await api.post(path, {"metadata": {"generateName": "gen-"}})).ok()["metadata"] for _ in range(2)]
    assert all(re.fullmatch(r"gen-[a-z0-9]{5}", metadata["name"]) for metadata in made)
    assert made[0]["name"] != made[1]["name"]
    assert made[0]["generateName"] == "gen-"


async def test_an_object_without_any_name_is_refused(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), {"metadata": {}})
    assert answer.causes() == {("FieldValueRequired", "metadata.name")}
    assert answer.body["message"].endswith("metadata.name: Required value: name or generateName is required")


async def test_a_name_with_capitals_is_refused(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("Not_Valid"))
    assert answer.causes() == {("FieldValueInvalid", "metadata.name")}
    assert answer.body["details"]["name"] == "Not_Valid"
    assert answer.body["message"].startswith('ConfigMap "Not_Valid" is invalid: metadata.name: Invalid value: ')


async def test_a_label_value_with_spaces_is_refused(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", labels={"a": "b c"}))
    assert answer.causes() == {("FieldValueInvalid", "metadata.labels")}


async def test_a_namespace_in_the_body_must_be_that_of_the_address(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", namespace="elsewhere"))
    answer.refused(400, "BadRequest")


async def test_an_object_in_a_missing_namespace_is_refused(api: Api) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace="not-there"), config_map("one"))
    status = answer.refused(404, "NotFound")
    assert status["message"] == 'namespaces "not-there" not found'


async def test_a_missing_object_is_named_in_the_refusal(api: Api, namespace: str) -> None:
    status = (await api.get(CONFIG_MAPS.path("none", namespace))).refused(404, "NotFound")
    assert status["message"] == 'configmaps "none" not found'
    assert status["details"] == {"name": "none", "kind": "configmaps"}
    status = (await api.get(DEPLOYMENTS.path("none", namespace))).refused(404, "NotFound")
    assert status["message"] == 'deployments.apps "none" not found'
    assert status["details"] == {"name": "none", "group": "apps", "kind": "deployments"}


async def test_a_kind_nobody_serves_is_not_found(api: Api) -> None:
    answer = await api.get("/apis/nobody.test/v1/things")
    assert answer.status == 404


async def test_a_body_that_is_no_json_is_refused(api: Api, namespace: str) -> None:
    answer = await api.request("POST", CONFIG_MAPS.path(namespace=namespace), b"{nope")
    answer.refused(400, "BadRequest")


async def test_a_patch_of_an_unknown_media_type_is_refused(api: Api, namespace: str) -> None:
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    answer = await api.patch(CONFIG_MAPS.path("one", namespace), {}, content="text/plain")
    answer.refused(415, "UnsupportedMediaType")


async def test_a_replacement_changes_the_version_and_keeps_the_uid(api: Api, namespace: str) -> None:
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))).ok()
    changed = (await api.put(CONFIG_MAPS.path("one", namespace), {**made, "data": {"b": "2"}})).ok()
    assert changed["data"] == {"b": "2"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert changed["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_a_replacement_that_changes_nothing_keeps_the_version(api: Api, namespace: str) -> None:
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))).ok()
    same = (await api.put(CONFIG_MAPS.path("one", namespace), made)).ok()
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_a_stale_replacement_is_refused(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))).ok()
    (await api.put(path, {**made, "data": {"a": "2"}})).ok()
    status = (await api.put(path, {**made, "data": {"a": "3"}})).refused(409, "Conflict")
    assert status["message"].startswith(
        'Operation cannot be fulfilled on configmaps "one": the object has been modified'
    )
    assert (await api.get(path)).body["data"] == {"a": "2"}


async def test_a_replacement_without_a_version_wins_over_whatever_is_there(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))).ok()
    assert (await api.put(path, config_map("one", {"a": "2"}))).ok()["data"] == {"a": "2"}


async def test_a_replacement_of_a_missing_object_is_refused(api: Api, namespace: str) -> None:
    (await api.put(NODES.path("never-there"), node("never-there"))).refused(404, "NotFound")


async def test_a_replacement_with_another_uid_is_refused(api: Api, namespace: str) -> None:
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    other = config_map("one", uid="11111111-2222-3333-4444-555555555555")
    status = (await api.put(CONFIG_MAPS.path("one", namespace), other)).refused(409, "Conflict")
    assert "Precondition failed: UID in precondition" in status["message"]


async def test_the_name_in_a_replacement_must_be_that_of_the_address(api: Api, namespace: str) -> None:
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    (await api.put(CONFIG_MAPS.path("one", namespace), config_map("two"))).refused(400, "BadRequest")


async def test_generation_counts_changes_of_the_spec_only(api: Api, namespace: str) -> None:
    path = DEPLOYMENTS.path("one", namespace)
    made = (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("one", replicas=0))).ok()
    assert made["metadata"]["generation"] == 1
    labelled = (await api.patch(path, {"metadata": {"labels": {"x": "y"}}})).ok()
    assert labelled["metadata"]["generation"] == 1
    paused = (await api.patch(path, {"spec": {"paused": True}})).ok()
    assert paused["metadata"]["generation"] == 2
    reported = (await api.patch(f"{path}/status", {"status": {"collisionCount": 3}})).ok()
    assert reported["metadata"]["generation"] == 2
    assert (await api.patch(path, {"spec": {"paused": True}})).ok()["metadata"]["generation"] == 2


async def test_a_pod_counts_generations_from_one(api: Api, namespace: str) -> None:
    made = (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    assert made["metadata"]["generation"] == 1


async def test_a_dry_run_creates_nothing(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"), dryRun="All")
    assert answer.status == 201
    assert UUID.fullmatch(answer.body["metadata"]["uid"])
    assert (await api.get(CONFIG_MAPS.path("one", namespace))).status == 404


async def test_a_dry_run_changes_and_deletes_nothing(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    made = (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))).ok()
    assert (await api.patch(path, {"data": {"a": "2"}}, dryRun="All")).ok()["data"] == {"a": "2"}
    assert (await api.put(path, {**made, "data": {"a": "3"}}, dryRun="All")).ok()["data"] == {"a": "3"}
    (await api.delete(path, dryRun="All")).ok()
    assert (await api.get(path)).ok() == made


async def test_a_dry_run_still_refuses_what_is_wrong(api: Api, namespace: str) -> None:
    answer = await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("Bad"), dryRun="All")
    answer.refused(422, "Invalid")


async def test_an_immutable_config_map_refuses_new_data(api: Api, namespace: str) -> None:
    frozen = {**config_map("one", {"a": "1"}), "immutable": True}
    (await api.post(CONFIG_MAPS.path(namespace=namespace), frozen)).ok()
    answer = await api.patch(CONFIG_MAPS.path("one", namespace), {"data": {"a": "2"}})
    assert ("FieldValueForbidden", "data") in answer.causes()


async def test_a_node_keeps_the_status_it_is_registered_with(api: Api) -> None:
    name = fresh("registered")
    made = (await api.post(NODES.path(), node(name))).ok()
    assert made["status"]["allocatable"]["cpu"] == "8"
    (await api.delete(NODES.path(name))).ok()


async def test_a_pod_loses_a_status_it_is_created_with(api: Api, namespace: str) -> None:
    made = (await api.post(PODS.path(namespace=namespace), {**pod("one"), "status": {"phase": "Running"}})).ok()
    assert made["status"]["phase"] == "Pending"


async def test_a_pods_spec_gets_its_defaults(api: Api, namespace: str) -> None:
    spec = (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["dnsPolicy"] == "ClusterFirst"
    assert spec["enableServiceLinks"] is True
    assert spec["priority"] == 0
    assert spec["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    tolerated = {toleration["key"] for toleration in spec["tolerations"]}
    assert tolerated == {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}


async def test_limits_stand_in_for_missing_requests(api: Api, namespace: str) -> None:
    container = {"name": "main", "image": "example/app:1", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    made = (await api.post(PODS.path(namespace=namespace), pod("one", containers=[container]))).ok()
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "1Gi"}
    assert made["status"]["qosClass"] == "Guaranteed"


async def test_a_pod_without_containers_is_refused(api: Api, namespace: str) -> None:
    answer = await api.post(PODS.path(namespace=namespace), pod("one", containers=[]))
    assert answer.causes() == {("FieldValueRequired", "spec.containers")}


async def test_a_pods_spec_cannot_be_rewritten(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    answer = await api.patch(PODS.path("one", namespace), {"spec": {"nodeSelector": {"other": "x"}}})
    assert {field for _, field in answer.causes()} == {"spec"}


async def test_a_deployment_whose_selector_misses_its_pods_is_refused(api: Api, namespace: str) -> None:
    wrong = deployment("one")
    wrong["spec"]["selector"]["matchLabels"] = {"app": "other"}
    answer = await api.post(DEPLOYMENTS.path(namespace=namespace), wrong)
    assert ("FieldValueInvalid", "spec.template.metadata.labels") in answer.causes()


@pytest.mark.parametrize("token", ["nonsense", "eyJhbGciOiJIUzI1NiJ9.e30.x"])
async def test_an_unknown_token_is_not_let_in(server: Server, token: str) -> None:
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=stranger)) as session,
        session.get(f"{server.url}/api/v1/nodes", headers={"Authorization": f"Bearer {token}"}) as answer,
    ):
        body = await answer.json()
    assert (answer.status, body["kind"], body["reason"]) == (401, "Status", "Unauthorized")
