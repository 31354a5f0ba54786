"""How an EC2NodeClass finds images, subnets, security groups, reservations and placement groups."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec

from dovetail.api.crds.schema import Limits, Rule, Wire

MAX_TERMS: Final = 30
_TAGS: Final = Rule("self.all(k, k != '' && self[k] != '')", "tags may have neither empty keys nor empty values")
Tags = Annotated[dict[str, str], Limits(max_properties=20), _TAGS, "Tags that must all be there; * is any value."]
_FAMILIES: Final = "['al2','al2023','bottlerocket','windows2019','windows2022','windows2025']"
_WINDOWS: Final = "['windows2019','windows2022','windows2025']"
Alias = Annotated[
    str | None,
    Limits(max_length=30),
    Rule("self.matches('^[a-zA-Z0-9]+@.+$')", "alias must be written family@version"),
    Rule(
        f"self.split('@')[0] in {_FAMILIES}",
        "alias must name the family al2, al2023, bottlerocket, windows2019, windows2022 or windows2025",
    ),
    Rule(
        f"self.split('@')[0] in {_WINDOWS} ? self.split('@')[1] == 'latest' : true",
        "alias of a Windows family must have the version latest",
    ),
    "A family of images and its version, such as al2023@latest.",
]


class AmiTerm(Wire, frozen=True):
    """Images; a term's parts must all hold, and any term will do."""

    alias: Alias = None
    id: Annotated[str | None, Limits(pattern=r"ami-[0-9a-z]+"), "Id of an image."] = None
    name: Annotated[str | None, "Name of an image."] = None
    owner: Annotated[str | None, "Account, or alias of one, that owns the image."] = None
    ssm_parameter: Annotated[str | None, "Parameter that holds the id of an image."] = None
    tags: Tags = msgspec.field(default_factory=dict)


class SubnetTerm(Wire, frozen=True):
    """Subnets; a term's parts must all hold, and any term will do."""

    id: Annotated[str | None, Limits(pattern=r"subnet-[0-9a-z]+"), "Id of a subnet."] = None
    tags: Tags = msgspec.field(default_factory=dict)


class SecurityGroupTerm(Wire, frozen=True):
    """Security groups; a term's parts must all hold, and any term will do."""

    id: Annotated[str | None, Limits(pattern=r"sg-[0-9a-z]+"), "Id of a group."] = None
    name: Annotated[str | None, "Name of a group."] = None
    tags: Tags = msgspec.field(default_factory=dict)


ReservationId = Annotated[str, Limits(pattern=r"^cr-[0-9a-z]+$"), "Id of a reservation."]
MatchCriteria = Annotated[
    str, Limits(enum=("open", "targeted")), "Whether any matching instance uses the reservation, or named ones only."
]
Account = Annotated[str, Limits(pattern=r"^[0-9]{12}$"), "Account that owns the reservation."]


class ReservationTerm(Wire, frozen=True):
    """Capacity reservations; a term's parts must all hold, and any term will do."""

    id: ReservationId | None = None
    instance_match_criteria: MatchCriteria | None = None
    #: Ours, beside the peer's: the same under the design's name, and a part of its own (S3.1).
    type: MatchCriteria | None = None
    instance_type: Annotated[str | None, Limits(min_length=1), "Type of machine the reservation holds."] = None
    owner_id: Account | None = msgspec.field(default=None, name="ownerID")
    tags: Tags = msgspec.field(default_factory=dict)


class PlacementGroupSelector(Wire, frozen=True):
    """A placement group, by its id or by its name."""

    id: Annotated[str | None, Limits(pattern=r"^pg-[0-9a-z]+$"), "Id of the group."] = None
    name: Annotated[str | None, Limits(min_length=1), "Name of the group."] = None


_SOME: Final = Limits(max_items=MAX_TERMS)
AmiTerms = Annotated[
    tuple[AmiTerm, ...],
    Limits(min_items=1, max_items=MAX_TERMS),
    Rule(
        "self.all(x, has(x.tags) || has(x.id) || has(x.name) || has(x.alias) || has(x.ssmParameter))",
        "amiSelectorTerms must each have tags, id, name, alias or ssmParameter",
    ),
    Rule(
        "!self.exists(x, has(x.id) && (has(x.alias) || has(x.tags) || has(x.name) || has(x.owner)))",
        "amiSelectorTerms with id may have nothing beside it",
    ),
    Rule(
        "!self.exists(x, has(x.alias) && (has(x.id) || has(x.tags) || has(x.name) || has(x.owner)))",
        "amiSelectorTerms with alias may have nothing beside it",
    ),
    Rule("!(self.exists(x, has(x.alias)) && self.size() != 1)", "amiSelectorTerms with alias may have no other term"),
    "Which images nodes run.",
]
SubnetTerms = Annotated[
    tuple[SubnetTerm, ...],
    _SOME,
    Rule("self.size() != 0", "subnetSelectorTerms may not be empty"),
    Rule("self.all(x, has(x.tags) || has(x.id))", "subnetSelectorTerms must each have tags or id"),
    Rule("!self.all(x, has(x.id) && has(x.tags))", "subnetSelectorTerms with id may have nothing beside it"),
    "Which subnets nodes are in.",
]
SecurityGroupTerms = Annotated[
    tuple[SecurityGroupTerm, ...],
    _SOME,
    Rule("self.size() != 0", "securityGroupSelectorTerms may not be empty"),
    Rule(
        "self.all(x, has(x.tags) || has(x.id) || has(x.name))",
        "securityGroupSelectorTerms must each have tags, id or name",
    ),
    Rule(
        "!self.all(x, has(x.id) && (has(x.tags) || has(x.name)))",
        "securityGroupSelectorTerms with id may have nothing beside it",
    ),
    Rule(
        "!self.all(x, has(x.name) && (has(x.tags) || has(x.id)))",
        "securityGroupSelectorTerms with name may have nothing beside it",
    ),
    "Which security groups nodes are in.",
]
ReservationTerms = Annotated[
    tuple[ReservationTerm, ...],
    _SOME,
    Rule(
        "self.all(x, has(x.tags) || has(x.id) || has(x.instanceMatchCriteria) || has(x.type) || has(x.instanceType))",
        "capacityReservationSelectorTerms must each have tags, id, instanceType or instanceMatchCriteria",
    ),
    Rule(
        "!self.all(x, has(x.id) && (has(x.tags) || has(x.ownerID) || has(x.instanceMatchCriteria) || has(x.type) || "
        "has(x.instanceType)))",
        "capacityReservationSelectorTerms with id may have nothing beside it",
    ),
    "Which capacity reservations may be used.",
]
PlacementGroup = Annotated[
    PlacementGroupSelector | None,
    Rule("has(self.name) || has(self.id)", "placementGroupSelector must have name or id"),
    Rule("!(has(self.name) && has(self.id))", "placementGroupSelector may not have both name and id"),
]
