"""A world without its names: what planning looks at stays as it is, what only its owner would recognise does not.

Names, namespaces, label keys and values of users' own making become words without meaning, the same word every time, so
that selectors still select what they selected. Zones, types, sizes, taints of Kubernetes and prices stay. What planning
does not look at (images, commands, environment, annotations, addresses, events) is left out altogether. The words are
made with a key that is thrown away: they cannot be turned back, nor compared with those of another dump.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from typing import Any, Final

Object = dict[str, Any]

#: Label keys of these domains mean the same everywhere.
_PUBLIC: Final = (
    "kubernetes.io",
    "k8s.io",
    "x-k8s.io",
    "karpenter.sh",
    "karpenter.k8s.aws",
    "karpenter.k8s.gcp",
    "karpenter.azure.com",
    "karpenter.kwok.sh",
    "csi.aws.com",
    "csi.azure.com",
    "topology.gke.io",
)
#: Below these, users put words of their own.
_OWN_WORDS: Final = ("node-role.kubernetes.io", "node-restriction.kubernetes.io")
#: Of these public keys the values are names a user gave.
_NAMED: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/metadata.name",
        "karpenter.sh/nodepool",
        "karpenter.k8s.aws/ec2nodeclass",
        "karpenter.kwok.sh/kwoknodeclass",
    }
)
_APP_PREFIX: Final = "app.kubernetes.io/"
_SYSTEM: Final = ("system-", "kube-")
_KEPT_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
_KEPT_NOTES: Final = (
    "karpenter.sh/",
    "storageclass.kubernetes.io/",
    "pv.kubernetes.io/bind-completed",
    "controller.kubernetes.io/pod-deletion-cost",
)
#: Kinds and lists whose members have names that are the same everywhere: types, and CSI drivers.
_PUBLIC_NAMES: Final = frozenset({"InstanceType", "drivers"})
_LABEL_MAPS: Final = frozenset({"labels", "matchLabels", "nodeSelector"})
_NAME_FIELDS: Final = frozenset(
    [
        "name",
        "claimName",
        "volumeName",
        "storageClassName",
        "nodeName",
        "nominatedNodeName",
        "runtimeClassName",
        "priorityClassName",
    ]
)
_KEYS: Final = frozenset({"key", "topologyKey"})
#: What planning does not look at, or only its owner needs.
_DROPPED: Final = frozenset(
    [
        "managedFields",
        "selfLink",
        "generateName",
        "uid",
        "message",
        "description",
        "data",
        "config",
        "tags",
        "role",
        "instanceProfile",
        "userData",
        "image",
        "images",
        "imageID",
        "env",
        "envFrom",
        "command",
        "args",
        "volumeMounts",
        "volumeDevices",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
        "securityContext",
        "serviceAccount",
        "serviceAccountName",
        "imagePullSecrets",
        "hostAliases",
        "dnsConfig",
        "hostname",
        "subdomain",
        "addresses",
        "daemonEndpoints",
        "nodeInfo",
        "volumesInUse",
        "volumesAttached",
        "podIP",
        "podIPs",
        "hostIP",
        "hostIPs",
        "podCIDR",
        "podCIDRs",
        "containerStatuses",
        "initContainerStatuses",
        "ephemeralContainerStatuses",
        "resourceClaimStatuses",
        "csi",
        "nodeID",
        "lastHeartbeatTime",
    ]
)


class Names:
    """Words for names."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}

    def word(self, name: str) -> str:
        """The same word for the same name; `a.b/c` keeps its slash, and what the system itself made keeps its name."""
        if not name or name.startswith(_SYSTEM) or name in _KEPT_NAMESPACES:
            return name
        found = self._known.get(name)
        if found is None:
            digest = hmac.new(self._key, name.encode(), hashlib.sha256).hexdigest()
            found = self._known[name] = f"x{digest[:10]}"
        return found

    def label_key(self, key: str) -> str:
        prefix, slash, rest = key.rpartition("/")
        if prefix in _OWN_WORDS:
            return f"{prefix}/{rest if rest in ('control-plane', 'master') else self.word(rest)}"
        if _is_public(prefix):
            return key
        return f"{self.word(prefix)}.example/{self.word(rest)}" if slash else self.word(key)

    def label_value(self, key: str, value: str) -> str:
        if _is_public(key.rpartition("/")[0]) and key not in _NAMED and not key.startswith(_APP_PREFIX):
            return value
        return value if value in ("", "true", "false") or value.isdigit() else self.word(value)


def _is_public(domain: str) -> bool:
    return any(domain == one or domain.endswith(f".{one}") for one in _PUBLIC)


def anonymized(one: Mapping[str, Any], names: Names) -> Object:
    """One object without its names."""
    found = _map(one, names, "")
    about = found.get("metadata")
    if isinstance(about, dict):
        if one.get("kind") in _PUBLIC_NAMES:
            about["name"] = one["metadata"]["name"]
        notes = about.get("annotations") or {}
        about["annotations"] = {key: value for key, value in notes.items() if key.startswith(_KEPT_NOTES)}
    return found


def _map(one: Mapping[str, Any], names: Names, field: str) -> Object:
    if field in _LABEL_MAPS or (field == "selector" and all(isinstance(value, str) for value in one.values())):
        return {names.label_key(key): names.label_value(key, str(value)) for key, value in one.items()}
    if field == "annotations":
        return dict(one)
    found: Object = {}
    for name, value in one.items():
        if name in _DROPPED and not (name == "csi" and "driver" in (value or {})):
            continue
        if name == "values" and isinstance(value, list) and "key" in one:
            found[name] = [names.label_value(str(one["key"]), str(each)) for each in value]
        elif name == "name" and field in _PUBLIC_NAMES:
            found[name] = value
        elif name == "value" and "key" in one and isinstance(value, str):
            found[name] = names.label_value(str(one["key"]), value)
        else:
            found[name] = _value(value, names, name)
    return found


def _value(value: Any, names: Names, field: str) -> Any:
    if isinstance(value, Mapping):
        return {"driver": value["driver"]} if field == "csi" else _map(value, names, field)
    if isinstance(value, list):
        return [_value(one, names, _WITHIN.get(field, "")) for one in value]
    if isinstance(value, str):
        return _TEXTS.get(field, _same)(names, value)
    return value


def _same(names: Names, text: str) -> str:
    return text


def _word(names: Names, text: str) -> str:
    return names.word(text)


def _key(names: Names, text: str) -> str:
    return names.label_key(text)


def _provider(names: Names, text: str) -> str:
    scheme, mark, rest = text.rpartition("/")
    return f"{scheme}{mark}{names.word(rest)}"


#: What becomes of text, by the field it stands in.
_TEXTS: Final[Mapping[str, Callable[[Names, str], str]]] = {
    **dict.fromkeys(_NAME_FIELDS | {"namespace", "namespaces"}, _word),
    **dict.fromkeys(_KEYS | {"matchLabelKeys", "mismatchLabelKeys"}, _key),
    "providerID": _provider,
}
#: Lists whose elements are read by the name of the list.
_WITHIN: Final = {name: name for name in ("namespaces", "matchLabelKeys", "mismatchLabelKeys", "drivers")}
