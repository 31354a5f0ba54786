"""EC2NodeClass, row by row (contract §5)."""

from __future__ import annotations

from typing import Any, Final

from tests.contract.crds.rows import GONE, Table
from tests.contract.crds.shared_rows import PATTERN, REQUIRED, TOO_LONG, TOO_MANY, UNSUPPORTED

from dovetail.api.kinds import EC2_NODE_CLASSES

AMIS, SUBNETS, GROUPS = "spec.amiSelectorTerms", "spec.subnetSelectorTerms", "spec.securityGroupSelectorTerms"
RESERVATIONS: Final = "spec.capacityReservationSelectorTerms"
TAGS: Final = {"a": "b"}
CLASSES: Final = Table(
    EC2_NODE_CLASSES,
    {
        "role": "nodes",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [{"id": "subnet-1"}],
        "securityGroupSelectorTerms": [{"id": "sg-1"}],
    },
)
FAMILIES: Final = {
    "al2": "AL2",
    "al2023": "AL2023",
    "bottlerocket": "Bottlerocket",
    "windows2019": "Windows2019",
    "windows2022": "Windows2022",
    "windows2025": "Windows2025",
}


def _spec() -> None:
    metadata = {
        "httpEndpoint": "enabled",
        "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1,
        "httpTokens": "required",
    }
    CLASSES.accepts("what is left out is filled in", {}, {"spec.metadataOptions": metadata, "spec.kubelet": GONE})
    CLASSES.accepts("[Q] no spec at all", {"spec": GONE}, {"spec": GONE})
    for path in (AMIS, SUBNETS, GROUPS):
        CLASSES.refuses(f"no {path}", {path: GONE}, path, REQUIRED)
    profile = {"spec.instanceProfile": "p"}
    one = "role or instanceProfile must be set"
    CLASSES.accepts("E1: a profile instead of a role", profile | {"spec.role": GONE})
    CLASSES.refuses("E1: both", profile, "spec", one)
    CLASSES.refuses("E1: neither", {"spec.role": GONE}, "spec", one)
    CLASSES.refuses("an empty role", {"spec.role": ""}, "spec.role", "role may not be empty")
    empty = {"spec.role": GONE, "spec.instanceProfile": ""}
    CLASSES.refuses("an empty profile", empty, "spec.instanceProfile", "instanceProfile may not be empty")
    for alias, family in FAMILIES.items():
        term = {AMIS: [{"alias": f"{alias}@latest"}]}
        other = "Bottlerocket" if family != "Bottlerocket" else "AL2"
        CLASSES.accepts(f"E2: {alias} and its family", term | {"spec.amiFamily": family})
        CLASSES.accepts(f"E2: {alias} and Custom", term | {"spec.amiFamily": "Custom"})
        CLASSES.refuses(f"E2: {alias} and {other}", term | {"spec.amiFamily": other}, "spec", f"must be {family} or")
    CLASSES.refuses("an unknown family", {"spec.amiFamily": "Ubuntu"}, "spec.amiFamily", UNSUPPORTED)
    CLASSES.accepts("E3: a family and no alias", {AMIS: [{"id": "ami-1"}], "spec.amiFamily": "AL2"})
    CLASSES.refuses("E3: neither alias nor family", {AMIS: [{"id": "ami-1"}]}, "spec", "amiFamily must be set")


def _images() -> None:
    def amis(*terms: dict[str, Any]) -> dict[str, Any]:
        return {AMIS: list(terms), "spec.amiFamily": "AL2023"}

    CLASSES.refuses("no image term", amis(), AMIS, "should have at least 1 items")
    CLASSES.accepts("30 image terms", amis(*[{"id": f"ami-{at}"} for at in range(30)]))
    CLASSES.refuses("31 image terms", amis(*[{"id": f"ami-{at}"} for at in range(31)]), AMIS, TOO_MANY)
    for term in ({"tags": TAGS}, {"id": "ami-1"}, {"name": "n", "owner": "o"}, {"ssmParameter": "p"}):
        CLASSES.accepts(f"E4: an image term with {sorted(term)}", amis(term))
    CLASSES.refuses("E4: an owner alone", amis({"owner": "o"}), AMIS, "must each have tags, id, name")
    CLASSES.refuses("E4: an empty term", amis({}), AMIS, "must each have tags, id, name")
    for name, value in {"alias": "al2023@latest", "tags": TAGS, "name": "n", "owner": "o"}.items():
        CLASSES.refuses(f"E5: an id and {name}", amis({"id": "ami-1", name: value}), AMIS, "id may have nothing beside")
    CLASSES.accepts("E5 [Q]: an id and ssmParameter", amis({"id": "ami-1", "ssmParameter": "p"}))
    for name, value in {"tags": TAGS, "name": "n", "owner": "o"}.items():
        wire = amis({"alias": "al2023@latest", name: value})
        CLASSES.refuses(f"E6: an alias and {name}", wire, AMIS, "alias may have nothing beside")
    CLASSES.accepts("E6 [Q]: an alias and ssmParameter", amis({"alias": "al2023@latest", "ssmParameter": "p"}))
    two = amis({"alias": "al2023@latest"}, {"id": "ami-1"})
    CLASSES.refuses("E7: an alias among others", two, AMIS, "may have no other term")
    CLASSES.refuses("an image id that is none", amis({"id": "img-1"}), f"{AMIS}[0].id", PATTERN)
    CLASSES.accepts("[Q] an image id is looked for anywhere", amis({"id": "x-ami-1!"}))


