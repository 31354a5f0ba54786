"""YAML, read with care.

The C parser recurses on the machine's stack, so a file of a hundred thousand brackets would end the process; and
aliases can make a small file unfold into a huge value, or into itself. Both are found in the stream of events, which
needs no recursion, before anything is built.

Parsing is slow, and a file of a thousand pods says the same spec again and again. So a document is cut into its
*sections*, one for each key at the left margin, and what was parsed of a section's very text before is taken as it is:
values are shared, and nobody changes one in place. A section that was not is cut once more, into the keys two columns
further in: of pods that are alike the names differ and little else, and a bare word needs no parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from dovetail.api.documents import MAX_DEPTH, MAX_NODES, Document, Repeated
from dovetail.core.errors import BadField, BadInput, BadValue, Place

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MARK: Final = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_HEADS: Final = re.compile(r"^[ \t?:-]+", re.MULTILINE)
#: A key at the left margin, and what stands there that is neither that, a comment, nor an entry of the list before it.
_KEY: Final = re.compile(r"^([A-Za-z][A-Za-z0-9]*):(?=[ \n]|\Z)", re.MULTILINE)
_ODD: Final = re.compile(r"^(?![ \n#]|- |-\n|\Z|[A-Za-z][A-Za-z0-9]*:(?:[ \n]|\Z))", re.MULTILINE)
_COMMENTS: Final = re.compile(r"(?:[ ]*(?:#[^\n]*)?\n)*")
_BARE_MARK: Final = re.compile(r"---[ ]*\n")
#: The same within a section whose key stands alone on its line.
_ALONE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*:[ ]*\n")
_INNER_KEY: Final = re.compile(r"^  ([A-Za-z][A-Za-z0-9]*):(?=[ \n]|\Z)", re.MULTILINE)
_INNER_ODD: Final = re.compile(
    r"^(?![ ]{3}|[ ]*\n|[ ]{2}(?:#|- |-\n|[A-Za-z][A-Za-z0-9]*:(?:[ \n]|\Z))|\Z)", re.MULTILINE
)
#: A key with a word that is text and nothing else, unless it is one of those below.
_WORD: Final = re.compile(r"  ([A-Za-z][A-Za-z0-9]*): ([a-z][a-z0-9.-]*)\n?")
_NO_TEXT: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null"})
#: So many levels no parser minds.
_SHALLOW: Final = 100
_MERGE: Final = "tag:yaml.org,2002:merge"
_MAP: Final = "tag:yaml.org,2002:map"
_TIMESTAMP: Final = "tag:yaml.org,2002:timestamp"


class _Careful(_Loader):  # type: ignore[misc, valid-type]
    """Marks maps with a repeated key, and leaves dates as the text they were written as."""

    repeated: dict[int, str]


_Careful.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != _TIMESTAMP] for first, pairs in _Loader.yaml_implicit_resolvers.items()
}


def _construct_map(loader: _Careful, node: yaml.MappingNode) -> dict[Any, object]:
    twice = loader.repeated.get(id(node))
    loader.flatten_mapping(node)
    found: dict[Any, object] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str | int | float | bool | None):
            raise BadValue("a key must be text")
        found[key] = loader.construct_object(value_node, deep=True)
    return found if twice is None else Repeated(found, twice)


_Careful.add_constructor(_MAP, _construct_map)


def read(text: str, filename: str) -> Iterator[Document | BadField]:
    """Every document; one that is not YAML costs only itself, since a marker line always ends a document."""
    parts = _split(text)
    many = sum(1 for _, part in parts if part.strip()) > 1
    known: dict[str, object] = {}
    for number, (line, part) in enumerate(parts, 1):
        place = f"{filename}, document {number} (line {line})" if many else filename
        try:
            for value in _values(part, known):
                yield Document((place,), value)
        except yaml.MarkedYAMLError as problem:
            yield BadField(Place(place), _told(problem, line))
        except BadInput as refused:
            yield BadField(Place(place), str(refused))
        except RecursionError:
            yield BadField(Place(place), f"is nested deeper than {MAX_DEPTH} levels")
        except (yaml.YAMLError, ValueError, OverflowError) as problem:
            yield BadField(Place(place), f"not YAML: {_first_line(str(problem))}")
        except (LookupError, AttributeError):  # how the library fails at `!!bool maybe`, `!!int ""`, `!!timestamp x`
            yield BadField(Place(place), "not YAML: a value is not what its tag says")


def _split(text: str) -> list[tuple[int, str]]:
    """The documents with the line each begins on. Directives belong to what follows, so then nothing is split."""
    if re.search(r"^%", text, re.MULTILINE):
        return [(1, text)]
    starts = [0, *(match.start() for match in _MARK.finditer(text))]
    ends = [*starts[1:], len(text)]
    found = []
    line = 1
    for start, end in zip(starts, ends, strict=True):
        part = text[start:end]
        if part.strip():
            found.append((line, part))
        line += part.count("\n")
    return found


def _is_plain(text: str) -> bool:
    """Whether nothing in a text can repeat itself, nor nest deep enough to hurt; most manifests are so.

    In block style every level takes a column at the head of a line, in flow style a bracket. How deep the value is
    allowed to be is judged when it is there.
    """
    if "&" in text or "*" in text or text.count("[") + text.count("{") > _SHALLOW:
        return False
    return max((len(head) for head in _HEADS.findall(text)), default=0) <= _SHALLOW


def _values(text: str, known: dict[str, object]) -> Iterator[object]:
    """The values of a text; `known` are sections parsed before."""
    if not _is_plain(text):
        _look_ahead(text)
    elif (value := _by_sections(text, known)) is not None:
        yield value
        return
    yield from _loaded(text)


def _by_sections(text: str, known: dict[str, object]) -> dict[str, object] | None:
    """A document put together from its sections; None where it does not fall into any, or is not in order.

    Only what is new is parsed, all of it at once. A bracket or a quote that goes on past the left margin would put a
    key where there is none: then what comes out has other keys, and the text is parsed as a whole.
    """
    mark = _BARE_MARK.match(text)
    begin = mark.end() if mark is not None else 0
    if _ODD.search(text, begin):
        return None
    keys = list(_KEY.finditer(text, begin))
    if not keys or not _COMMENTS.fullmatch(text, begin, keys[0].start()):
        return None
    ends = [*(one.start() for one in keys[1:]), len(text)]
    sections = {one[1]: text[one.start() : end] for one, end in zip(keys, ends, strict=True)}
    if len(sections) < len(keys):
        return None
    new: dict[str, str] = {}
    for name, section in sections.items():
        if section in known:
            continue
        value = _by_inner_sections(section, known)
        if value is None:
            new[name] = section
        else:
            known[section] = value
    if not _learn(new, known):
        return None
    return {name: known[section] for name, section in sections.items()}


def _by_inner_sections(section: str, known: dict[str, object]) -> dict[str, object] | None:
    """The value of a section that is a map, put together from its own sections; None where it does not look like one,
    or is not in order."""
    head = _ALONE.match(section)
    if head is None or _INNER_ODD.search(section, head.end()):
        return None
    keys = list(_INNER_KEY.finditer(section, head.end()))
    if not keys or keys[0].start() != head.end():
        return None
    ends = [*(one.start() for one in keys[1:]), len(section)]
    parts = {one[1]: section[one.start() : end] for one, end in zip(keys, ends, strict=True)}
    if len(parts) < len(keys):
        return None
    words = {name: word for name, part in parts.items() if (word := _word(part)) is not None}
    new = {name: part for name, part in parts.items() if name not in words and part not in known}
    if not _learn(new, known):
        return None
    return {name: words[name] if name in words else known[part] for name, part in parts.items()}


def _word(part: str) -> str | None:
    """The text a key is given, where nothing needs to be parsed for it."""
    found = _WORD.fullmatch(part)
    if found is None or found[2] in _NO_TEXT or found[1].lower() in _NO_TEXT:
        return None
    return found[2]


def _learn(sections: dict[str, str], known: dict[str, object]) -> bool:
    """Parse sections, all of them at once; whether they were what their keys say."""
    if not sections:
        return True
    try:
        (value,) = _loaded("".join(sections.values()))
    except (yaml.YAMLError, BadInput, ValueError, LookupError, AttributeError, OverflowError):
        return False
    if type(value) is not dict or list(value) != list(sections):
        return False
    for name, section in sections.items():
        known[section] = value[name]
    return True


def _loaded(text: str) -> Iterator[object]:
    loader = _Careful(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            loader.repeated = _repeated(node)
            yield loader.construct_document(node)
    finally:
        loader.dispose()


def _look_ahead(text: str) -> None:
    """Count what the document would unfold to, and how deep; refuse before it does.

    What stands in the file is bounded by its size, and each object of a List is counted for itself later. What aliases
    repeat is bounded by nothing else.
    """
    sizes: dict[str, int | None] = {}
    open_at: list[tuple[str | None, int]] = []
    nodes = repeated = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            anchor = str(event.anchor)
            size = sizes.get(anchor, 0)
            if size is None:
                raise BadValue(f"the alias *{anchor[:40]} stands inside what it names")
            nodes += size or 1
            repeated += size or 1
        elif isinstance(event, yaml.CollectionStartEvent):
            nodes += 1
            open_at.append((event.anchor, nodes))
            if event.anchor:
                sizes[event.anchor] = None
        elif isinstance(event, yaml.CollectionEndEvent):
            named, before = open_at.pop()
            if named:
                sizes[named] = nodes - before + 1
        elif isinstance(event, yaml.ScalarEvent):
            nodes += 1
            if event.anchor:
                sizes[event.anchor] = 1
        if repeated > MAX_NODES or len(open_at) > MAX_DEPTH:
            raise BadValue(f"it is too large: at most {MAX_DEPTH} levels and {MAX_NODES:,} values")


def _repeated(root: yaml.Node | None) -> dict[int, str]:
    """Which maps give a key twice, by the identity of their node."""
    found: dict[int, str] = {}
    seen: set[int] = set()
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting.extend(node.value)
        elif isinstance(node, yaml.MappingNode):
            keys: set[tuple[str, str]] = set()
            for key, value in node.value:
                waiting.append(value)
                if isinstance(key, yaml.ScalarNode) and key.tag != _MERGE:
                    if (key.tag, key.value) in keys:
                        found[id(node)] = key.value
                    keys.add((key.tag, key.value))
    return found


def _told(problem: yaml.MarkedYAMLError, first_line: int) -> str:
    mark = problem.problem_mark
    line = f"line {mark.line + first_line}: " if mark is not None else ""
    return f"{line}not YAML: {_first_line(problem.problem or str(problem))}"


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:200]
