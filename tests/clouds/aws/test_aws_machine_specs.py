"""The spec of an AWSMachine, read: what it asks for, and what is refused by the name of its field (R2, R15, R19)."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.api.crds.cluster_api.aws import AwsMachineSpec
from dovetail.api.fields import dotted
from dovetail.clouds.aws.machines import specs
from dovetail.core.errors import BadField

LEAST = {"instanceType": "m5.large", "ami": {"id": "ami-1"}}


def read(**more: Any) -> specs.Spec:
    return specs.read({**LEAST, **more})


def refused(**more: Any) -> str:
    with pytest.raises(BadField) as caught:
        read(**more)
    return str(dotted(caught.value))


def test_R8_a_spec_that_says_little_asks_for_little() -> None:
    assert read() == specs.Spec("ami-1")


def test_every_field_of_the_definition_is_honoured_or_refused_by_its_name() -> None:
    """A field added to the definition must be looked at here too."""
    known = set(AwsMachineSpec.__struct_encode_fields__)
    seen = specs._HONOURED | specs._READ_ELSEWHERE
    assert known - seen == {"elasticIpPool"}
    assert seen - known == {"capacityReservationPreference"}


def test_fields_that_say_nothing_ask_for_nothing() -> None:
    empty = {"elasticIpPool": None, "cloudInit": {}, "ignition": {}, "rootVolume": None, "somethingNew": False}
    assert read(**empty, networkInterfaces=[]) == specs.Spec("ami-1")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"ami": {}}, "spec.ami.id: is missing; name an image"),
        ({"ami": {"eksLookupType": "AmazonLinux"}}, "spec.ami.id: is missing"),
        ({"ami": None, "imageLookupFormat": "capa-{{.BaseOS}}"}, "spec.ami.id: is missing"),
        ({"elasticIpPool": {"publicIpv4Pool": "p"}}, "spec.elasticIpPool: no address can be taken from a pool here"),
        ({"hostID": "h-1"}, "spec.hostID: is not known here and would be without effect"),
        ({"instanceID": "i-1"}, "spec.instanceID: names an instance that spec.providerID does not"),
        ({"cloudInit": {"secureSecretsBackend": "ssm-parameter-store"}}, "spec.cloudInit.secureSecretsBackend: boot"),
        ({"ignition": {"version": "3.4"}}, "spec.ignition.storageType: must be UnencryptedUserData"),
        ({"ignition": {"storageType": "UnencryptedUserData", "proxy": {"x": 1}}}, "spec.ignition.proxy: is not known"),
        ({"subnet": {"id": "s", "filters": [{"name": "n", "values": ["v"]}]}}, "spec.subnet.filters: cannot stand"),
        ({"additionalSecurityGroups": [{"id": ""}]}, "spec.additionalSecurityGroups[0].id: is missing"),
        ({"networkInterfaces": ["eni-1"], "publicIP": True}, "spec.publicIP: cannot be had beside networkInterfaces"),
        ({"networkInterfaces": ["eni-1"], "subnet": {"id": "s"}}, "spec.subnet: cannot be had beside"),
        ({"networkInterfaceType": "odd"}, "spec.networkInterfaceType: 'odd' is not one of interface, efa"),
        ({"placementGroupPartition": 2}, "spec.placementGroupPartition: needs a placementGroupName"),
        ({"marketType": "CapacityBlock"}, "spec.capacityReservationId: is missing: a capacity block is named by it"),
        ({"spotMarketOptions": {}, "capacityReservationId": "cr-1"}, "spec.capacityReservationId: is not for spot"),
        ({"spotMarketOptions": {}, "marketType": "OnDemand"}, "spec.marketType: must be Spot"),
        ({"tenancy": "mine"}, "spec.tenancy: 'mine' is not one of default, dedicated, host"),
        ({"rootVolume": {"deviceName": "/dev/xvda"}}, "spec.rootVolume.size: is missing"),
        ({"nonRootVolumes": [{"size": 8}]}, "spec.nonRootVolumes[0].deviceName: is missing"),
        ({"rootVolume": {"size": 8, "encrypted": False, "encryptionKey": "k"}}, "spec.rootVolume.encryptionKey: is"),
        ({"rootVolume": {"size": 8, "kms": "k"}}, "spec.rootVolume.kms: unknown key"),
        ({"instanceMetadataOptions": {"httpToken": "required"}}, "spec.instanceMetadataOptions.httpToken: unknown key"),
        ({"instanceMetadataOptions": {"httpPutResponseHopLimit": 99}}, "httpPutResponseHopLimit: 99 is not a whole"),
        ({"privateDnsName": {"hostnameType": "x"}}, "spec.privateDnsName.hostnameType: 'x' is not one of"),
        ({"cpuOptions": {"confidentialCompute": "x"}}, "spec.cpuOptions.confidentialCompute: 'x' is not one of"),
        ({"cpuOptions": {"cores": 1}}, "spec.cpuOptions.cores: unknown key"),
        ({"additionalTags": ["a"]}, "spec.additionalTags: expected a map, got a list"),
        ({"publicIP": "yes"}, "spec.publicIP: expected true or false"),
    ],
)
def test_what_cannot_be_had_is_refused_by_the_name_of_its_field(more: dict[str, Any], told: str) -> None:
    assert told in refused(**more)


def test_R19_R20_no_field_asks_for_another_end_or_for_a_persistent_request() -> None:
    for name in ("instanceInterruptionBehavior", "spotInstanceType", "hibernationOptions"):
        assert f"spec.{name}: is not known here" in refused(**{name: "stop"})


def test_data_that_may_be_fed_openly_is() -> None:
    assert read(cloudInit={"insecureSkipSecretsManager": True, "secretPrefix": "x"}).image == "ami-1"
    assert read(ignition={"version": "3.4", "storageType": "UnencryptedUserData"}).image == "ami-1"
    assert read(uncompressedUserData=True).packs is False
