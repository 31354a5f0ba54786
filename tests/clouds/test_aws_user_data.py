"""What machines are told so that they join (S2.7): each family in its own language, the user's part kept."""

from __future__ import annotations

import email
import shlex
import tomllib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dovetail.clouds.aws.bootstrap import Boot, Home, toml, user_data
from dovetail.clouds.aws.bootstrap.mime import parts
from dovetail.core.errors import BadInput
from dovetail.core.taints import Effect, Taint

HOME = Home("prod", "https://api.example.com", "Q0E=", "10.100.0.0/16", "10.100.0.10")
KUBELET = {
    "kubeReserved": {"cpu": "100m", "memory": "1Gi"},
    "systemReserved": {"memory": "200Mi"},
    "evictionHard": {"memory.available": "5%"},
    "evictionSoft": {"memory.available": "10%"},
    "evictionSoftGracePeriod": {"memory.available": "1m"},
    "podsPerCore": 8,
    "imageGCHighThresholdPercent": 80,
    "cpuCFSQuota": False,
}
BOOT = Boot(
    HOME,
    labels={"team": "web", "topology.kubernetes.io/zone": "a", "example.node-restriction.kubernetes.io/x": "y"},
    taints=(Taint("dedicated", Effect.NO_SCHEDULE, "web"),),
    kubelet=KUBELET,
    max_pods=58,
)


def node_configs(text: str) -> list[dict]:
    found = [yaml.safe_load(one.text) for one in parts(text) if one.content == "application/node.eks.aws"]
    assert all(one["kind"] == "NodeConfig" for one in found)
    return found


def bootstrap_call(text: str) -> list[str]:
    (script,) = [one.text for one in parts(text) if "/etc/eks/bootstrap.sh" in one.text]
    return shlex.split(script[script.index("/etc/eks/bootstrap.sh") :].replace("\\\n", ""))


def kubelet_flags(text: str) -> dict[str, str]:
    call = bootstrap_call(text)
    return dict(
        one.removeprefix("--").split("=", 1) for one in shlex.split(call[call.index("--kubelet-extra-args") + 1])
    )


def test_al2023_gets_a_node_config_with_every_kubelet_setting():
    (config,) = node_configs(user_data("AL2023", BOOT))
    cluster = config["spec"]["cluster"]
    assert cluster == {
        "name": "prod",
        "apiServerEndpoint": "https://api.example.com",
        "certificateAuthority": "Q0E=",
        "cidr": "10.100.0.0/16",
    }
    kubelet = config["spec"]["kubelet"]["config"]
    assert {key: kubelet[key] for key in KUBELET} == KUBELET
    assert kubelet["maxPods"] == 58
    assert kubelet["clusterDNS"] == ["10.100.0.10"]
    assert kubelet["registerWithTaints"] == [
        {"key": "dedicated", "value": "web", "effect": "NoSchedule"},
        {"key": "karpenter.sh/unregistered", "effect": "NoExecute"},
    ]


def test_labels_a_kubelet_may_not_give_itself_are_withheld():
    (config,) = node_configs(user_data("AL2023", BOOT))
    assert config["spec"]["kubelet"]["flags"] == ["--node-labels=karpenter.sh/do-not-sync-taints=true,team=web"]


def test_an_image_that_knows_its_density_is_not_told():
    (config,) = node_configs(user_data("AL2023", Boot(HOME)))
    assert "maxPods" not in config["spec"]["kubelet"]["config"]


def test_local_disks_are_joined_where_that_is_asked():
    (config,) = node_configs(user_data("AL2023", Boot(HOME, raid0=True)))
    assert config["spec"]["instance"] == {"localStorage": {"strategy": "RAID0"}}
    assert "--local-disks" in bootstrap_call(user_data("AL2", Boot(HOME, raid0=True)))


@pytest.mark.parametrize("family", ["AL2023", "AL2"])
def test_a_users_script_runs_before_ours(family):
    found = parts(user_data(family, Boot(HOME, custom="#!/bin/bash\necho hello\n")))
    assert len(found) == 2
    assert "echo hello" in found[0].text
    assert "text/x-shellscript" in found[0].content


def test_a_users_node_config_comes_first_so_that_ours_has_the_last_word():
    own = "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec: {kubelet: {config: {maxPods: 7}}}\n"
    first, last = node_configs(user_data("AL2023", Boot(HOME, custom=own, max_pods=58)))
    assert first["spec"]["kubelet"]["config"]["maxPods"] == 7
    assert last["spec"]["kubelet"]["config"]["maxPods"] == 58


@pytest.mark.parametrize("family", ["AL2023", "AL2"])
def test_a_users_own_parts_are_kept_in_their_order(family):
    own = user_data("AL2", Boot(HOME, custom="#!/bin/sh\necho first\n"))
    found = parts(user_data(family, Boot(HOME, custom=own)))
    assert len(found) == 3
    assert "echo first" in found[0].text