def _aliases() -> None:
    field = f"{AMIS}[0].alias"
    for good in ("al2@v1", "al2023@latest", "bottlerocket@1.2.3", "windows2022@latest"):
        CLASSES.accepts(f"E8: alias {good}", {AMIS: [{"alias": good}]})
    for bad in ("al2023", "@latest", "al-2@latest", "al2023@"):
        CLASSES.refuses(f"E8: alias {bad}", {AMIS: [{"alias": bad}]}, field, "family@version")
    CLASSES.refuses("E9: an unknown family", {AMIS: [{"alias": "ubuntu@latest"}]}, field, "must name the family")
    CLASSES.refuses("E10: Windows at a version", {AMIS: [{"alias": "windows2022@v1"}]}, field, "the version latest")
    CLASSES.refuses("an alias of 31 characters", {AMIS: [{"alias": "al2@" + "1" * 27}]}, field, TOO_LONG)


def _tags() -> None:
    places = {AMIS: {"spec.amiFamily": "AL2"}, SUBNETS: {}, GROUPS: {}, RESERVATIONS: {}}
    for path, more in places.items():
        field = f"{path}[0].tags"
        CLASSES.accepts(f"T: tags at {path}", {path: [{"tags": {"a": "*"}}]} | more)
        for tags in ({"": "b"}, {"a": ""}):
            CLASSES.refuses(f"T: {tags} at {path}", {path: [{"tags": tags}]} | more, field, "neither empty keys nor")
        many = {f"a{at}": "b" for at in range(21)}
        CLASSES.refuses(f"21 tags at {path}", {path: [{"tags": many}]} | more, field, "must have at most 20")
    CLASSES.accepts("tags", {"spec.tags": {"a": ""}})
    CLASSES.refuses("E22: a tag without a key", {"spec.tags": {"": "a"}}, "spec.tags", "empty key")
    reserved = {
        "E23": "eks:eks-cluster-name",
        "E24": "kubernetes.io/cluster/a",
        "E25": "karpenter.sh/nodepool",
        "E26": "karpenter.sh/nodeclaim",
        "E27": "karpenter.k8s.aws/ec2nodeclass",
    }
    for rule, key in reserved.items():
        CLASSES.refuses(f"{rule}: tag {key}", {"spec.tags": {key: "a"}}, "spec.tags", key.removesuffix("/a"))


def _places() -> None:
    CLASSES.refuses("E11: no subnet term", {SUBNETS: []}, SUBNETS, "subnetSelectorTerms may not be empty")
    CLASSES.refuses("E12: an empty subnet term", {SUBNETS: [{}]}, SUBNETS, "must each have tags or id")
    mixed = {"id": "subnet-1", "tags": TAGS}
    CLASSES.refuses("E13: every subnet term mixes", {SUBNETS: [mixed]}, SUBNETS, "id may have nothing beside")
    CLASSES.accepts("E13 [Q]: one subnet term mixes", {SUBNETS: [mixed, {"tags": TAGS}]})
    CLASSES.refuses("a subnet id that is none", {SUBNETS: [{"id": "net-1"}]}, f"{SUBNETS}[0].id", PATTERN)
    CLASSES.accepts("[Q] a subnet id is looked for anywhere", {SUBNETS: [{"id": "a subnet-1"}]})
    CLASSES.refuses("31 subnet terms", {SUBNETS: [{"id": f"subnet-{at}"} for at in range(31)]}, SUBNETS, TOO_MANY)
    CLASSES.refuses("E14: no group term", {GROUPS: []}, GROUPS, "securityGroupSelectorTerms may not be empty")
    CLASSES.accepts("E15: a group by name", {GROUPS: [{"name": "n"}]})
    CLASSES.refuses("E15: an empty group term", {GROUPS: [{}]}, GROUPS, "must each have tags, id or name")
    with_id = {"id": "sg-1", "tags": TAGS}
    CLASSES.refuses("E16: every group term mixes", {GROUPS: [with_id]}, GROUPS, "with id may have nothing beside")
    CLASSES.accepts("E16 [Q]: one group term mixes", {GROUPS: [with_id, {"name": "n"}]})
    with_name = {"name": "n", "tags": TAGS}
    CLASSES.refuses("E17: every group term mixes", {GROUPS: [with_name]}, GROUPS, "with name may have nothing beside")
    CLASSES.accepts("E17 [Q]: one group term mixes", {GROUPS: [with_name, {"id": "sg-1"}]})
    CLASSES.refuses("a group id that is none", {GROUPS: [{"id": "g-1"}]}, f"{GROUPS}[0].id", PATTERN)
    CLASSES.accepts("[Q] a group id is looked for anywhere", {GROUPS: [{"id": "my-sg-1."}]})
    CLASSES.refuses("31 group terms", {GROUPS: [{"id": f"sg-{at}"} for at in range(31)]}, GROUPS, TOO_MANY)


