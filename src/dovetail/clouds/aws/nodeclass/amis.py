"""The images of a class: parameters read, images looked at, the best for each kind of machine kept.

What a parameter says is remembered for a day, since images are published a few times a month, and for five minutes
where the user named the parameter. A "latest" whose image has since been deprecated is read anew at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from dovetail.clouds.aws import calls, images, selecting
from dovetail.clouds.aws.intervals import EARLY_SECONDS
from dovetail.clouds.aws.nodeclass.memory import Memory
from dovetail.clouds.aws.nodeclass.places import AGAIN, RARELY, found, matches
from dovetail.clouds.aws.nodeclass.spec import ClassSpec, Term, shown
from dovetail.clouds.aws.nodeclass.verdicts import IMAGES, Look, Verdict, bad, failed, good
from dovetail.clouds.aws.resolved import Image
from dovetail.clouds.port import CloudError, NotFound
from dovetail.core import timestamps
from dovetail.core.errors import BadInput
from dovetail.core.requirements import Requirements

ALIAS_SECONDS: Final = 86_400.0
PARAMETER_SECONDS: Final = 300.0
#: A "latest" older than this is looked up again when its image is deprecated.
STALE_SECONDS: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Named:
    """What parameters gave: whom each image is for, which of them were "latest", what was not there."""

    serves: Mapping[str, tuple[Requirements, ...]]
    paths: Mapping[str, str]
    missing: tuple[str, ...]


async def look(memory: Memory, spec: ClassSpec, version: Callable[[], str]) -> Look[tuple[Image, ...]]:
    """`version` is asked for Kubernetes' where an alias needs it."""
    try:
        kubernetes = version() if spec.alias else ""
        named = await _named(memory, spec, kubernetes)
        if spec.alias and not named.serves:
            return Look(_nothing_published(spec.alias, kubernetes, named), (), AGAIN)
        wires, problem = await _images(memory, spec, named)
    except BadInput as unsupported:
        return Look(bad(IMAGES, "UnsupportedAlias", f"{unsupported}; choose another alias"), (), RARELY)
    except CloudError as error:
        return Look(failed(IMAGES, error), None, AGAIN, error)
    if _forgotten(memory, named, wires):
        return await look(memory, spec, version)
    chosen = images.chosen(_read(wires, named, memory.now()))
    verdict = _judged(spec, chosen, wires)
    return Look(verdict, chosen, AGAIN if verdict.is_bad else RARELY, problem)


# ---- parameters


async def _named(memory: Memory, spec: ClassSpec, kubernetes: str) -> Named:
    serves: dict[str, tuple[Requirements, ...]] = {}
    paths: dict[str, str] = {}
    missing = []
    for path, wanted, seconds in _parameters(spec, kubernetes):
        try:
            answer = await memory.one(calls.GET_PARAMETER, {"Name": path}, seconds)
        except NotFound:
            missing.append(path)
            continue
        image = str(answer.value["Parameter"]["Value"])
        paths[path] = image
        serves[image] = (*serves.get(image, ()), *wanted)
    return Named(serves, paths, tuple(missing))


def _parameters(spec: ClassSpec, kubernetes: str) -> Iterator[tuple[str, tuple[Requirements, ...], float]]:
    if spec.alias:
        for one in images.parameters(spec.alias, kubernetes):
            yield one.path, one.serves, ALIAS_SECONDS
        return
    for term in spec.images:
        if term.get("ssmParameter"):
            yield str(term["ssmParameter"]), (), PARAMETER_SECONDS


def _forgotten(memory: Memory, named: Named, wires: Sequence[Mapping[str, Any]]) -> bool:
    """Have parameters read anew that lead to images which are deprecated, or gone; whether there were any."""
    now = memory.now()
    fresh = {str(one["ImageId"]) for one in wires if not _is_deprecated(one, now)}
    found_old = False
    for path, image in named.paths.items():
        question = {"Name": path}
        if image not in fresh and memory.age(calls.GET_PARAMETER, question) > STALE_SECONDS:
            memory.forget(calls.GET_PARAMETER, question)
            found_old = True
    return found_old


# ---- images


async def _images(
    memory: Memory, spec: ClassSpec, named: Named
) -> tuple[tuple[Mapping[str, Any], ...], CloudError | None]:
    terms: Sequence[Term] = () if spec.alias else spec.images
    questions = selecting.images(terms, named.paths.values())
    return await found(memory, calls.DESCRIBE_IMAGES, questions, memory.intervals.images - EARLY_SECONDS)


def _read(wires: Iterable[Mapping[str, Any]], named: Named, now: float) -> Iterator[Image]:
    for one in wires:
        wanted = named.serves.get(one["ImageId"])
        if not wanted:
            anybody = images.any_machine(str(one.get("Architecture", "")))
            wanted = () if anybody is None else (anybody,)
        for machines in wanted:
            yield Image(
                one["ImageId"], one.get("Name", ""), one.get("CreationDate", ""), machines, _is_deprecated(one, now)
            )


def _is_deprecated(one: Mapping[str, Any], now: float) -> bool:
    told = one.get("DeprecationTime")
    if isinstance(told, datetime):
        return told.timestamp() <= now
    try:
        return bool(told) and timestamps.seconds(str(told)) <= now
    except BadInput:
        return False


# ---- what is said of them


def _nothing_published(alias: str, kubernetes: str, named: Named) -> Verdict:
    where = named.missing[0] if named.missing else "its parameter"
    told = f"no image of {alias} is published for Kubernetes {kubernetes} here ({where} does not exist)"
    return bad(IMAGES, "AMINotFound", f"{told}; check the alias's version in amiSelectorTerms[0]")


def _judged(spec: ClassSpec, chosen: Sequence[Image], wires: Sequence[Mapping[str, Any]]) -> Verdict:
    if not chosen:
        return bad(IMAGES, "AMINotFound", _why_none(spec, wires))
    if all(one.deprecated for one in chosen):
        names = ", ".join(dict.fromkeys(one.id for one in chosen))
        return good(IMAGES, f"every selected image is deprecated by its owner ({names}); select newer ones")
    if spec.alias:
        return good(IMAGES)
    idle = [at for at, term in enumerate(spec.images) if not _selects(term, wires)]
    return good(IMAGES, f"nothing is selected by {shown(spec.images, 'amiSelectorTerms', idle)}" if idle else "")


def _selects(term: Term, wires: Sequence[Mapping[str, Any]]) -> bool:
    """A name may have wildcards and a parameter leads elsewhere: those are taken on trust."""
    if term.get("name") or term.get("ssmParameter") or term.get("owner"):
        return True
    return any(matches(term, one, "ImageId") for one in wires)


def _why_none(spec: ClassSpec, wires: Sequence[Mapping[str, Any]]) -> str:
    every = shown(spec.images, "amiSelectorTerms", range(len(spec.images)))
    if not wires:
        return f"no available image is selected by {every}; change a term, or share the image with this account"
    other = ", ".join(f"{one['ImageId']} ({one.get('Architecture')})" for one in wires)
    return f"{every} selects only images that no node can run: {other}; select one of x86_64 or arm64"
