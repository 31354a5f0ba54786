"""`dovetail machines` in full, on every cloud, with our core and with Cluster API's own (R1, R5, R10, R33, R34, R40).

A set of spot machines comes up, its Nodes are labelled and pods run on them; the cloud gives notice of one, the handler
on it marks its Node and has its pods leave, the instance is taken away, a health check gives the Machine up and the set
restores its count. Minutes of two control planes buy what no fake can show: that the unmodified manager of Cluster API
drives our infrastructure machines, and that each process gets by with the rights it is given.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.control_plane_plugin import MACHINES_GROUP
from tests.handler.real_handler import RealHandler, let_in
from tests.live import machine_shops
from tests.live.machine_shops import Shop
from tests.live.real_machines import CONTROL_PLANE, SYSTEM, WORK, WORKERS, Machinery, machinery
from tools.aws_server import AwsServer
from tools.control_plane.start import ControlPlane
from tools.gcp_server import GcpServer

from dovetail.api import kinds
from dovetail.api.install.machines import MachinesInstallation
from dovetail.core.handler import marks
from dovetail.core.machines import names

pytestmark = pytest.mark.xdist_group(MACHINES_GROUP)


def first_machines(one: Machinery) -> tuple[str, str]:
    """A control plane on demand, and two spot workers whose Nodes say so."""
    one.control_plane()
    one.until(lambda: one.get(kinds.MACHINES, CONTROL_PLANE)["status"]["nodeRef"]["name"])
    one.workers()
    one.until(lambda: one.are_running(2))
    first, second = sorted(one.phases())
    one.until(lambda: one.is_interruptible(first) and one.is_interruptible(second))
    assert not one.is_interruptible(CONTROL_PLANE)
    infra = one.get(one.shop.kinds[0], first)
    assert infra["status"]["interruptible"] is True
    assert infra["metadata"]["ownerReferences"][0]["kind"] == "Machine"
    return first, second


def restored(one: Machinery, lost: str, kept: str) -> str:
    """The machine that the set made in the place of one that is gone; the other is still there."""
    one.until(lambda: lost not in one.phases() and one.are_running(2))
    assert kept in one.phases()
    (made,) = set(one.phases()) - {kept}
    one.until(lambda: one.is_interruptible(made))
    return made


def interrupted(one: Machinery) -> None:
    """What a user sees, whoever the core is: notice, marks, drain, end, and a set that is whole again."""
    both = first_machines(one)
    one.work()
    one.until(lambda: len(one.at_work()) == 4)
    # All of it is on one of them where the other was the later to lose the taint of a new Node.
    node = min(one.at_work().values())
    first, second = sorted(both, key=lambda machine: one.node(machine)["metadata"]["name"] != node)
    let_in(one.plane)
    handler = RealHandler(one.plane, one.directory, node)
    try:
        handler.start()
        one.until(lambda: handler.ask("/healthz") == "ok")
        handler.give_notice(one.shop.cloud, first)
        one.until(lambda: handler.taints().get(marks.TAINT) == "preempt")
        one.until(lambda: handler.condition() == ("True", marks.REQUESTED))
        one.until(lambda: not handler.pods("app%3Dwork", one.namespace))
        one.until(lambda: len(one.at_work()) == 4 and node not in one.at_work().values())
        # Nothing replaces a machine that is still there.
        assert set(one.phases()) == {first, second}
        assert handler.end() == 0
        assert handler.faults() == []
        assert "forbidden" not in handler.log.read_text().lower()
    finally:
        handler.close()
    one.take_away(first)
    made = restored(one, first, second)
    # Each Machine has an instance, and what was made for the one that is gone is gone.
    left = one.shop.left()
    assert {CONTROL_PLANE, second, made} <= set(left)
    assert not [name for name in left if name.startswith(first)]
    assert len(one.at_work()) == 4


def removed(one: Machinery) -> None:
    """Everything goes, and nothing is left in the cloud."""
    if one.shop.take_away is not None:
        one.delete(kinds.DEPLOYMENTS, WORK)
    one.delete(kinds.MACHINE_SETS, WORKERS)
    one.until(lambda: not one.machines())
    one.delete(kinds.MACHINES, CONTROL_PLANE)
    one.until(lambda: not one.list(kinds.MACHINES) and not one.list(one.shop.kinds[0]))
    assert one.shop.left() == []


def with_our_core(plane: ControlPlane, directory: Path, shop: Shop) -> None:
    with machinery(plane, directory, "own", shop) as one:
        if shop.take_away is not None:
            interrupted(one)
        else:
            first, second = first_machines(one)
            one.take_away(first)
            restored(one, first, second)
        page = one.metrics()
        assert f'dovetail_machine_launches_total{{cloud="{shop.cloud}",capacity_type="spot"}} 3' in page
        assert 'dovetail_machine_remediations_total{reason="' in page
        # The label is kept while it is true, whoever takes it off (R34).
        machine = min(one.phases())
        node = one.node(machine)["metadata"]["name"]
        one.patch(kinds.NODES, node, {"metadata": {"labels": {names.INTERRUPTIBLE: None}}})
        one.until(lambda: one.is_interruptible(machine))
        removed(one)
        assert one.end() == 0
        lease = plane.admin.request("GET", kinds.LEASES.path(one.wanted.name, SYSTEM))
        assert not lease["spec"].get("holderIdentity")
        lines = [json.loads(line) for line in one.log.read_text().splitlines()]
        assert not [line for line in lines if line["level"] == "error" or "forbidden" in line["message"].lower()]


def with_theirs(plane: ControlPlane, directory: Path, shop: Shop) -> None:
    with machinery(plane, directory, "upstream", shop) as one:
        interrupted(one)
        removed(one)
        assert "forbidden" not in one.log.read_text().lower()
        assert "the core is upstream" in one.log.read_text()
        assert one.end() == 0


def test_a_set_heals_itself_with_our_core_and_a_simulated_cloud(control_plane: ControlPlane, tmp_path: Path) -> None:
    with_our_core(control_plane, tmp_path, machine_shops.simulated())


# ---- three clouds, two cores


CLOUDS = ("aws", "gcp", "azure")
CORES = {"own": with_our_core, "upstream": with_theirs}
PLANES = {"own": "shared_control_plane", "upstream": "upstream"}


@pytest.fixture(scope="module", params=list(CORES))
def lives(
    request: pytest.FixtureRequest,
    aws_running: AwsServer,
    gcp_running: GcpServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Future[None]]]:
    """The scenario on every cloud at once, one process for each: they wait for most of it. By the name of the cloud."""
    plane = request.getfixturevalue(PLANES[request.param])
    aws_running.reset()
    with machine_shops.on_azure() as azure, ThreadPoolExecutor(len(CLOUDS)) as pool:
        shops = (machine_shops.on_aws(aws_running, aws_running.furnished()), machine_shops.on_gcp(gcp_running), azure)
        yield {
            shop.cloud: pool.submit(CORES[request.param], plane, tmp_path_factory.mktemp(shop.cloud), shop)
            for shop in shops
        }


@pytest.mark.parametrize("cloud", CLOUDS)
def test_R1_R5_R10_R21_R25_R31_R42_a_spot_machine_gets_notice_is_drained_lost_and_replaced(
    lives: dict[str, Future[None]], cloud: str
) -> None:
    """With our core and with Cluster API's own."""
    lives[cloud].result()


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


