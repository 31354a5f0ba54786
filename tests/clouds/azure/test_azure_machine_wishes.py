"""AzureMachine → what Azure is sent: every field is in it, or is refused by its name (R2, R4, R26–R28, R30)."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from tests.clouds.azure.azure_orders import BOOT, CLUSTER, order

from dovetail.clouds.azure.machines import ids, places, tags
from dovetail.clouds.azure.machines.bodies import LARGEST_BOOT, Order, custom_data
from dovetail.clouds.azure.machines.wishes import wish
from dovetail.clouds.machines import UserData
from dovetail.clouds.port import Misconfigured
from dovetail.core.machines.infra_objects import Purchase

SUBSCRIPTION = "0000"
Wire = dict[str, Any]


def read(purchase: Purchase, **cluster: Any) -> Order:
    where = places.place({**CLUSTER, **cluster}, purchase.cluster, SUBSCRIPTION)
    return Order(purchase, wish(purchase.wanted, SUBSCRIPTION), where)


def sent(**changes: Any) -> Wire:
    """The virtual machine, as Azure is asked for it."""
    return read(order(**changes)).virtual_machine(BOOT, "ssh-ed25519 nobody")


def properties(**changes: Any) -> Wire:
    found: Wire = sent(**changes)["properties"]
    return found


def interface(purchase: Purchase, **cluster: Any) -> Wire:
    ((_, body),) = read(purchase, **cluster).interfaces()
    found: Wire = body["properties"]
    return found


def configuration(purchase: Purchase, **cluster: Any) -> Wire:
    found: Wire = interface(purchase, **cluster)["ipConfigurations"][0]["properties"]
    return found


# ------------------------------------------------------------------------------------------------ spot


def test_R4_R8_a_machine_that_does_not_say_spot_is_not_and_no_policy_is_sent():
    assert not {"priority", "evictionPolicy", "billingProfile"} & set(properties())


def test_R26_R27_R28_spot_without_a_word_is_deallocated_and_costs_at_most_the_on_demand_price():
    asked = properties(spotVMOptions={})
    assert (asked["priority"], asked["evictionPolicy"]) == ("Spot", "Deallocate")
    assert asked["billingProfile"] == {"maxPrice": -1.0}


@pytest.mark.parametrize(("written", "price"), [("0.04", 0.04), (1, 1.0), ("-1", -1.0), ("40m", 0.04)])
def test_R28_a_price_is_sent_as_a_number(written: Any, price: float):
    assert properties(spotVMOptions={"maxPrice": written})["billingProfile"] == {"maxPrice": price}


@pytest.mark.parametrize("bad", ["0", "-2", "cheap"])
def test_R28_a_price_that_buys_nothing_is_refused(bad: str):
    with pytest.raises(Misconfigured, match="maxPrice"):
        sent(spotVMOptions={"maxPrice": bad})


def test_the_policy_is_the_users_and_delete_where_the_disk_is_ephemeral():
    """R27."""
    local = {"osType": "Linux", "diffDiskSettings": {"option": "Local", "placement": "ResourceDisk"}}
    assert properties(spotVMOptions={"evictionPolicy": "Delete"})["evictionPolicy"] == "Delete"
    asked = properties(spotVMOptions={}, osDisk=local)
    assert asked["evictionPolicy"] == "Delete"
    disk = asked["storageProfile"]["osDisk"]
    assert disk["diffDiskSettings"] == {"option": "Local", "placement": "ResourceDisk"}
    assert disk["caching"] == "ReadOnly"
    with pytest.raises(Misconfigured, match=r"spotVMOptions: evictionPolicy.*cannot be deallocated"):
        sent(spotVMOptions={"evictionPolicy": "Deallocate"}, osDisk=local)


def test_R11_R30_a_machine_is_in_no_scale_set_and_no_availability_set():
    assert not {"virtualMachineScaleSet", "availabilitySet", "platformFaultDomain"} & set(properties(spotVMOptions={}))
    with pytest.raises(Misconfigured, match="spec: availabilitySet"):
        sent(availabilitySet="a")


def test_spot_is_not_bought_from_a_reservation():
    asked = properties(capacityReservationGroupID="/x/group")
    assert asked["capacityReservation"] == {"capacityReservationGroup": {"id": "/x/group"}}
    with pytest.raises(Misconfigured, match="capacityReservationGroupID"):
        sent(spotVMOptions={}, capacityReservationGroupID="/x/group")


# ------------------------------------------------------------------------------------------------ the machine


def test_everything_that_is_made_goes_with_the_machine_and_is_called_by_its_token():
    asked = properties(dataDisks=[{"nameSuffix": "etcd", "diskSizeGB": 256, "lun": 3, "cachingType": "ReadWrite"}])
    mark = order().token[:10]
    first, more = asked["storageProfile"]["osDisk"], asked["storageProfile"]["dataDisks"]
    assert (first["name"], first["deleteOption"], first["diskSizeGB"]) == (f"m-{mark}-os", "Delete", 30)
    assert first["managedDisk"] == {"storageAccountType": "Premium_LRS"}
    assert more == [
        {
            "name": f"m-{mark}-etcd",
            "lun": 3,
            "createOption": "Empty",
            "deleteOption": "Delete",
            "caching": "ReadWrite",
            "diskSizeGB": 256,
            "managedDisk": {},
        }
    ]
    (held,) = asked["networkProfile"]["networkInterfaces"]
    assert held["id"].endswith(f"/resourceGroups/My-Group/providers/Microsoft.Network/networkInterfaces/m-{mark}-nic-0")
    assert held["properties"] == {"primary": True, "deleteOption": "Delete"}


def test_bootstrap_data_is_custom_data_and_never_too_long():
    assert base64.b64decode(properties()["osProfile"]["customData"]) == BOOT.data
    assert custom_data(UserData(b"x" * LARGEST_BOOT))
    with pytest.raises(Misconfigured, match="bootstrap data has 65536 bytes, and Azure takes 65535"):
        custom_data(UserData(b"x" * (LARGEST_BOOT + 1)))


def test_a_key_is_read_from_base64_and_one_that_is_none_refused():
    written = base64.b64encode(b"ssh-rsa AAAA me@here\n").decode()
    assert read(order(sshPublicKey=written)).wish.key == "ssh-rsa AAAA me@here"
    for bad in ("ssh-rsa AAAA", "\x80", "gA=="):
        with pytest.raises(Misconfigured, match="spec: sshPublicKey"):
            sent(sshPublicKey=bad)


IMAGES = [
    ({"id": "/my/image"}, {"id": "/my/image"}, None),
    (
        {"marketplace": {"publisher": "p", "offer": "o", "sku": "s", "version": "1", "thirdPartyImage": True}},
        {"publisher": "p", "offer": "o", "sku": "s", "version": "1"},
        {"name": "s", "publisher": "p", "product": "o"},
    ),
    (
        {"sharedGallery": {"subscriptionID": "u", "resourceGroup": "g", "gallery": "y", "name": "n", "version": "1"}},
        {"id": "/subscriptions/u/resourceGroups/g/providers/Microsoft.Compute/galleries/y/images/n/versions/1"},
        None,
    ),
    (
        {"computeGallery": {"gallery": "y", "name": "n", "version": "1"}},
        {"communityGalleryImageId": "/CommunityGalleries/y/Images/n/Versions/1"},
        None,
    ),
    (
        {
            "computeGallery": {
                "gallery": "y",
                "name": "n",
                "version": "1",
                "subscriptionID": "u",
                "resourceGroup": "g",
                "plan": {"publisher": "p", "offer": "o", "sku": "s"},
            }
        },
        {"id": "/subscriptions/u/resourceGroups/g/providers/Microsoft.Compute/galleries/y/images/n/versions/1"},
        {"name": "s", "publisher": "p", "product": "o"},
    ),
]


@pytest.mark.parametrize(("written", "reference", "plan"), IMAGES)
def test_an_image_is_named_in_four_ways(written: Wire, reference: Wire, plan: Wire | None):
    asked = sent(image=written)
    assert asked["properties"]["storageProfile"]["imageReference"] == reference
    assert asked.get("plan") == plan


GUARDED = {"encryptionAtHost": True, "securityType": "TrustedLaunch", "uefiSettings": {"vTpmEnabled": True}}


def test_identities_guards_and_the_rest_are_sent_as_azure_spells_them():
    asked = sent(
        identity="UserAssigned",
        userAssignedIdentities=[{"providerID": "azure:///subscriptions/s/identities/i"}],
        securityProfile={
            "encryptionAtHost": True,
            "securityType": "TrustedLaunch",
            "uefiSettings": {"vTpmEnabled": True},
        },
        diagnostics={"boot": {"storageAccountType": "UserManaged", "userManaged": {"storageAccountURI": "https://x"}}},
        dataDisks=[{"nameSuffix": "u", "diskSizeGB": 4, "managedDisk": {"storageAccountType": "UltraSSD_LRS"}}],
        disableExtensionOperations=True,
        failureDomain="2",
    )
    assert asked["identity"] == {
        "type": "UserAssigned",
        "userAssignedIdentities": {"/subscriptions/s/identities/i": {}},
    }
    inner = asked["properties"]
    assert inner["securityProfile"] == GUARDED
    assert inner["diagnosticsProfile"] == {"bootDiagnostics": {"enabled": True, "storageUri": "https://x"}}
    assert inner["additionalCapabilities"] == {"ultraSSDEnabled": True}
    assert inner["osProfile"]["allowExtensionOperations"] is False
    assert sent(identity="SystemAssigned")["identity"] == {"type": "SystemAssigned"}


@pytest.mark.parametrize(("zone", "sent_as"), [("", None), ("0", None), ("2", ["2"]), ("westeurope-3", ["3"])])
def test_a_zone_is_a_number(zone: str, sent_as: list[str] | None):
    assert read(order(zone=zone)).virtual_machine(BOOT, "").get("zones") == sent_as


REFUSED = [
    ({"vmExtensions": [{"name": "x"}]}, "spec: vmExtensions: nothing is put on machines"),
    ({"systemAssignedIdentityRole": {"name": "r"}}, "spec: systemAssignedIdentityRole: no role is assigned"),
    ({"spotPolicy": 1}, "spec: spotPolicy: unknown key"),
    ({"image": None}, "spec: image: is missing"),
    ({"image": {"id": "a", "marketplace": {}}}, "spec: image: needs one of"),
    ({"image": {"computeGallery": {"gallery": "y", "name": "n"}}}, "computeGallery: version: is missing"),
    ({"osDisk": {"osType": "Windows"}}, "osDisk: osType: only Linux"),
    ({"osDisk": {"osType": "Linux", "kind": 1}}, "osDisk: kind: unknown key"),
    ({"dataDisks": [{"nameSuffix": "a"}]}, r"dataDisks\[0\]: diskSizeGB: is missing"),
    (
        {"dataDisks": [{"nameSuffix": "a", "diskSizeGB": 1, "lun": 1}, {"nameSuffix": "b", "diskSizeGB": 1}]},
        "spec: dataDisks: two disks have the same lun",
    ),
    ({"identity": "UserAssigned"}, "spec: userAssignedIdentities: is missing"),
    ({"identity": "Mine"}, "spec: identity: 'Mine' is none of"),
    ({"networkInterfaces": [{}], "subnetName": "s"}, "spec: subnetName: cannot be given beside networkInterfaces"),
    ({"networkInterfaces": [{"privateIPConfigs": 0}]}, r"networkInterfaces\[0\]: privateIPConfigs"),
    ({"networkInterfaces": [{"id": "/nic"}]}, r"networkInterfaces\[0\]: id"),
    ({"diagnostics": {"boot": {"storageAccountType": "Mine"}}}, "storageAccountType: 'Mine' is none of"),
    ({"securityProfile": {"secureBoot": True}}, "securityProfile: secureBoot: unknown key"),
    ({"spotVMOptions": {"tryRestore": True}}, "spotVMOptions: tryRestore: unknown key"),
]


@pytest.mark.parametrize(("changes", "told"), REFUSED)
def test_what_cannot_be_honoured_is_refused_by_its_name(changes: Wire, told: str):
    with pytest.raises(Misconfigured, match=told):
        sent(**changes)


# ------------------------------------------------------------------------------------------------ network and place


def test_interfaces_stand_where_they_are_told_to():
    two = order(
        networkInterfaces=[
            {"subnetName": "front", "privateIPConfigs": 2, "acceleratedNetworking": True},
            {"subnetName": "back"},
        ],
        allocatePublicIP=True,
        enableIPForwarding=True,
        dnsServers=["10.0.0.10"],
    )
    (front_name, front), (back_name, back) = read(two).interfaces()
    assert (front_name[-5:], back_name[-5:]) == ("nic-0", "nic-1")
    main, other = (one["properties"] for one in front["properties"]["ipConfigurations"])
    assert main["subnet"]["id"].endswith("/virtualNetworks/c-vnet/subnets/front")
    assert main["publicIPAddress"]["properties"] == {"deleteOption": "Delete"}
    assert (main["primary"], other["primary"]) == (True, False)
    assert "publicIPAddress" not in other
    assert front["properties"]["enableAcceleratedNetworking"] is True
    assert front["properties"]["enableIPForwarding"] is True
    assert front["properties"]["dnsSettings"] == {"dnsServers": ["10.0.0.10"]}
    assert back["properties"]["ipConfigurations"][0]["properties"]["subnet"]["id"].endswith("/subnets/back")


def test_the_cluster_says_which_network_and_which_subnet_machines_stand_in():
    network = {
        "vnet": {"name": "v", "resourceGroup": "net"},
        "subnets": [{"name": "cp", "role": "control-plane"}, {"name": "workers", "role": "node"}],
        "nodeOutboundLB": {},
    }
    found = configuration(order(), networkSpec=network)
    inner = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v"
    assert found["subnet"]["id"] == f"{inner}/subnets/workers"
    (pool,) = found["loadBalancerBackendAddressPools"]
    assert pool["id"].endswith("/loadBalancers/c/backendAddressPools/c-outboundBackendPool")
    plane = replace(order(), control_plane=True)
    assert configuration(plane, networkSpec=network)["subnet"]["id"].endswith("/subnets/cp")
    assert configuration(order())["subnet"]["id"].endswith("/c-vnet/subnets/c-node-subnet")


PLACES = [
    ({"location": ""}, "location: is empty"),
    ({"subscriptionID": "another"}, "subscriptionID: is another, and machines are made in 0000"),
    ({"azureEnvironment": "AzureChinaCloud"}, "azureEnvironment"),
    ({"extendedLocation": {"name": "x"}}, "extendedLocation"),
    (
        {"networkSpec": {"subnets": [{"name": "a", "role": "node"}, {"name": "b", "role": "node"}]}},
        "subnetName.*: a, b",
    ),
]


@pytest.mark.parametrize(("cluster", "told"), PLACES)
def test_a_cluster_that_does_not_say_where_is_refused_by_the_field(cluster: Wire, told: str):
    with pytest.raises(Misconfigured, match=told):
        interface(order(), **cluster)


def test_tags_say_whose_it_is_and_a_users_never_go_before_ours():
    theirs = {"team": "x", "NAME": "theirs", tags.TOKEN: "stolen"}
    given = read(order(additionalTags=theirs), additionalTags={"team": "y", "a": "b"})
    found = given.virtual_machine(BOOT, "")["tags"]
    assert (found["team"], found["a"], found["Name"]) == ("x", "b", "m")
    assert found["sigs.k8s.io_cluster-api-provider-azure_cluster_c"] == "owned"
    assert found["sigs.k8s.io_cluster-api-provider-azure_role"] == "node"
    assert tags.token_in(found) == order().token
    assert "NAME" not in found


# ------------------------------------------------------------------------------------------------ names


def test_a_provider_id_is_as_nodes_have_it_and_is_read_in_any_case():
    made = ids.provider_id("S", "My-Group", "m")
    assert made == "azure:///subscriptions/S/resourceGroups/my-group/providers/Microsoft.Compute/virtualMachines/m"
    assert ids.of_provider_id(made.replace("resourceGroups", "RESOURCEGROUPS"), "s") == ids.Lies("my-group", "m")
    for bad in ("aws:///a/i-1", made + "/x", "azure:///subscriptions/S"):
        with pytest.raises(Misconfigured, match="not the provider id"):
            ids.of_provider_id(bad, "S")
    with pytest.raises(Misconfigured, match="another subscription"):
        ids.of_provider_id(made, "T")


def test_the_longest_name_leaves_room_for_what_is_appended():
    longest = "m" * ids.LONGEST_NAME
    assert len(ids.data_disk(longest, "f" * 64, "d" * 12)) <= 80
    assert ids.prefix("a" * 64, "f" * 64) == ids.prefix("a" * 60, "f" * 64)
