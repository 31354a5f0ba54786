"""`dovetail run --cloud cluster-api`: what it lacks, and that it starts with what it has."""

from __future__ import annotations

import asyncio
import json
from argparse import Namespace
from io import StringIO
from typing import Any

import pytest

from dovetail.api import kinds
from dovetail.api.crds import every
from dovetail.apiserver.server import EmbeddedServer
from dovetail.cli import place_cluster_api
from dovetail.cli import run as verb
from dovetail.cli.places import Run
from dovetail.controllers.controller import Choices
from dovetail.controllers.metrics import Metrics
from dovetail.core.errors import BadInput
from dovetail.kube.client import Client
from dovetail.kube.config import from_document


def one(client: Client, config: Any) -> Run:
    return Run(Namespace(cloud="cluster-api"), Any, StringIO(), config, client, Metrics())  # type: ignore[arg-type]


async def served(*definitions: Any) -> tuple[kinds.Kind, ...]:
    async with EmbeddedServer() as server:
        config = from_document(server.kubeconfig())
        async with Client(config) as client:
            for definition in definitions:
                await client.create(kinds.CRDS, definition.manifest())
            async with verb._opened(one(client, config)) as place:
                assert isinstance(place, place_cluster_api.ClusterApiPlace)
                act, _ready = place.actor(Choices(), lambda: True)
                assert callable(act)
                assert "karpenter.k8s.aws/instance-family" in place.well_known
                assert place.region == ""
                await place.beside()
                return place.templates


def test_without_templates_it_says_what_to_install():
    with pytest.raises(BadInput, match="install a provider of Cluster API"):
        asyncio.run(served())


def test_it_draws_on_the_templates_that_are_defined_and_asks_for_no_others():
    assert asyncio.run(served(*every.INFRASTRUCTURE["aws"])) == (kinds.AWS_TEMPLATES,)


def test_a_server_that_is_not_there_is_told_of_in_a_sentence(
    dovetail: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(place_cluster_api, "ATTEMPTS_SECONDS", 0.1)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "c", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    ran = dovetail(
        "run", "--cloud", "cluster-api", "--kubeconfig", "config", "--metrics-port", "0", "--health-probe-port", "0"
    )
    assert ran.code == 2
    assert "127.0.0.1:1" in ran.err
    assert "Traceback" not in ran.err
