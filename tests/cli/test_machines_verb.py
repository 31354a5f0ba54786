"""`dovetail machines` before it reaches a cluster: its options, and what it refuses (R1, R2)."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import pytest

from dovetail.cli import install
from dovetail.cli.exits import Exit
from dovetail.controllers.cluster_api import switch
from dovetail.core.errors import BadInput
from dovetail.kube.errors import KubeError
from dovetail.settings import machines as settings


def read(*words: str, **environment: str) -> settings.MachineSettings:
    parser = ArgumentParser()
    settings.add_flags(parser)
    return settings.read(parser.parse_args(words), environment)


def test_a_cloud_has_to_be_named(dovetail: Any):
    ran = dovetail("machines")
    assert ran.code == Exit.BAD_INPUT
    assert "--cloud" in ran.err


def test_each_cloud_has_a_lease_of_its_own():
    assert read("--cloud", "aws").process.lease_name == "dovetail-machines-aws"
    assert read("--cloud", "gcp").process.lease_name == "dovetail-machines-gcp"
    assert read("--cloud", "gcp", "--leader-election-name", "mine").process.lease_name == "mine"


def test_whose_core_runs_is_found_out_unless_somebody_says_it():
    assert read("--cloud", "aws").core == "auto"
    assert read("--cloud", "aws", "--core", "own", CLUSTER_API_CORE="upstream").core == "own"
    assert read("--cloud", "aws", CLUSTER_API_CORE="upstream").core == "upstream"


def test_a_subscription_cannot_be_guessed():
    with pytest.raises(BadInput, match="--azure-subscription: which subscription"):
        read("--cloud", "azure")
    assert read("--cloud", "azure", AZURE_SUBSCRIPTION_ID="s").subscription == "s"
    assert read("--cloud", "aws").subscription == ""


@pytest.mark.parametrize(
    "words",
    [("--core", "both"), ("--cloud-endpoint", "here"), ("--boot-time", "soon"), ("--metrics-port", "-1")],
)
def test_what_cannot_be_is_refused_by_its_flag(words: tuple[str, str]):
    with pytest.raises(BadInput, match=words[0]):
        read("--cloud", "sim", *words)


CONFIG = """\
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
"""


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (KubeError("the server is away"), "could not be asked whose core runs: the server is away"),
        (BadInput("Cluster API is here"), "Cluster API is here"),
    ],
)
def test_what_keeps_it_from_starting_is_a_sentence(
    dovetail: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, problem: Exception, told: str
):
    async def settled(*_: Any) -> None:
        raise problem

    monkeypatch.setattr(switch, "settled", settled)
    config = tmp_path / "config"
    config.write_text(CONFIG)
    ran = dovetail("machines", "--cloud", "sim", "--kubeconfig", str(config))
    assert ran.code == Exit.BAD_INPUT
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_the_clouds_and_cores_of_install_are_those_there_are():
    assert install.MACHINE_CLOUDS == settings.CLOUDS
    assert {*install.CORES, "auto"} == set(settings.CORES)