HOWTO = Path(__file__).parents[2] / "docs/howto/spot-workers-aws.md"


def failure(infra: dict[str, Any]) -> str:
    return str(infra.get("status", {}).get("failureReason", ""))


def test_R40_a_check_of_cluster_apis_own_that_looks_at_infrastructure_gives_up_a_failed_machine(
    upstream: ControlPlane, tmp_path: Path
) -> None:
    """With the check of the how-to, which alone has them see a failure."""
    shown = HOWTO.read_text(encoding="utf-8").split("## Beside Cluster API's own controllers")[1]
    checks = yaml.safe_load(shown.split("```yaml\n")[1].split("```")[0])["spec"]["checks"]
    (sign,) = checks["unhealthyMachineConditions"]
    sign["timeoutSeconds"] = 5
    with machinery(upstream, tmp_path, "upstream", machine_shops.simulated()) as one:
        one.control_plane()
        one.until(lambda: one.get(kinds.MACHINES, CONTROL_PLANE)["status"]["nodeRef"]["name"])
        one.workers(checks, spotMarketOptions={"maxPrice": "0"})
        one.until(lambda: len(one.phases()) == 2)
        first = set(one.phases())
        one.until(lambda: names.INVALID_CONFIGURATION in {failure(each) for each in one.list(one.shop.kinds[0])})
        one.until(lambda: not first & set(one.phases()) and len(one.phases()) == 2)
        assert "Failed" not in one.phases().values()
        removed(one)
