"""`dovetail run --cloud cluster-api` beside `dovetail machines`, each under the role it is given, on the real control
plane: a pod gets a claim, a Machine, an instance and a Node, and all of them go (R5, R9). With our core and a simulated
cloud, and with Cluster API's own manager on EC2: a minute each, for what no fake can show."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest
from tests.control_plane_plugin import MACHINES_GROUP
from tests.live import machine_shops, objects
from tests.live.live import is_true
from tests.live.real import Real, install
from tests.live.real_machines import CONTROL_PLANE, Machinery, machinery
from tools.aws_server import AwsServer
from tools.control_plane.start import ControlPlane

from dovetail.api import kinds
from dovetail.clouds.cluster_api.market import BOOTS_FROM

pytestmark = pytest.mark.xdist_group(MACHINES_GROUP)
POOL = "drawing"


class RealBridge(Real):
    cloud: ClassVar[str] = "cluster-api"


def drawn(one: Machinery, bridge: RealBridge) -> None:
    """From a pod to an instance and back, whoever the core is."""
    machines, templates, _ = one.shop.kinds
    before = {each["metadata"]["name"] for each in one.list(kinds.MACHINES)}
    notes = {"annotations": {BOOTS_FROM: "boot"}}
    one.put(templates, POOL, {"template": {"spec": one.shop.machine}}, metadata=notes)
    ref = {"group": templates.group, "kind": templates.name, "name": POOL}
    bridge.put(kinds.NODE_POOLS, objects.pool(POOL, labels={"kwok-live": "true"}, nodeClassRef=ref))
    bridge.start()
    try:
        bridge.pods("drawn", 1)
        one.until(lambda: [claim for claim in bridge.claims() if is_true(claim, "Registered")])
        (claim,) = bridge.claims()
        machine = one.get(kinds.MACHINES, claim["metadata"]["name"])
        owner = machine["metadata"]["ownerReferences"][0]
        assert (owner["kind"], owner["uid"]) == ("NodeClaim", claim["metadata"]["uid"])
        assert machine["spec"]["providerID"] == claim["status"]["providerID"]
        bridge.delete_pool(POOL)
        one.until(lambda: not bridge.claims())  # `one` plays the kubelets that end the pod
        bridge.delete_workloads()
        one.until(lambda: {each["metadata"]["name"] for each in one.list(kinds.MACHINES)} == before)
        one.until(lambda: {each["metadata"]["name"] for each in one.list(machines)} == before)
    finally:
        bridge.end()
    assert "forbidden" not in bridge.log.read_text().lower()


def test_R9_a_pod_gets_a_machine_with_our_core_and_everything_goes_with_its_claim(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    install(control_plane, RealBridge.cloud)
    with machinery(control_plane, tmp_path, "own", machine_shops.simulated()) as one:
        drawn(one, RealBridge(control_plane, tmp_path))


def test_R5_the_same_with_the_controllers_of_cluster_api(
    request: pytest.FixtureRequest, tmp_path: Path, aws_server: AwsServer
) -> None:
    plane: ControlPlane = request.getfixturevalue("upstream")
    install(plane, RealBridge.cloud)
    with machinery(plane, tmp_path, "upstream", machine_shops.on_aws(aws_server, aws_server.furnished())) as one:
        one.control_plane()
        one.until(lambda: one.get(kinds.MACHINES, CONTROL_PLANE)["status"]["nodeRef"]["name"])
        drawn(one, RealBridge(plane, tmp_path))
