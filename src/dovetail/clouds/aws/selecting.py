"""Selector terms as questions to EC2: which to ask so that every term is answered, in as few calls as can be.

Terms are ORed, the parts of one term must all hold. Terms that name ids go into one question together; each of the
others is one of its own. A question is the arguments of a Describe call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Question = dict[str, Any]
Term = Mapping[str, Any]
ANY: Final = "*"


def _filter(name: str, *values: str) -> dict[str, Any]:
    return {"Name": name, "Values": list(values)}


def _tags(term: Term) -> list[dict[str, Any]]:
    """`*` asks for the key alone."""
    found = sorted((term.get("tags") or {}).items())
    return [_filter("tag-key", key) if value == ANY else _filter(f"tag:{key}", value) for key, value in found]


def _named(terms: Iterable[Term], field: str, name: str) -> list[Question]:
    values = sorted({str(one[field]) for one in terms if one.get(field)})
    return [{"Filters": [_filter(name, *values)]}] if values else []


def subnets(terms: Sequence[Term]) -> list[Question]:
    return [*_named(terms, "id", "subnet-id"), *({"Filters": _tags(one)} for one in terms if one.get("tags"))]


def security_groups(terms: Sequence[Term]) -> list[Question]:
    return [
        *_named(terms, "id", "group-id"),
        *_named(terms, "name", "group-name"),
        *({"Filters": _tags(one)} for one in terms if one.get("tags")),
    ]


def images(terms: Sequence[Term], from_parameters: Iterable[str] = ()) -> list[Question]:
    """Images by id, name, owner and tags; those an alias or a parameter stands for come by their ids. A name without an
    owner is looked for among one's own and Amazon's, or anybody could offer an image under it."""
    ids = sorted({str(one["id"]) for one in terms if one.get("id")} | set(from_parameters))
    found: list[Question] = [_image({"Filters": [_filter("image-id", *ids)]})] if ids else []
    for one in terms:
        if not (one.get("name") or one.get("owner") or one.get("tags")):
            continue
        filters = [*([_filter("name", one["name"])] if one.get("name") else []), *_tags(one)]
        question = _image({"Filters": filters})
        if one.get("owner"):
            question["Owners"] = [one["owner"]]
        elif one.get("name"):
            question["Owners"] = ["self", "amazon"]
        found.append(question)
    return found


def _image(question: Question) -> Question:
    state = _filter("state", "available")
    return {"Filters": [*question["Filters"], state], "IncludeDeprecated": True}


def reservations(terms: Sequence[Term]) -> list[Question]:
    """One question for each term (S3.1). `type` is another name for `instanceMatchCriteria`."""
    found: list[Question] = []
    for one in terms:
        filters = [_filter("state", "active")]
        if one.get("id"):
            found.append({"CapacityReservationIds": [one["id"]], "Filters": filters})
            continue
        for field, name in (
            ("ownerID", "owner-id"),
            ("instanceType", "instance-type"),
            ("instanceMatchCriteria", "instance-match-criteria"),
            ("type", "instance-match-criteria"),
        ):
            if one.get(field):
                filters.append(_filter(name, str(one[field])))
        found.append({"Filters": [*filters, *_tags(one)]})
    return found
