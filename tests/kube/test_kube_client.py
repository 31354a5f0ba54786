"""The verbs of the client: what goes over the wire, and what comes back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.kube.loopback import Reply, Scripted, Seen, a_list, refuses, says, says_text

from dovetail.api import kinds
from dovetail.kube.client import Client
from dovetail.kube.config import ClusterConfig
from dovetail.kube.errors import (
    AlreadyExists,
    BadAnswer,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    TooLarge,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    UnknownKind,
)
from dovetail.kube.patches import Apply, JsonPatch, MergePatch, Patch, StrategicPatch
from dovetail.kube.retry import Patience
from dovetail.kube.transport import Options


class Pod(msgspec.Struct):
    class Meta(msgspec.Struct):
        name: str

    metadata: Meta


Ask = Callable[[Client], Awaitable[object]]
IMPATIENT = Options(patience=Patience(budget=0.0))


def asked(call: Ask, *replies: Reply) -> Seen:
    """What one call puts on the wire."""

    async def scenario() -> Seen:
        async with Scripted.saying(*(replies or (says({}),))) as server, Client(server.config(), IMPATIENT) as client:
            await call(client)
        return server.seen[0]

    return asyncio.run(scenario())


def failing(reply: Reply, **options: Any) -> KubeError:
    async def scenario() -> KubeError:
        async with Scripted.saying(reply) as server, Client(server.config(), Options(**options) or IMPATIENT) as client:
            with pytest.raises(KubeError) as caught:
                await client.within(0).get(kinds.PODS, "web", "shop")
        return caught.value

    return asyncio.run(scenario())


def test_an_object_is_read_into_the_type_asked_for() -> None:
    async def scenario() -> None:
        body = {"metadata": {"name": "web"}}
        async with Scripted.saying(says(body), says(body)) as server, Client(server.config()) as client:
            assert await client.get(kinds.PODS, "web", "shop") == body
            assert (await client.get(kinds.PODS, "web", "shop", into=Pod)).metadata.name == "web"
        assert {one.path for one in server.seen} == {"/api/v1/namespaces/shop/pods/web"}

    asyncio.run(scenario())


def test_an_object_that_is_not_of_the_type_names_the_field() -> None:
    async def scenario() -> None:
        async with Scripted.saying(says({"metadata": {"name": 1}})) as server, Client(server.config()) as client:
            with pytest.raises(BadAnswer, match=r"get pods shop/web: .*metadata\.name"):
                await client.get(kinds.PODS, "web", "shop", into=Pod)

    asyncio.run(scenario())


def test_a_server_under_a_path_is_asked_under_that_path() -> None:
    async def scenario() -> None:
        async with Scripted.saying(says({})) as server:
            config = server.config()
            object.__setattr__(config, "server", f"{server.url}/k8s/clusters/c-1")
            async with Client(config) as client:
                await client.get(kinds.CLUSTER_ROLES, "system:node")
        assert server.seen[0].path == "/k8s/clusters/c-1/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"

    asyncio.run(scenario())


def test_creating_takes_the_namespace_from_the_object() -> None:
    seen = asked(
        lambda client: client.create(kinds.PODS, {"metadata": {"name": "web", "namespace": "shop"}}, dry_run=True)
    )
    assert (seen.method, seen.path, seen.query) == ("POST", "/api/v1/namespaces/shop/pods", {"dryRun": "All"})
    assert seen.headers["Content-Type"] == "application/json"


def test_replacing_a_struct_goes_to_where_the_struct_says() -> None:
    seen = asked(lambda client: client.replace(kinds.NODES, Pod(Pod.Meta("n1")), subresource="status"))
    assert (seen.method, seen.path, seen.body) == ("PUT", "/api/v1/nodes/n1/status", b'{"metadata":{"name":"n1"}}')


@pytest.mark.parametrize(
    ("patch", "kind", "query"),
    [
        (MergePatch({"a": 1}), "application/merge-patch+json", {}),
        (JsonPatch([{"op": "remove", "path": "/a"}]), "application/json-patch+json", {}),
        (StrategicPatch({"a": 1}), "application/strategic-merge-patch+json", {}),
        (Apply({"a": 1}, "m"), "application/apply-patch+yaml", {"fieldManager": "m"}),
        (Apply({"a": 1}, "m", force=True), "application/apply-patch+yaml", {"fieldManager": "m", "force": "true"}),
    ],
)
def test_each_patch_travels_under_its_own_name(patch: Patch, kind: str, query: dict[str, str]) -> None:
    seen = asked(lambda client: client.patch(kinds.NODES, "n1", patch, subresource="status"))
    assert (seen.method, seen.path, seen.query) == ("PATCH", "/api/v1/nodes/n1/status", query)
    assert seen.headers["Content-Type"] == kind


def test_a_delete_carries_its_preconditions() -> None:
    seen = asked(lambda client: client.delete(kinds.NODES, "n1", uid="u", resource_version="9", grace=0))
    assert (seen.method, seen.path) == ("DELETE", "/api/v1/nodes/n1")
    assert json.loads(seen.body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "9"},
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Background",
    }


def test_a_collection_is_deleted_by_its_labels() -> None:
    seen = asked(lambda client: client.delete_collection(kinds.NODES, labels="a=b"))
    assert (seen.method, seen.path, seen.query) == ("DELETE", "/api/v1/nodes", {"labelSelector": "a=b"})


def test_an_eviction_says_how_long_the_pod_has_and_which_it_is() -> None:
    seen = asked(lambda client: client.evict("web", "shop", grace=30, uid="u"))
    assert (seen.method, seen.path) == ("POST", "/api/v1/namespaces/shop/pods/web/eviction")
    body = json.loads(seen.body)
    assert body["metadata"] == {"name": "web", "namespace": "shop"}
    assert body["deleteOptions"]["gracePeriodSeconds"] == 30
    assert body["deleteOptions"]["preconditions"] == {"uid": "u"}
    assert "propagationPolicy" not in body["deleteOptions"]


def test_anything_else_can_be_asked_raw() -> None:
    assert asked(lambda client: client.raw("GET", "/version", query={"a": "b c"})).query == {"a": "b c"}


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.delete(kinds.NODES, ""),
        lambda client: client.get(kinds.NODES, "../secrets"),
        lambda client: client.get(kinds.PODS, "web"),
        lambda client: client.get(kinds.NODES, ".."),
        lambda client: client.create(kinds.PODS, {"metadata": {"name": "web"}}),
        lambda client: client.create(kinds.PODS, {"metadata": 1}),
    ],
)
def test_a_name_that_would_mean_something_else_never_leaves(call: Ask) -> None:
    with pytest.raises(Invalid):
        asked(call)


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (413, "RequestEntityTooLarge", TooLarge),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
        (504, "Timeout", Unavailable),
        (418, "Teapot", BadAnswer),
    ],
)
def test_every_refusal_has_its_error(code: int, reason: str, error: type[KubeError]) -> None:
    caught = failing(refuses(code, reason, "so it is"))
    assert (type(caught), caught.status, caught.reason) == (error, code, reason)
    assert str(caught) == "get pods shop/web: so it is"


def test_an_invalid_object_names_its_fields() -> None:
    causes = [{"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.weight"}]
    caught = failing(refuses(422, "Invalid", causes=causes))
    assert isinstance(caught, Invalid)
    assert [str(cause) for cause in caught.causes] == ["spec.weight: must be positive"]


def test_a_missing_object_is_told_from_a_missing_kind() -> None:
    assert type(failing(refuses(404, "NotFound", name="web", kind="pods"))) is NotFound
    assert type(failing(refuses(404, "NotFound", "the server could not find the requested resource"))) is UnknownKind
    assert type(failing(says_text("404 page not found\n", 404))) is UnknownKind


def test_a_kind_whose_crd_arrives_later_is_found_then() -> None:
    async def scenario() -> None:
        missing = says_text("404 page not found\n", 404)
        async with Scripted.saying(missing, says(a_list("a"))) as server, Client(server.config()) as client:
            with pytest.raises(UnknownKind, match=r"list nodepools\.karpenter\.sh"):
                await client.list(kinds.NODE_POOLS)
            assert len((await client.list(kinds.NODE_POOLS)).items) == 1

    asyncio.run(scenario())


def test_a_proxys_page_is_quoted_briefly_and_without_markup() -> None:
    page = "<html><head><title>x</title></head><body><h1>502   Bad Gateway</h1>" + "nginx " * 99 + "</body></html>"
    caught = failing(says_text(page, 502, "text/html"))
    assert type(caught) is Unavailable
    assert str(caught).startswith("get pods shop/web: 502 Bad Gateway nginx")
    assert len(str(caught)) < 200


def test_a_redirect_is_not_followed_with_a_token_in_hand() -> None:
    caught = failing(says({}, 302, {"Location": "http://127.0.0.1:1/login"}))
    assert type(caught) is BadAnswer
    assert "redirect" in str(caught)


def test_an_answer_that_is_no_json_is_a_bad_answer() -> None:
    assert type(failing(says_text("<html>welcome</html>", 200, "text/html"))) is BadAnswer


def test_an_answer_too_large_is_not_taken() -> None:
    caught = failing(says({"a": "b" * 5000}), largest=1000)
    assert type(caught) is TooLarge
    assert "1,000 bytes" in str(caught)


def test_what_was_asked_is_counted_by_verb_and_status() -> None:
    async def scenario() -> None:
        async with Scripted.saying(says({}), refuses(404, name="x")) as server, Client(server.config()) as client:
            await client.get(kinds.NODES, "n1")
            with pytest.raises(NotFound):
                await client.delete(kinds.NODES, "n1")
            assert client.counts.requests == {("get", 200): 1, ("delete", 404): 1}

    asyncio.run(scenario())


def test_acting_as_somebody_else_is_said_in_every_request() -> None:
    async def groups(request: web.Request) -> web.StreamResponse:
        headers = request.headers
        return web.json_response([headers["Impersonate-User"], *headers.getall("Impersonate-Group")])

    async def scenario() -> None:
        acting = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
        async with Scripted.saying(groups) as server, Client(server.config(acting_as=acting)) as client:
            assert await client.get(kinds.NODES, "n1", into=list[str]) == ["jane", "a", "b"]

    asyncio.run(scenario())


def test_a_proxy_is_asked_in_the_servers_place_and_may_compress() -> None:
    async def compressed(request: web.Request) -> web.StreamResponse:
        response = web.json_response({"a": "b" * 1000})
        response.enable_compression(web.ContentCoding.gzip)
        return response

    async def scenario() -> None:
        async with Scripted.saying(compressed) as proxy:
            config = ClusterConfig("http://kubernetes.example", proxy=proxy.url)
            async with Client(config) as client:
                assert await client.get(kinds.NODES, "n1") == {"a": "b" * 1000}
        assert proxy.seen[0].headers["Host"] == "kubernetes.example"
        assert proxy.seen[0].headers["Accept-Encoding"] == "gzip"

    asyncio.run(scenario())


def test_a_server_that_does_not_speak_http_is_told() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        writer.close()

    async def scenario() -> None:
        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, Client(ClusterConfig(f"http://127.0.0.1:{port}"), IMPATIENT) as client:
            with pytest.raises(BadAnswer, match="does not speak HTTP"):
                await client.get(kinds.NODES, "n1")

    asyncio.run(scenario())


def test_a_server_that_accepts_and_says_nothing_is_given_up() -> None:
    async def scenario() -> None:
        never = asyncio.Event()

        async def silent(request: web.Request) -> web.StreamResponse:
            await never.wait()
            return web.Response()

        options = Options(patience=Patience(budget=0, attempt=0.1))
        async with Scripted.saying(silent, silent) as server, Client(server.config(), options) as client:
            with pytest.raises(Unavailable, match=r"get nodes n1: .* gave no answer in time"):
                await client.get(kinds.NODES, "n1")
            with pytest.raises(Unavailable, match=r"watch nodes: .* gave no answer in time"):
                await anext(client.watch_batches(kinds.NODES, resource_version="1"))
            never.set()

    asyncio.run(scenario())


def test_selectors_arrive_as_they_were_written() -> None:
    labels = "a in (b,c),d!=e+f,g/h=i&j%2B"
    seen = asked(lambda client: client.list(kinds.PODS, labels=labels, fields="spec.nodeName="))
    assert seen.query["labelSelector"] == labels
    assert seen.query["fieldSelector"] == "spec.nodeName="


def test_on_loopback_nothing_is_compressed() -> None:
    assert asked(lambda client: client.get(kinds.NODES, "n1")).headers["Accept-Encoding"] == "identity"