def test_what_is_made_is_mime_that_anybody_reads():
    message = email.message_from_string(user_data("AL2023", BOOT))
    assert message.is_multipart()
    assert not message.defects


@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("AL2023", "just words"),
        ("AL2023", "a: [1"),
        ("AL2023", 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\nno parts'),
        ("AL2", 'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="x"\n\nno parts'),
        ("Bottlerocket", "settings = ["),
    ],
)
def test_user_data_nobody_can_read_is_told_by_its_field(family, text):
    with pytest.raises(BadInput, match="userData"):
        user_data(family, Boot(HOME, custom=text))


def test_al2_calls_bootstrap_with_flags():
    text = user_data("AL2", BOOT)
    call = bootstrap_call(text)
    assert call[:6] == [
        *("/etc/eks/bootstrap.sh", "prod", "--apiserver-endpoint", "https://api.example.com"),
        *("--b64-cluster-ca", "Q0E="),
    ]
    assert call[call.index("--dns-cluster-ip") + 1] == "10.100.0.10"
    assert call[call.index("--use-max-pods") + 1] == "false"
    flags = kubelet_flags(text)
    assert flags["max-pods"] == "58"
    assert flags["pods-per-core"] == "8"
    assert flags["kube-reserved"] == "cpu=100m,memory=1Gi"
    assert flags["system-reserved"] == "memory=200Mi"
    assert flags["eviction-hard"] == "memory.available<5%"
    assert flags["eviction-soft"] == "memory.available<10%"
    assert flags["eviction-soft-grace-period"] == "memory.available=1m"
    assert flags["register-with-taints"] == "dedicated=web:NoSchedule,karpenter.sh/unregistered=:NoExecute"
    assert flags["cpu-cfs-quota"] == "false"


def test_a_cluster_of_the_newer_addresses_says_so():
    home = Home("prod", "https://api.example.com", cidr="fd00::/108", dns="fd00::a")
    call = bootstrap_call(user_data("AL2", Boot(home)))
    assert call[call.index("--ip-family") + 1] == "ipv6"


def test_bottlerocket_merges_what_the_user_set_with_what_we_know():
    own = "[settings.kubernetes]\nmax-pods = 7\n[settings.host-containers.admin]\nenabled = true\n"
    found = tomllib.loads(user_data("Bottlerocket", Boot(**{**_fields(BOOT), "custom": own})))
    assert found["settings"]["host-containers"] == {"admin": {"enabled": True}}
    kubernetes = found["settings"]["kubernetes"]
    assert kubernetes["max-pods"] == 58
    assert kubernetes["cluster-name"] == "prod"
    assert kubernetes["cluster-dns-ip"] == "10.100.0.10"
    assert kubernetes["node-taints"] == {"dedicated": ["web:NoSchedule"], "karpenter.sh/unregistered": [":NoExecute"]}
    assert kubernetes["kube-reserved"] == {"cpu": "100m", "memory": "1Gi"}
    assert kubernetes["eviction-hard"] == {"memory.available": "5%"}
    assert kubernetes["image-gc-high-threshold-percent"] == "80"


def _fields(boot: Boot) -> dict:
    return {name: getattr(boot, name) for name in Boot.__dataclass_fields__}


@pytest.mark.parametrize("own", ["Write-Host hello", "<powershell>\nWrite-Host hello\n</powershell>"])
def test_windows_runs_the_users_part_then_the_bootstrap_script(own):
    text = user_data("Windows2022", Boot(HOME, custom=own, labels={"team": "it's"}))
    assert text.count("<powershell>") == 1
    assert text.index("Write-Host hello") < text.index("-EKSClusterName 'prod'")
    assert "team=it''s" in text


def test_custom_data_is_left_as_it_is():
    assert user_data("Custom", Boot(HOME, custom="anything at all")) == "anything at all"
    assert user_data("Custom", Boot(HOME)) == ""


def test_a_name_with_a_quote_cannot_end_its_argument():
    call = bootstrap_call(user_data("AL2", Boot(Home("a'; reboot; '", "https://x"))))
    assert call[1] == "a'; reboot; '"


_WORDS = st.text(max_size=8).filter(lambda text: "\r" not in text)
_PLAIN = st.none().map(lambda _: "x") | st.booleans() | st.integers(-(2**60), 2**60) | _WORDS
_TABLES = st.recursive(
    st.dictionaries(_WORDS, _PLAIN | st.lists(_PLAIN, max_size=3), max_size=4),
    lambda inner: st.dictionaries(_WORDS, inner | _PLAIN, max_size=3),
    max_leaves=8,
)


@given(_TABLES)
def test_a_table_that_is_written_reads_back_the_same(table):
    assert tomllib.loads(toml.written(table)) == table
