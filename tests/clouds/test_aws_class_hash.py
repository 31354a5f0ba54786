"""The numbers the peer's own code computed for these specs."""

from __future__ import annotations

import pytest

from dovetail.clouds.aws.class_hash import class_hash, family

AL2023 = {"amiSelectorTerms": [{"alias": "al2023@latest"}]}
DISK = {
    "deviceName": "/dev/xvda",
    "ebs": {
        "deleteOnTermination": True,
        "encrypted": True,
        "iops": 3000,
        "throughput": 125,
        "volumeSize": "100Gi",
        "volumeType": "gp3",
    },
    "rootVolume": True,
}
SELECTED = {"securityGroupSelectorTerms": [{"tags": {"a": "b"}}], "subnetSelectorTerms": [{"tags": {"a": "b"}}]}


@pytest.mark.parametrize(
    ("spec", "number"),
    [
        ({**AL2023, "role": "r", **SELECTED}, 2898637819372767213),
        ({"amiSelectorTerms": [{"alias": "bottlerocket@latest"}], "role": "r"}, 7524190425205766657),
        ({**AL2023, "role": "r2"}, 5528199842061849488),
        ({**AL2023, "instanceProfile": "p"}, 18241003824117864755),
        ({**AL2023, "role": "r", "userData": "#!/bin/bash\necho hi"}, 15489534565136847221),
        ({**AL2023, "role": "r", "tags": {"env": "prod", "team": "a"}}, 388627973721686238),
        ({**AL2023, "role": "r", "blockDeviceMappings": [DISK]}, 9186236745594712731),
        ({"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-123"}], "role": "r"}, 2898637819372767213),
        (
            {
                "amiFamily": "Custom",
                "amiSelectorTerms": [{"id": "ami-123"}],
                "capacityReservationSelectorTerms": [{"id": "cr-1"}],
                "role": "r",
            },
            7932837972722532588,
        ),
    ],
)
def test_the_number_is_the_peers(spec, number):
    assert class_hash(spec) == str(number)


def test_a_false_that_was_given_counts():
    plain = {**AL2023, "role": "r"}
    assert class_hash({**plain, "associatePublicIPAddress": False}) != class_hash(plain)


@pytest.mark.parametrize("field", ["subnetSelectorTerms", "securityGroupSelectorTerms", "ipPrefixCount"])
def test_what_only_selects_does_not_count(field):
    plain = {**AL2023, "role": "r"}
    assert class_hash({**plain, field: [{"id": "x"}]}) == class_hash(plain)


def test_every_other_field_counts():
    plain = {**AL2023, "role": "r"}
    numbers = {class_hash(plain)}
    for name, value in {
        "placementGroupSelector": {"name": "g"},
        "instanceStorePolicy": "RAID0",
        "networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}],
        "detailedMonitoring": True,
        "metadataOptions": {"httpTokens": "optional"},
        "connectionTracking": {"udpTimeout": 30},
        "context": "c",
        "cpuOptions": {"nestedVirtualization": "enabled"},
        "enclaveOptions": {"enabled": True},
        "kubelet": {"maxPods": 10, "evictionSoftGracePeriod": {"memory.available": "1m30s"}, "clusterDNS": ["1.1.1.1"]},
    }.items():
        numbers.add(class_hash({**plain, name: value}))
    assert len(numbers) == 11


def test_equal_sizes_are_one_size():
    def of(size: str) -> str:
        return class_hash({**AL2023, "role": "r", "blockDeviceMappings": [{"ebs": {"volumeSize": size}}]})

    assert of("1024Gi") == of("1Ti")


def test_an_alias_names_its_family():
    assert family({"amiSelectorTerms": [{"alias": "windows2022@latest"}]}) == "Windows2022"
    assert family({"amiFamily": "Custom", **AL2023}) == "Custom"
    assert family({"amiSelectorTerms": [{"id": "ami-1"}]}) == ""