def _reservations() -> None:
    for term in ({"tags": TAGS, "ownerID": "1" * 12}, {"id": "cr-1"}, {"instanceMatchCriteria": "open"}):
        CLASSES.accepts(f"E18: a reservation term with {sorted(term)}", {RESERVATIONS: [term]})
    for term in ({"instanceType": "m5.large"}, {"type": "targeted"}, {"instanceType": "m5.large", "type": "open"}):
        CLASSES.accepts(f"S3.1: a reservation term with {sorted(term)}", {RESERVATIONS: [term]})
    for name, value in {"instanceType": "m5.large", "type": "open"}.items():
        wire = {RESERVATIONS: [{"id": "cr-1", name: value}]}
        CLASSES.refuses(f"S3.1: an id and {name}", wire, RESERVATIONS, "id may have nothing beside")
    CLASSES.refuses(
        "S3.1: no type",
        {RESERVATIONS: [{"instanceType": ""}]},
        f"{RESERVATIONS}[0].instanceType",
        "at least 1 chars long",
    )
    CLASSES.refuses("S3.1: an unknown type", {RESERVATIONS: [{"type": "any"}]}, f"{RESERVATIONS}[0].type", UNSUPPORTED)
    CLASSES.refuses("E18: an owner alone", {RESERVATIONS: [{"ownerID": "1" * 12}]}, RESERVATIONS, "must each have tags")
    mixed = {"id": "cr-1", "instanceMatchCriteria": "open"}
    CLASSES.refuses("E19: every term mixes", {RESERVATIONS: [mixed]}, RESERVATIONS, "id may have nothing beside")
    CLASSES.accepts("E19 [Q]: one term mixes", {RESERVATIONS: [mixed, {"id": "cr-2"}]})
    CLASSES.refuses("E19 [Q]: not even an empty list", {RESERVATIONS: []}, RESERVATIONS, "id may have nothing beside")
    first = f"{RESERVATIONS}[0]"
    CLASSES.refuses("a reservation id that is none", {RESERVATIONS: [{"id": "a cr-1"}]}, f"{first}.id", PATTERN)
    criteria = {RESERVATIONS: [{"instanceMatchCriteria": "any"}]}
    CLASSES.refuses("unknown match criteria", criteria, f"{first}.instanceMatchCriteria", UNSUPPORTED)
    owner = {RESERVATIONS: [{"tags": TAGS, "ownerID": "12"}]}
    CLASSES.refuses("an owner that is none", owner, f"{first}.ownerID", PATTERN)
    many = [{"id": f"cr-{at}"} for at in range(31)]
    CLASSES.refuses("31 reservation terms", {RESERVATIONS: many}, RESERVATIONS, TOO_MANY)
    group = "spec.placementGroupSelector"
    for good in ({"id": "pg-1"}, {"name": "n"}):
        CLASSES.accepts(f"E20: placement group {good}", {group: good})
    CLASSES.refuses("E20: neither name nor id", {group: {}}, group, "must have name or id")
    CLASSES.refuses("E21: both", {group: {"id": "pg-1", "name": "n"}}, group, "may not have both")
    CLASSES.refuses("a group id that is no placement group's", {group: {"id": "x-pg-1"}}, f"{group}.id", PATTERN)
    CLASSES.refuses("an empty name", {group: {"name": ""}}, f"{group}.name", "at least 1 chars long")


_spec()
_images()
_aliases()
_tags()
_places()
_reservations()
