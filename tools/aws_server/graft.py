"""How a method gets on to moto's EC2 response class, and what such methods share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any

from moto.core.utils import camelcase_to_underscores
from moto.ec2.exceptions import DryRunClientError, EC2ClientError
from moto.ec2.responses import EC2Response
from tools.aws_server.wire import ec2_answer

Answer = dict[str, Any]
Actions = dict[str, Callable[[Any], Answer]]
"""Answers by the action's name as the documentation spells it."""


def graft(actions: Actions) -> None:
    """Have moto answer these EC2 actions so from now on."""
    for name, answer in actions.items():
        setattr(EC2Response, camelcase_to_underscores(name), _answered(name, answer))


def _answered(name: str, answer: Callable[[Any], Answer]) -> Callable[[Any], str]:
    def answered(response: Any) -> str:
        return ec2_answer(name, answer(response))

    return answered


def refused(code: str, message: str) -> EC2ClientError:
    # moto's own class: its serializer finds the service by the module of the error.
    return EC2ClientError(code, message)


def dry_run(response: Any) -> None:
    if response._get_param("DryRun", False):
        raise DryRunClientError()


def tags_in(response: Any, resource: str) -> dict[str, str]:
    """The tags a request asks for on one kind of resource."""
    return tags_of(response._get_param("TagSpecifications", []), resource)


def tags_of(specifications: Iterable[Any] | None, resource: str) -> dict[str, str]:
    named = [one for one in specifications or [] if one.get("ResourceType") == resource]
    return {tag["Key"]: tag.get("Value", "") for one in named for tag in one.get("Tags", [])}


def tag_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def tags_on(resource: Any) -> list[dict[str, str]]:
    """The tags something has. What moto offers for it looks through those of everything, once for each thing."""
    return tag_list(resource.ec2_backend.tags.get(resource.id, {}))


def filters_of(response: Any) -> list[tuple[str, list[str]]]:
    """All of them: moto's own reading keeps one of two filters with the same name."""
    return [(one["Name"], list(one.get("Values", []))) for one in response._get_param("Filters", []) or []]


def matches(view: Answer, filters: list[tuple[str, list[str]]], fields: dict[str, str]) -> bool:
    """Whether all filters hold. `fields` says where a filter's value stands: "State.Name"."""
    return all(any(fnmatchcase(value, one) for value in _values(view, name, fields) for one in wanted)
               for name, wanted in filters)  # fmt: skip


def _values(view: Answer, name: str, fields: dict[str, str]) -> Iterator[str]:
    tags = view.get("Tags") or []
    if name == "tag-key":
        yield from (tag["Key"] for tag in tags)
    elif name.startswith("tag:"):
        yield from (tag["Value"] for tag in tags if tag["Key"] == name[4:])
    elif name in fields:
        yield from _at(view, fields[name].split("."))
    else:
        raise refused("InvalidParameterValue", f"The filter '{name}' is invalid")


def _at(value: Any, path: list[str]) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _at(one, path)
    elif path:
        if value.get(path[0]) is not None:
            yield from _at(value[path[0]], path[1:])
    else:
        yield str(value).lower() if isinstance(value, bool) else str(value)


def page(response: Any, found: list[Any], largest: int) -> tuple[list[Any], str | None]:
    """One page, and the token of the next."""
    size = min(int(response._get_param("MaxResults") or largest), largest)
    start = int(response._get_param("NextToken") or 0)
    end = start + size
    return found[start:end], str(end) if end < len(found) else None
