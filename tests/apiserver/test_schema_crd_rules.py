"""Every CEL rule of the node-provisioning CRDs, each with something it lets pass and something it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.apiserver import schemas

STRING = {"type": "string"}
INTEGER = {"type": "integer"}
BOOLEAN = {"type": "boolean"}
NAMES = {"type": "object", "additionalProperties": STRING}
QUANTITIES = {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}}


def an_object(**members: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": members}


def a_list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


POOL = an_object(replicas=INTEGER, limits=QUANTITIES, weight=INTEGER)
CLASS_REF = an_object(group=STRING, kind=STRING, name=STRING)
REQUIREMENTS = a_list(an_object(key=STRING, operator=STRING, values=a_list(STRING), minValues=INTEGER))
BUDGETS = a_list(an_object(nodes=STRING, schedule=STRING, duration=STRING))
OVERLAY = an_object(price=STRING, priceAdjustment=STRING)
AMI_TERMS = a_list(
    an_object(alias=STRING, id=STRING, name=STRING, owner=STRING, ssmParameter=STRING, tags=NAMES),
)
TERMS = a_list(
    an_object(id=STRING, name=STRING, tags=NAMES, ownerID=STRING, instanceMatchCriteria=STRING),
)
EC2 = an_object(role=STRING, instanceProfile=STRING, amiFamily=STRING, amiSelectorTerms=AMI_TERMS)
EBS = an_object(snapshotID=STRING, volumeSize=STRING, volumeInitializationRate=INTEGER)
INTERFACES = a_list(an_object(networkCardIndex=INTEGER, deviceIndex=INTEGER, interfaceType=STRING))
TIMEOUTS = an_object(tcpEstablishedTimeout=INTEGER, udpStreamTimeout=INTEGER, udpTimeout=INTEGER)
KUBELET = an_object(
    imageGCHighThresholdPercent=INTEGER,
    imageGCLowThresholdPercent=INTEGER,
    evictionSoft=NAMES,
    evictionSoftGracePeriod=NAMES,
)
BUFFER = an_object(
    podTemplateRef=an_object(name=STRING), scalableRef=an_object(name=STRING), replicas=INTEGER, limits=QUANTITIES
)
TAG = {"tags": {"a": "b"}}
NIC = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}
DOMAIN = (
    'self in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || !self.find("^([^/]+)").endsWith("karpenter.sh")'
)
KWOK = (
    'self in ["karpenter.kwok.sh/kwoknodeclass", "karpenter.kwok.sh/instance-cpu", '
    '"karpenter.kwok.sh/instance-memory", '
    '"karpenter.kwok.sh/instance-family", "karpenter.kwok.sh/instance-size"] '
    '|| !self.find("^([^/]+)").endsWith("karpenter.kwok.sh")'
)
SIGNALS = (
    "self.all(x, x in ['memory.available','nodefs.available','nodefs.inodesFree','imagefs.available',"
    "'imagefs.inodesFree','pid.available'])"
)
STATIC = (
    "!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || "
    "(size(self.limits) == 1 && 'nodes' in self.limits))"
)
NUMERIC = (
    "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? "
    "(x.values.size() == 1 && int(x.values[0]) >= 0) : true)"
)
ALIAS_FAMILY = (
    "!has(self.amiFamily) || (self.amiSelectorTerms.exists(x, has(x.alias) && x.alias.find('^[^@]+') == 'al2') ? "
    "(self.amiFamily == 'Custom' || self.amiFamily == 'AL2') : true)"
)
ONE_PER_CARD = (
    "self.all(x, self.filter(y, x.networkCardIndex == y.networkCardIndex && "
    "x.deviceIndex == y.deviceIndex).size() == 1 "
    "&& (x.interfaceType != 'efa-only' || self.filter(y, x.networkCardIndex == y.networkCardIndex && "
    "y.interfaceType == 'efa-only').size() == 1))"
)
ONE_IDENTITY = "(has(self.role) && !has(self.instanceProfile)) || (!has(self.role) && has(self.instanceProfile))"

#: rule, its place in the table of the CRDs, schema of its scope, what passes, what does not.
CREATED: list[tuple[str, str, dict[str, Any], list[Any], list[Any]]] = [
    (
        "P2 a static pool limits nodes only",
        STATIC,
        POOL,
        [
            {},
            {"limits": {"cpu": 1}},
            {"replicas": 1},
            {"replicas": 1, "limits": {}},
            {"replicas": 1, "limits": {"nodes": 9}},
        ],
        [{"replicas": 1, "limits": {"cpu": 1}}, {"replicas": 1, "limits": {"nodes": 9, "cpu": 1}}],
    ),
    (
        "P3 a static pool has no weight",
        "!has(self.replicas) || !has(self.weight)",
        POOL,
        [{"weight": 1}, {"replicas": 0}],
        [{"replicas": 0, "weight": 1}],
    ),
    (
        "P4 domain reserved",
        'self.all(x, x in ["karpenter.sh/capacity-type", "karpenter.sh/nodepool"] || '
        '!x.find("^([^/]+)").endsWith("karpenter.sh"))',
        NAMES,
        [{"a": "b"}, {"karpenter.sh/capacity-type": "spot"}, {"x.karpenter.sh.io/a": "b"}],
        [{"karpenter.sh/x": "a"}, {"notkarpenter.sh/x": "a"}, {"karpenter.sh": "a"}],
    ),
    (
        "P5 pool label",
        'self.all(x, x != "karpenter.sh/nodepool")',
        NAMES,
        [{"a": "b"}],
        [{"karpenter.sh/nodepool": "x"}],
    ),
    (
        "P6 hostname",
        'self.all(x, x != "kubernetes.io/hostname")',
        NAMES,
        [{"a": "b"}],
        [{"kubernetes.io/hostname": "x"}],
    ),
    ("P9 not empty", "self != ''", STRING, ["a"], [""]),
    (
        "P10 In needs a value",
        "self.all(x, x.operator == 'In' ? x.values.size() != 0 : true)",
        REQUIREMENTS,
        [[], [{"operator": "In", "values": ["a"]}], [{"operator": "Exists"}]],
        [[{"operator": "In", "values": []}], [{"operator": "In"}]],
    ),
    (
        "P11 numeric operators",
        NUMERIC,
        REQUIREMENTS,
        [[{"operator": "Gt", "values": ["0"]}], [{"operator": "In"}]],
        [
            [{"operator": "Gt", "values": ["-1"]}],
            [{"operator": "Lt", "values": ["x"]}],
            [{"operator": "Gte", "values": ["1", "2"]}],
            [{"operator": "Lte"}],
        ],
    ),
    (
        "P12 minValues",
        "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
        REQUIREMENTS,
        [[{"operator": "In", "values": ["a", "b"], "minValues": 2}], [{"operator": "Exists", "minValues": 2}]],
        [[{"operator": "In", "values": ["a"], "minValues": 2}]],
    ),
    ("P13 key domain", DOMAIN, STRING, ["a", "karpenter.sh/nodepool"], ["karpenter.sh/x", "a.karpenter.sh/x"]),
    ("P14 key pool", 'self != "karpenter.sh/nodepool"', STRING, ["a"], ["karpenter.sh/nodepool"]),
    ("P15 key host", 'self != "kubernetes.io/hostname"', STRING, ["a"], ["kubernetes.io/hostname"]),
    ("kwok keys", KWOK, STRING, ["karpenter.kwok.sh/instance-cpu", "a/b"], ["karpenter.kwok.sh/other"]),
    (
        "P16 schedule and duration",
        "self.all(x, has(x.schedule) == has(x.duration))",
        BUDGETS,
        [[{"nodes": "1"}], [{"schedule": "@daily", "duration": "1h"}]],
        [[{"schedule": "@daily"}], [{"duration": "1h"}]],
    ),
    (
        "O1 price or adjustment",
        "!has(self.price) || !has(self.priceAdjustment)",
        OVERLAY,
        [{}, {"price": "1"}],
        [{"price": "1", "priceAdjustment": "+1"}],
    ),
    (
        "O2 NotIn needs a value",
        "self.all(x, x.operator == 'NotIn' ? x.values.size() != 0 : true)",
        REQUIREMENTS,
        [[{"operator": "NotIn", "values": ["a"]}]],
        [[{"operator": "NotIn", "values": []}], [{"operator": "NotIn"}]],
    ),
    (
        "O3 core resources",
        "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
        QUANTITIES,
        [{"nvidia.com/gpu": 1}],
        [{"cpu": "1"}],
    ),
    (
        "E1 role or profile",
        ONE_IDENTITY,
        EC2,
        [{"role": "r"}, {"instanceProfile": "p"}],
        [{}, {"role": "r", "instanceProfile": "p"}],
    ),
    (
        "E2 alias and family",
        ALIAS_FAMILY,
        EC2,
        [
            {"amiSelectorTerms": [{"alias": "al2@latest"}]},
            {"amiFamily": "AL2", "amiSelectorTerms": [{"alias": "al2@latest"}]},
            {"amiFamily": "Custom", "amiSelectorTerms": [{"alias": "al2@latest"}]},
            {"amiFamily": "AL2023", "amiSelectorTerms": [{"alias": "al2023@latest"}]},
        ],
        [{"amiFamily": "AL2023", "amiSelectorTerms": [{"alias": "al2@latest"}]}],
    ),
    (
        "E3 family needed",
        "self.amiSelectorTerms.exists(x, has(x.alias)) ? true : has(self.amiFamily)",
        EC2,
        [{"amiSelectorTerms": [{"alias": "al2@latest"}]}, {"amiFamily": "AL2", "amiSelectorTerms": [{"id": "ami-1"}]}],
        [{"amiSelectorTerms": [{"id": "ami-1"}]}, {}],
    ),
    (
        "E4 each term names something",
        "self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.alias) || has(x.ssmParameter))",
        AMI_TERMS,
        [[{"id": "ami-1"}, {"ssmParameter": "p"}]],
        [[{"owner": "self"}]],
    ),
    (
        "E5 id stands alone",
        "!self.exists(x, has(x.id) && (has(x.alias) || has(x.tags) || has(x.name) || has(x.owner)))",
        AMI_TERMS,
        [[{"id": "ami-1"}], [{"id": "ami-1", "ssmParameter": "p"}]],
        [[{"id": "ami-1", "name": "n"}]],
    ),
    (
        "E6 alias stands alone",
        "!self.exists(x, has(x.alias) && (has(x.id) || has(x.tags) || has(x.name) || has(x.owner)))",
        AMI_TERMS,
        [[{"alias": "al2@latest"}]],
        [[{"alias": "al2@latest", "owner": "self"}]],
    ),
    (
        "E7 one alias term",
        "!(self.exists(x, has(x.alias)) && self.size() != 1)",
        AMI_TERMS,
        [[{"alias": "a"}], [{"id": "a"}, {"id": "b"}]],
        [[{"alias": "a"}, {"id": "b"}]],
    ),
    ("E8 alias shape", "self.matches('^[a-zA-Z0-9]+@.+$')", STRING, ["al2@latest"], ["al2", "@x", "al2@"]),
    (
        "E9 alias family",
        "self.split('@')[0] in ['al2','al2023','bottlerocket','windows2019','windows2022','windows2025']",
        STRING,
        ["al2@x"],
        ["ubuntu@x"],
    ),
    (
        "E10 windows at latest",
        "self.split('@')[0] in ['windows2019','windows2022','windows2025'] ? self.split('@')[1] == 'latest' : true",
        STRING,
        ["windows2022@latest", "al2@v1"],
        ["windows2022@v1", "windows2022"],
    ),
    ("T no empty tag", "self.all(k, k != '' && self[k] != '')", NAMES, [{"a": "b"}, {}], [{"": "b"}, {"a": ""}]),
    ("E11 and E14 not empty", "self.size() != 0", TERMS, [[TAG]], [[]]),
    ("E12 tags or id", "self.all(x, has(x.tags) || has(x.id))", TERMS, [[TAG, {"id": "a"}]], [[{}]]),
    (
        "E13 every term mixes",
        "!self.all(x, has(x.id) && has(x.tags))",
        TERMS,
        [[TAG], [TAG, {"id": "a", **TAG}]],
        [[{"id": "a", **TAG}], []],
    ),
    (
        "E15 tags, id or name",
        "self.all(x, has(x.tags) || has(x.id) || has(x.name))",
        TERMS,
        [[{"name": "a"}]],
        [[{"ownerID": "a"}]],
    ),
    (
        "E16 id alone",
        "!self.all(x, has(x.id) && (has(x.tags) || has(x.name)))",
        TERMS,
        [[{"id": "a"}]],
        [[{"id": "a", "name": "b"}]],
    ),
    (
        "E17 name alone",
        "!self.all(x, has(x.name) && (has(x.tags) || has(x.id)))",
        TERMS,
        [[{"name": "a"}]],
        [[{"id": "a", "name": "b"}]],
    ),
    (
        "E18 reservation terms",
        "self.all(x, has(x.tags) || has(x.id) || has(x.instanceMatchCriteria))",
        TERMS,
        [[{"instanceMatchCriteria": "open"}]],
        [[{"ownerID": "1"}]],
    ),
    (
        "E19 reservation id alone",
        "!self.all(x, has(x.id) && (has(x.tags) || has(x.ownerID) || has(x.instanceMatchCriteria)))",
        TERMS,
        [[{"id": "a"}]],
        [[{"id": "a", "ownerID": "1"}]],
    ),
    ("E20 name or id", "has(self.name) || has(self.id)", an_object(name=STRING, id=STRING), [{"id": "a"}], [{}]),
    (
        "E21 not both",
        "!(has(self.name) && has(self.id))",
        an_object(name=STRING, id=STRING),
        [{"id": "a"}],
        [{"id": "a", "name": "b"}],
    ),
    ("E22 no empty key", "self.all(k, k != '')", NAMES, [{"a": ""}], [{"": "a"}]),
    ("E23", "self.all(k, k !='eks:eks-cluster-name')", NAMES, [{"a": "b"}], [{"eks:eks-cluster-name": "x"}]),
    (
        "E24",
        "self.all(k, !k.startsWith('kubernetes.io/cluster') )",
        NAMES,
        [{"kubernetes.io/x": "b"}],
        [{"kubernetes.io/cluster/a": "owned"}],
    ),
    ("E25", "self.all(k, k != 'karpenter.sh/nodepool')", NAMES, [{"a": "b"}], [{"karpenter.sh/nodepool": "x"}]),
    ("E26", "self.all(k, k !='karpenter.sh/nodeclaim')", NAMES, [{"a": "b"}], [{"karpenter.sh/nodeclaim": "x"}]),
    (
        "E27",
        "self.all(k, k !='karpenter.k8s.aws/ec2nodeclass')",
        NAMES,
        [{"a": "b"}],
        [{"karpenter.k8s.aws/ec2nodeclass": "x"}],
    ),
    (
        "E28 a time-out",
        "has(self.tcpEstablishedTimeout) || has(self.udpStreamTimeout) || has(self.udpTimeout)",
        TIMEOUTS,
        [{"udpTimeout": 30}],
        [{}],
    ),
    (
        "E29 one root",
        "self.filter(x, has(x.rootVolume)?x.rootVolume==true:false).size() <= 1",
        a_list(an_object(rootVolume=BOOLEAN)),
        [[{}, {"rootVolume": True}, {"rootVolume": False}]],
        [[{"rootVolume": True}, {"rootVolume": True}]],
    ),
    ("E30 snapshot or size", "has(self.snapshotID) || has(self.volumeSize)", EBS, [{"volumeSize": "1Gi"}], [{}]),
    (
        "E31 rate needs a snapshot",
        "!has(self.volumeInitializationRate) || (has(self.snapshotID) && self.snapshotID != '')",
        EBS,
        [{}, {"volumeInitializationRate": 100, "snapshotID": "s"}],
        [{"volumeInitializationRate": 100}, {"volumeInitializationRate": 100, "snapshotID": ""}],
    ),
    (
        "E32 the first interface is ordinary",
        "self.size() == 0 || "
        "self.exists(x, x.deviceIndex == 0 && x.networkCardIndex == 0 && x.interfaceType == 'interface')",
        INTERFACES,
        [[], [NIC]],
        [[{**NIC, "interfaceType": "efa-only"}], [{**NIC, "deviceIndex": 1}]],
    ),
    (
        "E33 one per card and device",
        ONE_PER_CARD,
        INTERFACES,
        [[NIC, {**NIC, "deviceIndex": 1, "interfaceType": "efa-only"}]],
        [
            [NIC, NIC],
            [
                {**NIC, "deviceIndex": 1, "interfaceType": "efa-only"},
                {**NIC, "deviceIndex": 2, "interfaceType": "efa-only"},
            ],
        ],
    ),
    (
        "kubelet reserves",
        "self.all(x, x=='cpu' || x=='memory' || x=='ephemeral-storage' || x=='pid')",
        NAMES,
        [{"cpu": "1"}],
        [{"gpu": "1"}],
    ),
    ("kubelet not negative", "self.all(x, !self[x].startsWith('-'))", NAMES, [{"cpu": "1"}], [{"cpu": "-1"}]),
    ("kubelet signals", SIGNALS, NAMES, [{"memory.available": "5%"}], [{"memory": "5%"}]),
    (
        "kubelet thresholds",
        "has(self.imageGCHighThresholdPercent) && has(self.imageGCLowThresholdPercent) ?  "
        "self.imageGCHighThresholdPercent > self.imageGCLowThresholdPercent  : true",
        KUBELET,
        [{"imageGCHighThresholdPercent": 2, "imageGCLowThresholdPercent": 1}, {"imageGCHighThresholdPercent": 2}],
        [{"imageGCHighThresholdPercent": 1, "imageGCLowThresholdPercent": 1}],
    ),
    (
        "kubelet soft needs grace",
        "has(self.evictionSoft) ? self.evictionSoft.all(e, (e in self.evictionSoftGracePeriod)):true",
        KUBELET,
        [{}, {"evictionSoft": {"a": "1"}, "evictionSoftGracePeriod": {"a": "1m"}}],
        [{"evictionSoft": {"a": "1"}}, {"evictionSoft": {"a": "1"}, "evictionSoftGracePeriod": {"b": "1m"}}],
    ),
    (
        "kubelet grace needs soft",
        "has(self.evictionSoftGracePeriod) ? self.evictionSoftGracePeriod.all(e, (e in self.evictionSoft)):true",
        KUBELET,
        [{}, {"evictionSoft": {"a": "1"}, "evictionSoftGracePeriod": {"a": "1m"}}],
        [{"evictionSoftGracePeriod": {"a": "1m"}}],
    ),
    (
        "B1 a template needs replicas or limits",
        "!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)",
        BUFFER,
        [{}, {"podTemplateRef": {"name": "a"}, "replicas": 1}, {"podTemplateRef": {"name": "a"}, "limits": {}}],
        [{"podTemplateRef": {"name": "a"}}],
    ),
    (
        "B2 not both references",
        "!(has(self.podTemplateRef) && has(self.scalableRef))",
        BUFFER,
        [{}, {"scalableRef": {"name": "a"}}],
        [{"podTemplateRef": {"name": "a"}, "scalableRef": {"name": "b"}}],
    ),
]

#: The same for rules about a change: what passes and what does not are pairs of old and new.
CHANGED: list[tuple[str, str, dict[str, Any], list[tuple[Any, Any]], list[tuple[Any, Any]]]] = [
    (
        "P1 static stays static",
        "has(self.replicas) == has(oldSelf.replicas)",
        POOL,
        [({}, {"weight": 1}), ({"replicas": 1}, {"replicas": 2})],
        [({}, {"replicas": 1}), ({"replicas": 1}, {})],
    ),
    (
        "P7 group is fixed",
        "self.group == oldSelf.group",
        CLASS_REF,
        [({"group": "a", "name": "x"}, {"group": "a", "name": "y"})],
        [({"group": "a"}, {"group": "b"})],
    ),
    (
        "P8 kind is fixed",
        "self.kind == oldSelf.kind",
        CLASS_REF,
        [({"kind": "a"}, {"kind": "a"})],
        [({"kind": "a"}, {"kind": "b"})],
    ),
    (
        "C1 nothing changes",
        "self == oldSelf",
        POOL,
        [({"weight": 1}, {"weight": 1})],
        [({"weight": 1}, {"weight": 2}), ({}, {"weight": 1}), ({"limits": {"cpu": 1}}, {"limits": {"cpu": "1"}})],
    ),
]


def compiled(scope: dict[str, Any], rule: str) -> schemas.Schema:
    judged = {**scope, "x-kubernetes-validations": [{"rule": rule, "message": "refused"}]}
    return schemas.compile({"type": "object", "properties": {"x": judged}})


@pytest.mark.parametrize(("title", "rule", "scope", "passing", "failing"), CREATED, ids=[row[0] for row in CREATED])
def test_a_rule_lets_pass_and_refuses(
    title: str, rule: str, scope: dict[str, Any], passing: list[Any], failing: list[Any]
) -> None:
    schema = compiled(scope, rule)
    assert [value for value in passing if schema.validate({"x": value})] == []
    for value in failing:
        found = schema.validate({"x": value})
        assert [(one.field, one.reason) for one in found] == [("x", "FieldValueInvalid")], value
        assert str(found[0]).endswith("refused")


@pytest.mark.parametrize(("title", "rule", "scope", "passing", "failing"), CHANGED, ids=[row[0] for row in CHANGED])
def test_a_rule_about_a_change_lets_pass_and_refuses(
    title: str,
    rule: str,
    scope: dict[str, Any],
    passing: list[tuple[Any, Any]],
    failing: list[tuple[Any, Any]],
) -> None:
    schema = compiled(scope, rule)
    assert [pair for pair in passing if schema.validate({"x": pair[1]}, {"x": pair[0]})] == []
    assert [str(one) for old, new in failing for one in schema.validate({"x": new}, {"x": old})] == [
        "x: Invalid value: refused"
    ] * len(failing)
    assert [new for _, new in failing if schema.validate({"x": new})] == [], "nothing is compared on creation"
