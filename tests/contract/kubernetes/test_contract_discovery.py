"""What a client asks before it asks anything: version, health, discovery, OpenAPI; and tables for people."""

from __future__ import annotations

import re

import pytest
from tests.contract.kubernetes.raw_api import TABLE, Api
from tests.contract.kubernetes.things import config_map, fresh, node, pod

from dovetail.api.kinds import CONFIG_MAPS, NODES, PODS

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


async def test_the_server_tells_its_version(api: Api) -> None:
    version = (await api.get("/version")).ok()
    assert version["major"] == "1"
    assert int(version["minor"].rstrip("+")) >= 30
    assert re.match(r"v1\.\d+\.\d+", version["gitVersion"])


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_a_healthy_server_says_ok(api: Api, path: str) -> None:
    # The real one is unwell for a moment after a kind was removed.
    answer = await api.until(path, lambda answer: answer.status == 200)
    assert answer.body == "ok"


async def test_the_core_group_is_listed(api: Api) -> None:
    answer = (await api.get("/api")).ok()
    assert (answer["kind"], answer["versions"]) == ("APIVersions", ["v1"])


async def test_groups_are_listed_with_their_versions(api: Api) -> None:
    answer = (await api.get("/apis")).ok()
    assert answer["kind"] == "APIGroupList"
    preferred = {group["name"]: group["preferredVersion"]["groupVersion"] for group in answer["groups"]}
    assert preferred["apps"] == "apps/v1"
    assert preferred["policy"] == "policy/v1"
    wanted = {"batch", "coordination.k8s.io", "events.k8s.io", "apiextensions.k8s.io", "storage.k8s.io"}
    assert wanted <= set(preferred)
    assert (await api.get("/apis/apps")).ok()["kind"] == "APIGroup"


async def test_resources_of_a_group_are_listed_with_what_can_be_done_to_them(api: Api) -> None:
    answer = (await api.get("/api/v1")).ok()
    assert (answer["kind"], answer["groupVersion"]) == ("APIResourceList", "v1")
    resources = {resource["name"]: resource for resource in answer["resources"]}
    pods = resources["pods"]
    assert (pods["kind"], pods["namespaced"], pods["singularName"]) == ("Pod", True, "pod")
    assert pods["shortNames"] == ["po"]
    assert "all" in pods["categories"]
    assert {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"} <= set(pods["verbs"])
    assert resources["nodes"]["namespaced"] is False
    assert {"pods/status", "pods/binding", "pods/eviction", "nodes/status"} <= set(resources)
    assert (resources["pods/eviction"]["group"], resources["pods/eviction"]["kind"]) == ("policy", "Eviction")
    deployments = {one["name"]: one for one in (await api.get("/apis/apps/v1")).ok()["resources"]}
    assert (deployments["deployments/scale"]["group"], deployments["deployments/scale"]["kind"]) == (
        "autoscaling",
        "Scale",
    )


async def test_discovery_in_one_answer_names_the_same_kinds(api: Api) -> None:
    answer = await api.get("/apis", accept=AGGREGATED)
    assert answer.ok()["kind"] in ("APIGroupDiscoveryList", "APIGroupList")
    if answer.body["kind"] == "APIGroupDiscoveryList":
        apps = next(group for group in answer.body["items"] if group["metadata"]["name"] == "apps")
        resources = {one["resource"]: one for one in apps["versions"][0]["resources"]}
        assert resources["deployments"]["responseKind"]["kind"] == "Deployment"
        assert resources["deployments"]["scope"] == "Namespaced"


async def test_openapi_v3_leads_to_schemas_with_kinds(api: Api) -> None:
    paths = (await api.get("/openapi/v3")).ok()["paths"]
    assert {"api/v1", "apis/apps/v1"} <= set(paths)
    document = (await api.get(paths["apis/apps/v1"]["serverRelativeURL"])).ok()
    schema = document["components"]["schemas"]["io.k8s.api.apps.v1.Deployment"]
    kinds = schema["x-kubernetes-group-version-kind"]
    assert {"group": "apps", "version": "v1", "kind": "Deployment"} in kinds


async def test_an_unknown_path_is_not_found(api: Api) -> None:
    assert (await api.get("/no/such/path")).status == 404


async def test_a_table_of_pods_is_what_kubectl_prints(api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    table = (await api.get(PODS.path(namespace=namespace), accept=TABLE)).ok()
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"] if column["priority"] == 0] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]
    row = table["rows"][0]
    assert row["cells"][:3] == ["one", "0/1", "Pending"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "one"


async def test_a_table_may_hold_whole_objects_or_none(api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path(namespace=namespace)
    (await api.post(path, config_map("one", {"a": "1"}))).ok()
    query = {"accept": TABLE, "fieldSelector": "metadata.name=one"}
    whole = (await api.get(path, includeObject="Object", **query)).ok()
    assert whole["rows"][0]["object"]["data"] == {"a": "1"}
    assert whole["rows"][0]["cells"][:2] == ["one", 1]
    bare = (await api.get(path, includeObject="None", **query)).ok()
    assert bare["rows"][0].get("object") is None


async def test_one_object_is_a_table_of_one_row(api: Api) -> None:
    name = fresh("tabled")
    (await api.post(NODES.path(), node(name))).ok()
    table = (await api.get(NODES.path(name), accept=TABLE)).ok()
    columns = [column["name"] for column in table["columnDefinitions"] if column["priority"] == 0]
    assert columns == ["Name", "Status", "Roles", "Age", "Version"]
    assert table["rows"][0]["cells"][:3] == [name, "Ready", "<none>"]
    (await api.delete(NODES.path(name))).ok()


async def test_a_table_is_preferred_with_json_to_fall_back_on(api: Api, namespace: str) -> None:
    accept = f"{TABLE},application/json"
    assert (await api.get(PODS.path(namespace=namespace), accept=accept)).ok()["kind"] == "Table"


async def test_metadata_alone_can_be_asked_for(api: Api, namespace: str) -> None:
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", {"a": "1"}))).ok()
    accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    thing = (await api.get(CONFIG_MAPS.path("one", namespace), accept=accept)).ok()
    assert (thing["kind"], thing["apiVersion"]) == ("PartialObjectMetadata", "meta.k8s.io/v1")
    assert "data" not in thing


async def test_a_watch_of_tables_sends_a_row_at_a_time(api: Api, namespace: str) -> None:
    path = PODS.path(namespace=namespace)
    since = (await api.get(path)).ok()["metadata"]["resourceVersion"]
    async with api.watch(path, resourceVersion=since, accept=TABLE) as watch:
        (await api.post(path, pod("one"))).ok()
        kind, table = await watch.event()
    assert (kind, table["kind"]) == ("ADDED", "Table")
    assert table["rows"][0]["cells"][0] == "one"
