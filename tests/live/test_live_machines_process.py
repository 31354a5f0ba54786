"""`dovetail machines` in full, on every cloud, with our core and with Cluster API's own (R1, R5, R10, R33, R34, R40).

A set of spot machines comes up, its Nodes are labelled, the cloud takes one instance away, a health check gives the
Machine up and the set restores its count. Minutes of two control planes buy what no fake can show: that the unmodified
manager of Cluster API drives our infrastructure machines, and that each process gets by with the rights it is given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.control_plane_plugin import ABSENT, LIVE_GROUP, required
from tests.live import machine_shops
from tests.live.machine_shops import Shop
from tests.live.real_machines import SYSTEM, Machinery, machinery
from tools.aws_server import AwsServer
from tools.control_plane.find import find, find_cluster_api
from tools.control_plane.programs import NoControlPlane
from tools.control_plane.start import ControlPlane
from tools.gcp_server import GcpServer

from dovetail.api import kinds
from dovetail.api.install.machines import MachinesInstallation
from dovetail.core.machines import names

pytestmark = pytest.mark.xdist_group(LIVE_GROUP)


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of its own: Cluster API's definitions and ours have the same names."""
    try:
        manager = find_cluster_api(os.environ)
        plane = ControlPlane(find(os.environ), logs=tmp_path_factory.mktemp("upstream")).start()
    except NoControlPlane as reason:
        if required():
            pytest.fail(f"{ABSENT}: {reason}", pytrace=False)
        pytest.skip(f"{ABSENT}: {reason}")
    try:
        plane.start_cluster_api(manager)
        yield plane
        assert plane.fallen() == []
    finally:
        plane.stop()


@pytest.fixture
def shops(aws_server: AwsServer, gcp_server: GcpServer) -> Iterator[tuple[Shop, ...]]:
    """All three clouds."""
    with machine_shops.on_azure() as azure:
        aws = machine_shops.on_aws(aws_server, aws_server.furnished())
        yield aws, machine_shops.on_gcp(gcp_server), azure


def side_by_side(
    scenario: Callable[[ControlPlane, Path, Shop], None], plane: ControlPlane, root: Path, *shops: Shop
) -> None:
    """One process for each cloud, at the same time: they wait for most of it."""
    places = [root / shop.cloud for shop in shops]
    for place in places:
        place.mkdir()
    with ThreadPoolExecutor(len(shops)) as pool:
        list(pool.map(scenario, [plane] * len(shops), places, shops))


def healed(one: Machinery) -> None:
    """What a user sees, whoever the core is."""
    one.control_plane()
    one.until(lambda: one.get(kinds.MACHINES, "first")["status"]["nodeRef"]["name"])
    one.workers(2)
    one.until(lambda: one.are_running(2))
    first, second = sorted(one.phases())
    one.until(lambda: one.is_interruptible(first) and one.is_interruptible(second))
    assert not one.is_interruptible("first")
    infra = one.get(one.shop.kinds[0], first)
    assert infra["status"]["interruptible"] is True
    assert infra["metadata"]["ownerReferences"][0]["kind"] == "Machine"
    one.take_away(first)
    one.until(lambda: first not in one.phases())
    one.until(lambda: one.are_running(2))
    assert second in one.phases()


def with_our_core(plane: ControlPlane, directory: Path, shop: Shop) -> None:
    with machinery(plane, directory, "own", shop) as one:
        healed(one)
        page = one.metrics()
        assert f'dovetail_machine_launches_total{{cloud="{shop.cloud}",capacity_type="spot"}} 3' in page
        assert 'dovetail_machine_remediations_total{reason="' in page
        # The label is kept while it is true, whoever takes it off (R34).
        machine = min(one.phases())
        node = one.node(machine)["metadata"]["name"]
        one.patch(kinds.NODES, node, {"metadata": {"labels": {names.INTERRUPTIBLE: None}}})
        one.until(lambda: one.is_interruptible(machine))
        for kind, name in ((kinds.MACHINE_SETS, "s"), (kinds.MACHINES, "first")):
            one.delete(kind, name)
        one.until(lambda: not one.list(kinds.MACHINES) and not one.list(shop.kinds[0]))
        assert one.end() == 0
        lease = plane.admin.request("GET", kinds.LEASES.path(one.wanted.name, SYSTEM))
        assert not lease["spec"].get("holderIdentity")
        lines = [json.loads(line) for line in one.log.read_text().splitlines()]
        assert not [line for line in lines if line["level"] == "error" or "forbidden" in line["message"].lower()]


def with_theirs(plane: ControlPlane, directory: Path, shop: Shop) -> None:
    with machinery(plane, directory, "upstream", shop) as one:
        healed(one)
        one.delete(kinds.MACHINE_SETS, "s")
        one.until(lambda: not one.machines())
        assert "forbidden" not in one.log.read_text().lower()
        assert "the core is upstream" in one.log.read_text()
        assert one.end() == 0


def test_a_set_heals_itself_with_our_core_and_a_simulated_cloud(control_plane: ControlPlane, tmp_path: Path) -> None:
    with_our_core(control_plane, tmp_path, machine_shops.simulated())


def test_sets_on_three_clouds_heal_themselves_with_our_core(
    control_plane: ControlPlane, tmp_path: Path, shops: tuple[Shop, ...]
) -> None:
    side_by_side(with_our_core, control_plane, tmp_path, *shops)


def test_cluster_apis_own_controllers_drive_our_machines_on_three_clouds(
    upstream: ControlPlane, tmp_path: Path, shops: tuple[Shop, ...]
) -> None:
    side_by_side(with_theirs, upstream, tmp_path, *shops)


def refused(plane: ControlPlane, directory: Path, installed: str, asked: str) -> str:
    """Why a process that is told to be `asked` does not start."""
    wanted = MachinesInstallation(image="dovetail:test", cloud="sim", core=installed)
    one = Machinery(plane, directory, wanted, machine_shops.simulated())
    one.install()
    ran = subprocess.run(
        one.command("--core", asked), env=one.environment(), capture_output=True, text=True, check=False, timeout=300
    )
    assert ran.returncode == 2, ran.stderr
    return ran.stderr


def test_our_core_is_refused_beside_cluster_apis_own(upstream: ControlPlane, tmp_path: Path) -> None:
    assert "would undo what ours do" in refused(upstream, tmp_path, "upstream", "own")


def test_our_definitions_are_not_installed_over_cluster_apis_own(upstream: ControlPlane) -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "dovetail.main",
            "install",
            "--machines",
            "aws",
            "--kubeconfig",
            str(upstream.kubeconfig),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "would undo what ours do" in ran.stderr


def test_cluster_apis_core_is_refused_where_it_is_not(control_plane: ControlPlane, tmp_path: Path) -> None:
    assert "are not installed here" in refused(control_plane, tmp_path, "own", "upstream")
