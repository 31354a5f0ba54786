"""What can be told of a class without asking anybody: its disks, kubelet block, user data and hash."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml
from tests.clouds.aws.classes import HOME, node_class
from tests.clouds.aws.orders import claim, kinds

from dovetail.clouds.aws import class_hash
from dovetail.clouds.aws.launching import HASH, HASH_VERSION
from dovetail.clouds.aws.nodeclass import booting, hashing, kubelet_rules, spec
from dovetail.clouds.aws.resolved import Boot, Image
from dovetail.core.conditions import Condition, Status
from dovetail.core.errors import BadInput
from dovetail.core.nodeclaims import DRIFTED
from dovetail.core.resources import GIB, Resources

KINDS = ("m5.large", "c5.large", "m5.24xlarge", "t3.nano", "g5.xlarge")


def read(**more: Any) -> spec.ClassSpec:
    return spec.read(node_class(**more))


def of_family(family: str, **more: Any) -> spec.ClassSpec:
    return read(amiSelectorTerms=[{"id": "ami-1"}], amiFamily=family, **more)


# ---- disks


@pytest.mark.parametrize(
    ("family", "disks", "shared"),
    [
        ("AL2023", [("/dev/xvda", 20)], 20 * GIB),
        ("AL2", [("/dev/xvda", 20)], 20 * GIB),
        ("Bottlerocket", [("/dev/xvda", 4), ("/dev/xvdb", 20)], 20 * GIB),
        ("Windows2022", [("/dev/sda1", 50)], 50 * GIB),
        ("Custom", [], 20 * GIB),
    ],
)
def test_a_family_has_its_disks(family: str, disks: list[Any], shared: int) -> None:
    found = of_family(family)
    assert [(one.device, one.size_gib) for one in found.disks] == disks
    assert all(one.encrypted and one.volume_type == "gp3" for one in found.disks)
    assert found.ephemeral_bytes == shared


@pytest.mark.parametrize(
    ("family", "mappings", "shared"),
    [
        ("AL2023", [("/dev/xvda", "100Gi", False)], 100 * GIB),
        ("AL2023", [("/dev/xvda", "10Gi", False), ("/dev/sdb", "100Gi", True)], 100 * GIB),
        ("AL2023", [("/dev/sdb", "100Gi", False)], 20 * GIB),
        ("Bottlerocket", [("/dev/xvda", "4Gi", False), ("/dev/xvdb", "80Gi", False)], 80 * GIB),
        ("Custom", [("/dev/a", "10Gi", False), ("/dev/b", "30Gi", False)], 30 * GIB),
        ("AL2023", [("/dev/xvda", None, True)], None),
    ],
)
def test_pods_share_the_disk_that_is_theirs(family: str, mappings: list[Any], shared: int | None) -> None:
    wire = [
        {"deviceName": device, "rootVolume": root, "ebs": {"volumeSize": size} if size else {"snapshotID": "snap-1"}}
        for device, size, root in mappings
    ]
    assert of_family(family, blockDeviceMappings=wire).ephemeral_bytes == shared


@pytest.mark.parametrize(("written", "gib"), [("100Gi", 100), ("100G", 94), ("1T", 932), ("2Ti", 2048)])
def test_a_size_is_whole_gibibytes_upwards(written: str, gib: int) -> None:
    wire = [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": written}}]
    assert read(blockDeviceMappings=wire).disks[0].size_gib == gib


@pytest.mark.parametrize(
    ("mapping", "names"),
    [
        ({"ebs": {"volumeSize": "1Gi"}}, "no deviceName"),
        ({"deviceName": "a", "ebs": {"volumeSize": "T"}}, "volumeSize"),
        ({"deviceName": "a", "ebs": {"volumeSize": "0"}}, "no size"),
    ],
)
def test_a_disk_that_cannot_be_is_told_with_its_place(mapping: dict[str, Any], names: str) -> None:
    with pytest.raises(BadInput, match=names) as caught:
        read(blockDeviceMappings=[mapping])
    assert "blockDeviceMappings[0]" in str(caught.value)


# ---- terms


@pytest.mark.parametrize(
    "terms",
    [
        {"subnetSelectorTerms": [{"id": "subnet-1", "tags": {"a": "b"}}]},
        {"securityGroupSelectorTerms": [{"name": "n"}, {"id": "sg-1", "name": "n"}]},
        {"capacityReservationSelectorTerms": [{"tags": {"a": "b"}}, {"id": "cr-1", "ownerID": "1" * 12}]},
        {"amiSelectorTerms": [{"alias": "al2023@latest", "ssmParameter": "p"}]},
        {"subnetSelectorTerms": [{}]},
    ],
)
def test_a_term_that_mixes_what_excludes_each_other_is_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=r"SelectorTerms\[\d\]"):
        read(**terms)


# ---- the kubelet block


@pytest.mark.parametrize(
    "block",
    [
        {},
        {"maxPods": 50, "podsPerCore": 4, "clusterDNS": ["10.0.0.1"]},
        {"kubeReserved": {"cpu": "100m", "pid": "10"}, "evictionHard": {"memory.available": "5%"}},
        {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}},
        {"topologyManagerPolicy": "single-numa-node", "shutdownGracePeriod": "30s", "kubeReservedStrategy": "gke"},
    ],
)
def test_a_kubelet_block_that_can_be_is_accepted(block: dict[str, Any]) -> None:
    assert kubelet_rules.wrong(block, "AL2023") is None


@pytest.mark.parametrize(
    ("block", "reason", "names"),
    [
        ({"registerWithTaints": []}, "InvalidKubeletConfiguration", "NodePool"),
        ({"kubeRservd": {}}, "InvalidKubeletConfiguration", "did you mean kubeReserved"),
        ({"maxPods": "min(100, max_pods)"}, "KubeletExpressionDisabled", "write a number"),
        ({"maxPods": "soon"}, "KubeletExpressionDisabled", "AWS_FEATURE_GATES=NodeClassCEL=true"),
        ({"kubeReserved": {"cpu": "vcpus * 10"}}, "KubeletExpressionDisabled", "spec.kubelet.kubeReserved.cpu"),
        ({"kubeReserved": {"memory": "100MB"}}, "InvalidKubeletConfiguration", "100MB"),
        ({"maxPods": -1}, "InvalidKubeletConfiguration", "maxPods"),
        ({"podsPerCore": -1}, "InvalidKubeletConfiguration", "podsPerCore"),
        ({"evictionMaxPodGracePeriod": -1}, "InvalidKubeletConfiguration", "evictionMaxPodGracePeriod"),
        ({"evictionHard": {"memory": "1Gi"}}, "InvalidKubeletConfiguration", "eviction signal"),
        ({"evictionHard": {"memory.available": "101%"}}, "InvalidKubeletConfiguration", "memory.available"),
        ({"evictionHard": {"memory.available": "-1Gi"}}, "InvalidKubeletConfiguration", "negative"),
        ({"kubeReserved": {"gpu": "1"}}, "InvalidKubeletConfiguration", "cannot be reserved"),
        ({"systemReserved": {"cpu": "-1"}}, "InvalidKubeletConfiguration", "systemReserved"),
        ({"evictionSoft": {"pid.available": "1"}}, "InvalidKubeletConfiguration", "no grace period"),
        ({"evictionSoftGracePeriod": {"pid.available": "1m"}}, "InvalidKubeletConfiguration", "no threshold"),
        (
            {"evictionSoft": {"pid.available": "1"}, "evictionSoftGracePeriod": {"pid.available": "-1m"}},
            "InvalidKubeletConfiguration",
            "not a duration",
        ),
        (
            {"imageGCHighThresholdPercent": 50, "imageGCLowThresholdPercent": 50},
            "InvalidKubeletConfiguration",
            "must be above",
        ),
        ({"imageGCHighThresholdPercent": 101}, "InvalidKubeletConfiguration", "from 0 to 100"),
    ],
)
def test_a_kubelet_block_that_cannot_be_is_told_by_its_field(block: dict[str, Any], reason: str, names: str) -> None:
    found = kubelet_rules.wrong(block, "AL2023")
    assert found is not None
    assert found.reason == reason
    assert names in found.message


FORMULAS = {"maxPods": "min(20, max_pods)", "kubeReserved": {"memory": "max_pods * 16", "cpu": "100m"}}


def test_with_the_gate_a_kubelet_block_may_have_expressions() -> None:
    assert kubelet_rules.wrong(FORMULAS, "AL2023", formulas=True) is None
    for block, names in (
        ({"maxPods": "min(20, pods)"}, "spec.kubelet.maxPods is 'min(20, pods)', which is neither an amount"),
        ({"systemReserved": {"memory": "100MB"}}, "spec.kubelet.systemReserved.memory"),
    ):
        found = kubelet_rules.wrong(block, "AL2023", formulas=True)
        assert found is not None
        assert found.reason == "KubeletExpressionInvalid"
        assert names in found.message


@pytest.mark.parametrize(
    ("family", "block", "refused"),
    [
        ("AL2", {"topologyManagerPolicy": "none"}, True),
        ("Bottlerocket", {"podsPerCore": 3}, True),
        ("AL2", {"podsPerCore": 3}, False),
        ("Windows2022", {"clusterDNS": ["a", "b"]}, True),
        ("AL2023", {"clusterDNS": ["a", "b"]}, False),
        ("Custom", {"topologyManagerPolicy": "none", "clusterDNS": ["a", "b"]}, False),
    ],
)
def test_what_an_image_does_not_take_is_refused_for_it_alone(family: str, block: dict[str, Any], refused: bool) -> None:
    found = kubelet_rules.wrong(block, family)
    assert (found is not None) is refused
    if found is not None:
        assert found.reason == "UnsupportedKubeletConfiguration"
        assert family in found.message


# ---- user data (S2.13)


def texts(one: spec.ClassSpec, names: tuple[str, ...] = KINDS) -> set[str]:
    written = booting.user_data(one, HOME)
    return {written(Boot(Image("ami-1"), kinds()[name], {"team": "a"})) for name in names}


@pytest.mark.parametrize("family", ["AL2023", "AL2", "Bottlerocket", "Custom"])
def test_types_of_different_pod_density_share_one_user_data(family: str) -> None:
    assert len(texts(of_family(family, userData="" if family == "Bottlerocket" else "#!/bin/sh"))) == 1


def test_a_maximum_of_the_class_is_told_and_still_shared() -> None:
    (text,) = texts(read(kubelet={"maxPods": 4, "podsPerCore": 2}))
    assert "maxPods: 4" in text
    for family in ("AL2", "Bottlerocket"):
        (text,) = texts(of_family(family, kubelet={"maxPods": 4}))
        assert "max-pods" in text


def test_what_the_catalogue_plans_otherwise_is_told_to_that_type_alone() -> None:
    plain = kinds()["m5.large"]
    fewer = replace(plain, spec=replace(plain.spec, capacity=Resources({"pods": 7})))
    written = booting.user_data(read(), HOME)
    assert "maxPods: 7" in written(Boot(Image("ami-1"), fewer, {}))
    assert "maxPods: 7" in booting.user_data(read(kubelet={"maxPods": 20}), HOME)(Boot(Image("ami-1"), fewer, {}))
    assert "maxPods" not in written(Boot(Image("ami-1"), plain, {}))


def test_settings_of_the_kubelet_reach_the_node() -> None:
    block = {"kubeReserved": {"cpu": "100m"}, "evictionSoft": {"memory.available": "1Gi"},
             "evictionSoftGracePeriod": {"memory.available": "1m"}, "topologyManagerPolicy": "restricted"}  # fmt: skip
    (text,) = texts(read(kubelet=block))
    config = yaml.safe_load(text.partition("apiVersion")[1] + text.partition("apiVersion")[2].partition("\n--//")[0])
    assert config["spec"]["kubelet"]["config"].items() >= block.items()


@pytest.mark.parametrize("family", ["AL2023", "AL2", "Bottlerocket"])
def test_eviction_thresholds_reach_the_node_in_the_kubelets_words(family: str) -> None:
    """S2.7: what is planned with is what the kubelet gets."""
    (text,) = texts(of_family(family, kubelet={"evictionThreshold": {"hard": {"memory.available": "217Mi"}}}))
    assert "217Mi" in text
    assert "evictionThreshold" not in text


def test_what_an_expression_comes_to_is_told_to_each_type() -> None:
    written = booting.user_data(read(kubelet=FORMULAS), HOME)
    plain = kinds()["m5.large"]
    planned = replace(plain, spec=replace(plain.spec, capacity=Resources({"pods": 20})))
    text = written(Boot(Image("ami-1"), planned, {}))
    assert "maxPods: 20" in text
    assert "memory: 320Mi" in text
    assert "cpu: 100m" in text
    assert "max_pods" not in booting.sample(read(kubelet=FORMULAS), HOME)


def test_an_expression_has_a_hash_and_so_have_settings_the_schema_does_not_name() -> None:
    blocks = ({}, {"maxPods": 20}, FORMULAS, {"topologyManagerPolicy": "none"}, {"topologyManagerPolicy": "restricted"})
    assert len({class_hash.class_hash({"role": "r", "kubelet": block}) for block in blocks}) == len(blocks)


def test_a_custom_image_gets_the_users_own_and_nothing_else() -> None:
    assert texts(of_family("Custom", userData="anything")) == {"anything"}


# ---- versions of the hash


def carrying(version: str | None, number: str = "1", drifted: bool = False) -> Any:
    notes = {} if version is None else {HASH: number, HASH_VERSION: version}
    told = (Condition(DRIFTED, Status.TRUE),) if drifted else ()
    return replace(claim(annotations=notes), conditions=told)


def test_claims_of_our_version_are_left_alone_and_so_are_those_not_launched_yet() -> None:
    assert hashing.migrated([carrying(class_hash.VERSION, "other"), carrying(None)], "7") == {}


def test_a_claim_of_another_version_gets_our_number_unless_it_had_drifted() -> None:
    (found,) = hashing.migrated([carrying("v6")], "7").values()
    assert found == {HASH: "7", HASH_VERSION: class_hash.VERSION}
    (found,) = hashing.migrated([carrying("v6", drifted=True)], "7").values()
    assert found == {HASH_VERSION: class_hash.VERSION}


@pytest.mark.parametrize(
    ("odd", "where"),
    [
        ({"kubelet": {"kubeReserved": "lots"}}, "spec: kubelet.kubeReserved"),
        ({"kubelet": {"podsPerCore": {"a": 1}}}, "spec: kubelet.podsPerCore"),
        ({"kubelet": {"evictionHard": ["memory"]}}, "spec: kubelet.evictionHard"),
        ({"amiSelectorTerms": "al2023@latest"}, "spec: amiSelectorTerms"),
        ({"amiSelectorTerms": [None]}, "spec: amiSelectorTerms[0]"),
        ({"blockDeviceMappings": [{"ebs": "20Gi"}]}, "spec: blockDeviceMappings[0].ebs"),
        ({"capacityReservationSelectorTerms": [{"tags": ["team"]}]}, "spec: capacityReservationSelectorTerms[0].tags"),
        ({"amiFamily": "Ubuntu"}, "spec: amiFamily"),
        ({"subnetSelectorTerms": 10**30}, "spec: subnetSelectorTerms"),
    ],
)
def test_what_a_peers_definition_would_let_through_is_refused_with_its_place(odd, where) -> None:
    """A cluster may still have the peer's definitions, whose kubelet is open."""
    with pytest.raises(BadInput) as refused:
        spec.read(node_class(**odd))
    assert where in str(refused.value)
