"""kubectl itself, the one people have, against both servers."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contract.kubernetes.raw_api import PATIENCE, Api, Server
from tests.contract.kubernetes.things import config_map, deployment, fresh, node, pod

from dovetail.api.kinds import CONFIG_MAPS, DEPLOYMENTS, NODES, PODS


class Kubectl:
    """Runs kubectl in one namespace of one server."""

    def __init__(self, server: Server, namespace: str, scratch: Path) -> None:
        self._server = server
        self._namespace = namespace
        self._scratch = scratch

    async def start(self, *words: str, stdin: bool = False) -> asyncio.subprocess.Process:
        flags = (
            f"--kubeconfig={self._server.kubeconfig}",
            f"--namespace={self._namespace}",
            f"--cache-dir={self._scratch}",
        )
        # No home: a person's own settings are no part of the contract.
        environment = {"PATH": os.environ["PATH"], "HOME": str(self._scratch)}
        assert self._server.kubectl is not None
        return await asyncio.create_subprocess_exec(
            str(self._server.kubectl),
            *words,
            *flags,
            env=environment,
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def fails(self, *words: str, given: Any = None) -> str:
        code, _, err = await self._finished(words, given)
        assert code != 0
        return err

    async def __call__(self, *words: str, given: Any = None) -> str:
        code, out, err = await self._finished(words, given)
        assert code == 0, f"kubectl {' '.join(words)} ended with {code}: {out}{err}"
        return out

    async def _finished(self, words: tuple[str, ...], given: Any) -> tuple[int | None, str, str]:
        process = await self.start(*words, stdin=given is not None)
        text = given if isinstance(given, str) else json.dumps(given)
        async with asyncio.timeout(30):
            out, err = await process.communicate(text.encode() if given is not None else None)
        return process.returncode, out.decode(), err.decode()


@pytest.fixture
def kubectl(server: Server, namespace: str, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    if server.kubectl is None:
        pytest.skip("no kubectl: the control plane's programs are not there")
    return Kubectl(server, namespace, tmp_path_factory.getbasetemp() / f"kubectl-{server.name}")


@asynccontextmanager
async def watching(kubectl: Kubectl, *words: str) -> AsyncIterator[asyncio.StreamReader]:
    process = await kubectl.start(*words)
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.kill()
        await process.communicate()


async def line(stream: asyncio.StreamReader) -> list[str]:
    async with asyncio.timeout(PATIENCE):
        row = await stream.readline()
    assert row, "kubectl stopped watching"
    return row.decode().split()


async def test_apply_creates_then_configures_then_leaves_alone(kubectl: Kubectl) -> None:
    body = deployment("web", 0)
    assert await kubectl("apply", "-f", "-", given=body) == "deployment.apps/web created\n"
    assert await kubectl("apply", "-f", "-", given=body) == "deployment.apps/web unchanged\n"
    body["spec"]["template"]["spec"]["containers"][0]["image"] = "example/app:2"
    assert await kubectl("apply", "-f", "-", given=body) == "deployment.apps/web configured\n"
    image = "jsonpath={.spec.template.spec.containers[0].image}"
    assert await kubectl("get", "deploy", "web", "-o", image) == "example/app:2"


async def test_apply_on_the_server_reports_conflicts(kubectl: Kubectl) -> None:
    given = config_map("one", {"a": "1"})
    server_side = ("apply", "--server-side", "-f", "-")
    assert await kubectl(*server_side, given=given) == "configmap/one serverside-applied\n"
    changed = config_map("one", {"a": "2"})
    assert 'conflict with "kubectl"' in await kubectl.fails(*server_side, "--field-manager=other", given=changed)
    await kubectl(*server_side, "--field-manager=other", "--force-conflicts", given=changed)
    assert await kubectl("get", "cm", "one", "-o", "jsonpath={.data.a}") == "2"


async def test_apply_refuses_a_misspelt_field(kubectl: Kubectl) -> None:
    body = deployment("web", 0)
    body["spec"]["replica"] = 3
    assert 'unknown field "spec.replica"' in await kubectl.fails("apply", "-f", "-", given=body)


async def test_a_version_that_is_not_served_is_told(kubectl: Kubectl) -> None:
    told = await kubectl.fails("create", "-f", "-", given={**config_map("a"), "apiVersion": "v9"})
    assert 'no matches for kind "ConfigMap" in version "v9"' in told


async def test_a_dry_run_on_the_server_keeps_nothing(kubectl: Kubectl, api: Api, namespace: str) -> None:
    given = config_map("one")
    assert "server dry run" in await kubectl("apply", "--dry-run=server", "-f", "-", given=given)
    assert (await api.get(CONFIG_MAPS.path("one", namespace))).status == 404


async def test_get_prints_a_table(kubectl: Kubectl, api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one", {"app": "x"}))).ok()
    head, row = (await kubectl("get", "pods")).splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row.split()[:4] == ["one", "0/1", "Pending", "0"]
    wide = (await kubectl("get", "po", "-o", "wide", "--show-labels")).splitlines()
    assert wide[0].split()[5:] == ["IP", "NODE", "NOMINATED", "NODE", "READINESS", "GATES", "LABELS"]
    assert wide[1].endswith("app=x")
    assert await kubectl("get", "pods,deploy", "-o", "name") == "pod/one\n"
    assert "No resources found" in (await kubectl._finished(("get", "deploy"), None))[2]


async def test_get_follows_changes(kubectl: Kubectl, api: Api, namespace: str) -> None:
    (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    async with watching(kubectl, "get", "pods", "-w", "--no-headers") as stream:
        assert (await line(stream))[0] == "one"
        (await api.post(PODS.path(namespace=namespace), pod("two"))).ok()
        assert (await line(stream))[:3] == ["two", "0/1", "Pending"]
        (await api.patch(f"{PODS.path('two', namespace)}/status", {"status": {"phase": "Succeeded"}})).ok()
        while (await line(stream))[:3] != ["two", "0/1", "Succeeded"]:
            pass  # a scheduler may have had its say in between


async def test_describe_shows_an_object_and_its_events(kubectl: Kubectl, api: Api, namespace: str) -> None:
    made = (await api.post(PODS.path(namespace=namespace), pod("one"))).ok()
    about = {"kind": "Pod", "name": "one", "namespace": namespace, "uid": made["metadata"]["uid"]}
    event = {
        "metadata": {"name": "one.1"},
        "involvedObject": about,
        "reason": "Tested",
        "type": "Normal",
        "message": "hello",
    }
    (await api.post(f"/api/v1/namespaces/{namespace}/events", event)).ok()
    text = await kubectl("describe", "pod", "one")
    assert "Name:             one" in text
    assert "Tested" in text
    assert "hello" in text
    assert "Replicas:               0 desired" in await described_deployment(kubectl, api, namespace)


async def described_deployment(kubectl: Kubectl, api: Api, namespace: str) -> str:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 0))).ok()
    return await kubectl("describe", "deployment", "web")


async def test_patch_takes_all_three_kinds(kubectl: Kubectl, api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 0))).ok()
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example/side:1"}]}}}}
    await kubectl("patch", "deploy", "web", "-p", json.dumps(side))
    await kubectl("patch", "deploy", "web", "--type=merge", "-p", '{"spec": {"paused": true}}')
    operation = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    await kubectl("patch", "deploy", "web", "--type=json", "-p", json.dumps(operation))
    found = (await api.get(DEPLOYMENTS.path("web", namespace))).ok()
    containers = found["spec"]["template"]["spec"]["containers"]
    assert {container["name"] for container in containers} == {"main", "side"}
    assert found["spec"]["paused"] is True
    assert found["metadata"]["labels"] == {"a": "b"}


async def test_labels_and_annotations_are_set(kubectl: Kubectl, api: Api, namespace: str) -> None:
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one"))).ok()
    await kubectl("label", "cm", "one", "a=b")
    await kubectl("annotate", "cm", "one", "c=d")
    found = (await api.get(CONFIG_MAPS.path("one", namespace))).ok()["metadata"]
    assert found["labels"] == {"a": "b"}
    assert found["annotations"] == {"c": "d"}


async def test_scale_and_wait(kubectl: Kubectl, api: Api, namespace: str) -> None:
    (await api.post(DEPLOYMENTS.path(namespace=namespace), deployment("web", 0))).ok()
    assert await kubectl("scale", "deploy/web", "--replicas=1") == "deployment.apps/web scaled\n"
    listed = await api.until(PODS.path(namespace=namespace), lambda answer: len(answer.ok()["items"]) == 1)
    name = listed.body["items"][0]["metadata"]["name"]
    waiting = asyncio.create_task(kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=60s"))
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    (await api.patch(f"{PODS.path(name, namespace)}/status", ready)).ok()
    assert await waiting == "deployment.apps/web condition met\n"
    assert "successfully rolled out" in await kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    await kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{name}", "--timeout=60s")


async def test_delete_waits_until_it_is_gone(kubectl: Kubectl, api: Api, namespace: str) -> None:
    path = CONFIG_MAPS.path("one", namespace)
    (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map("one", finalizers=["contract.test/wait"]))).ok()
    waiting = asyncio.create_task(kubectl("delete", "cm", "one", "--timeout=60s"))
    await api.until(path, lambda answer: "deletionTimestamp" in answer.ok()["metadata"])
    assert not waiting.done()
    (await api.patch(path, {"metadata": {"finalizers": None}})).ok()
    assert "deleted" in await waiting


async def test_delete_by_label_and_of_missing_things(kubectl: Kubectl, api: Api, namespace: str) -> None:
    for name in ("one", "two"):
        (await api.post(CONFIG_MAPS.path(namespace=namespace), config_map(name, labels={"a": name}))).ok()
    await kubectl("delete", "cm", "-l", "a=one")
    assert (await api.get(CONFIG_MAPS.path("one", namespace))).status == 404
    assert (await api.get(CONFIG_MAPS.path("two", namespace))).status == 200
    assert 'configmaps "none" not found' in await kubectl.fails("delete", "cm", "none")
    assert await kubectl("delete", "cm", "none", "--ignore-not-found") == ""


async def test_drain_cordons_a_node_and_evicts_its_pods(kubectl: Kubectl, api: Api, namespace: str) -> None:
    name = fresh("drained")
    (await api.post(NODES.path(), node(name, {"contract/own": name}))).ok()
    body = deployment("web", 1, nodeSelector={"contract/own": name})
    (await api.post(DEPLOYMENTS.path(namespace=namespace), body)).ok()

    def bound(answer: Any) -> bool:
        return [item["spec"].get("nodeName") for item in answer.ok()["items"]] == [name]

    first = (await api.until(PODS.path(namespace=namespace), bound)).body["items"][0]["metadata"]["name"]
    text = await kubectl("drain", name, "--ignore-daemonsets", "--grace-period=0", "--timeout=60s")
    assert f"node/{name} drained" in text
    assert (await api.get(PODS.path(first, namespace))).status == 404
    assert (await api.get(NODES.path(name))).ok()["spec"]["unschedulable"] is True
    await kubectl("uncordon", name)
    assert "unschedulable" not in (await api.get(NODES.path(name))).ok()["spec"]
    await kubectl("taint", "node", name, "a=b:NoSchedule")
    taints = (await api.get(NODES.path(name))).ok()["spec"]["taints"]
    assert {"key": "a", "value": "b", "effect": "NoSchedule"} in taints
    assert name in await kubectl("describe", "node", name)
    (await api.delete(NODES.path(name))).ok()


async def test_kinds_are_discovered_by_their_short_names(kubectl: Kubectl) -> None:
    listed = await kubectl("api-resources", "--no-headers", "-o", "wide")
    rows = {row.split()[0]: row for row in listed.splitlines()}
    assert " po " in rows["pods"]
    assert "deployments" in rows
    assert "customresourcedefinitions" in rows


async def test_create_and_run_make_objects(kubectl: Kubectl, api: Api, namespace: str) -> None:
    await kubectl("create", "configmap", "one", "--from-literal=a=b")
    assert (await api.get(CONFIG_MAPS.path("one", namespace))).ok()["data"] == {"a": "b"}
    await kubectl("create", "deployment", "web", "--image=example/app:1", "--replicas=0")
    assert (await api.get(DEPLOYMENTS.path("web", namespace))).status == 200
    assert 'configmaps "one" already exists' in await kubectl.fails("create", "configmap", "one")


async def test_explain_reads_the_servers_schema(kubectl: Kubectl) -> None:
    text = await kubectl("explain", "deployment.spec.replicas")
    assert "FIELD: replicas <integer>" in text
