"""Amazon Linux 2023: a NodeConfig for nodeadm, which merges those of all parts, the last one having the last word."""

from __future__ import annotations

import yaml

from dovetail.api.install.text import Dumper
from dovetail.clouds.aws.bootstrap.boot import Boot
from dovetail.clouds.aws.bootstrap.mime import NODE_CONFIG, SHELL, Part, is_multipart, joined, parts
from dovetail.core.errors import BadValue

_API = "node.eks.aws/"


def user_data(boot: Boot) -> str:
    return joined((*_users(boot.custom), Part(NODE_CONFIG, _node_config(boot))))


def _users(text: str) -> tuple[Part, ...]:
    """A script, a NodeConfig, or several parts."""
    if not text.strip():
        return ()
    if is_multipart(text):
        return parts(text)
    if text.lstrip().startswith("#!"):
        return (Part(SHELL, text),)
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as wrong:
        raise BadValue(f"userData is neither a script, nor MIME, nor a NodeConfig: {_first_line(wrong)}") from None
    if not isinstance(found, dict) or not str(found.get("apiVersion", "")).startswith(_API):
        raise BadValue("userData is neither a script (it would begin with #!), nor MIME, nor a NodeConfig")
    return (Part(NODE_CONFIG, text),)


def _first_line(problem: Exception) -> str:
    return str(problem).splitlines()[0]


def _node_config(boot: Boot) -> str:
    cluster = {
        "name": boot.home.name,
        "apiServerEndpoint": boot.home.endpoint,
        "certificateAuthority": boot.home.authority,
        "cidr": boot.home.cidr,
    }
    spec: dict[str, object] = {"cluster": cluster}
    if boot.raid0:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    labels = ",".join(f"{key}={value}" for key, value in boot.node_labels)
    spec["kubelet"] = {"config": _kubelet(boot), "flags": [f"--node-labels={labels}"]}
    config = {"apiVersion": f"{_API}v1alpha1", "kind": "NodeConfig", "spec": spec}
    return yaml.dump(config, Dumper=Dumper, sort_keys=True)


def _kubelet(boot: Boot) -> dict[str, object]:
    """Whatever the user set, handed through; what we know better in its place."""
    config: dict[str, object] = {str(key): value for key, value in boot.kubelet.items()}
    config.pop("kubeReservedStrategy", None)
    if boot.max_pods is not None:
        config["maxPods"] = boot.max_pods
    if boot.name_servers:
        config["clusterDNS"] = list(boot.name_servers)
    config["registerWithTaints"] = [
        {"key": one.key, "effect": str(one.effect), **({"value": one.value} if one.value else {})}
        for one in boot.node_taints
    ]
    return config
