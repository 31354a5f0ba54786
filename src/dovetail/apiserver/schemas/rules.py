"""CEL rules of a schema (`x-kubernetes-validations`): compiled once, run on each object.

All rules of one place share one context, so that the value they look at is handed to the library once. Where rules
mention only some members of an object (`self.replicas`, `has(self.limits)`), only those are handed over: translation
is most of the cost. A rule that mentions `oldSelf` runs only where an old value corresponds; a rule that does not is
skipped where nothing changed, since its complaint would be forgiven there. An error at run time is a failed rule.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import cel

from dovetail.apiserver.errors import Cause
from dovetail.apiserver.schemas import causes, cel_values, functions, rewriting
from dovetail.apiserver.schemas.causes import NOWHERE
from dovetail.apiserver.schemas.nodes import MISSING, Node, located
from dovetail.apiserver.schemas.old_values import old_item, old_member, same
from dovetail.core.errors import BadInput, BadValue, shown

#: By far the most common rule, and Python answers it without translating anything.
_IMMUTABLE: Final = re.compile(r"\s*self\s*==\s*oldSelf\s*|\s*oldSelf\s*==\s*self\s*")
_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_REASONS: Final = frozenset({causes.INVALID, causes.REQUIRED, causes.FORBIDDEN, causes.DUPLICATE})
_OWN_ERROR: Final = re.compile(
    r"Function '\w+' error: Python function call failed: \w+: (.*?)(?:\. Check function arguments and their types\.)?$",
    re.S,
)
_CONVERSION_ERROR: Final = re.compile(r"Function '(int|uint|double|duration|timestamp)' error")
_MAX_MESSAGE: Final = 5 * 1024


@lru_cache(maxsize=4096)
def _compiled(source: str, of_string: bool) -> cel.Program:
    """The library's program for an expression; a `BadValue` says why there is none."""
    # Functions that raise are how rules fail; the library would log each as a warning.
    logging.getLogger("cel").setLevel(logging.ERROR)
    try:
        program = cel.compile(rewriting.rewritten(source, of_string=of_string))
    except ValueError as problem:
        raise BadValue(f"{shown(source)} does not compile: {str(problem).splitlines()[0]}") from None
    known = functions.NATIVE | {name.rpartition(".")[2] for name in functions.FUNCTIONS}
    for name in program.functions():
        if name.isidentifier() and not name.startswith("_") and name not in known:
            raise BadValue(f"{shown(source)} does not compile: undeclared reference to '{name}'")
    return program


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule and what is said when it fails."""

    source: str
    program: cel.Program
    message: str
    message_program: cel.Program | None
    reason: str
    field_path: str
    optional_old: bool
    uses_old: bool
    immutable: bool
    #: Members the rule mentions, or None if it looks at the whole.
    mentions: frozenset[str] | None

    @property
    def text(self) -> str:
        """What stands for the rule in a message about an error in it."""
        return self.message or self.source.strip()


def _rule(written: Mapping[str, Any], node: Node) -> Rule:
    source = written.get("rule") or ""
    of_string = node.type == "string"
    program = _compiled(source, of_string)
    expression = written.get("messageExpression") or ""
    reason = written.get("reason") or causes.INVALID
    if reason not in _REASONS:
        raise BadValue(f"{shown(reason)} is not a reason; use one of {', '.join(sorted(_REASONS))}").at("reason")
    mentions = [_mentioned(one) for one in (source, expression) if one]
    return Rule(
        source=source,
        program=program,
        message=(written.get("message") or "").strip(),
        message_program=_compiled(expression, of_string) if expression else None,
        reason=reason,
        field_path=_normal_path(written.get("fieldPath") or "", node),
        optional_old=bool(written.get("optionalOldSelf")),
        uses_old="oldSelf" in program.variables(),
        immutable=_IMMUTABLE.fullmatch(source) is not None and not written.get("optionalOldSelf"),
        mentions=None if None in mentions else frozenset().union(*(one for one in mentions if one)),
    )


def _mentioned(source: str) -> frozenset[str] | None:
    """The members selected from self and oldSelf, or None if either is used in another way."""
    tokens = [token for token in rewriting.tokens(source) if token.kind != "space"]
    texts = [token.text for token in tokens] + ["", "", "", ""]
    found: set[str] = set()
    for at, token in enumerate(tokens):
        if token.kind != "name" or token.text not in ("self", "oldSelf") or (at and texts[at - 1] == "."):
            continue
        after = at + 2 + (texts[at + 2] == "?")
        if texts[at + 1] != "." or texts[after + 1] == "(" or after >= len(tokens):
            return None
        found.add(texts[after])
    return frozenset(found)


def _normal_path(written: str, node: Node) -> str:
    """`.a['b-c']` as a path relative to the rule's place."""
    path, at = "", 0
    here: Node | None = node
    while at < len(written):
        found = _PATH_STEP.match(written, at)
        if found is None:
            raise BadValue(f"{shown(written)} is not a path such as .spec.name or .spec['my-name']").at("fieldPath")
        name = found[1] or found[2]
        member = here is not None and name in here.properties
        path += (f".{name}" if path else name) if member else f"[{name}]"
        here, at = here.child(name) if here else None, found.end()
    return path


class Scope:
    """The rules of one place in a schema."""

    def __init__(self, node: Node, *, root: bool) -> None:
        self._node = node
        self._root = root
        self._rules: list[Rule] = []
        for at, written in enumerate(node.rules):
            try:
                self._rules.append(_rule(written, node))
            except BadInput as problem:
                raise located(problem, "x-kubernetes-validations", at) from None
        self._names = self._members_needed()
        self._context = cel.Context(functions=self._functions())

    @property
    def has_transitions(self) -> bool:
        return any(one.uses_old and not one.optional_old for one in self._rules)

    def _members_needed(self) -> frozenset[str] | None:
        """Members, under their own names, that any rule mentions; None if one looks at the whole."""
        if not self._node.properties or any(one.mentions is None and not one.immutable for one in self._rules):
            return None
        wanted: frozenset[str] = frozenset().union(*(one.mentions or () for one in self._rules))
        known = (*self._node.properties, "apiVersion", "kind", "metadata") if self._root else self._node.properties
        return frozenset(name for name in known if cel_values.escaped(name) in wanted)

    def _functions(self) -> dict[str, functions.Function]:
        used: set[str] = set()
        for one in self._rules:
            used.update(one.program.functions())
            used.update(one.message_program.functions() if one.message_program else ())
        return {name: one for name, one in functions.FUNCTIONS.items() if name.rpartition(".")[2] in used}

    def run(self, value: Any, old: Any, unchanged: bool, path: str) -> list[Cause]:
        """What the rules say of a value; `unchanged` means that only comparisons with the old value matter."""
        found: list[Cause] = []
        ready = False
        for rule in self._rules:
            if unchanged and not rule.uses_old:
                continue
            if rule.uses_old and old is None and not rule.optional_old:
                continue
            if rule.immutable:
                if not cel_values.equal(self._node, value, old):
                    found.append(self._failed(rule, value, path, rule.message or f"failed rule: {rule.source.strip()}"))
                continue
            if not ready:
                self._context.add_variable("self", self._seen(value))
                ready = True
            if rule.uses_old:
                self._show_old(rule, old)
            cause = self._judged(rule, value, path)
            if cause is not None:
                found.append(cause)
        return found

    def _show_old(self, rule: Rule, old: Any) -> None:
        shown_old = None if old is None else self._seen(old)
        if rule.optional_old:
            shown_old = cel.OptionalValue.none() if old is None else cel.OptionalValue.of(shown_old)
        self._context.add_variable("oldSelf", shown_old)

    def _seen(self, value: Any) -> Any:
        if self._root and isinstance(value, dict):
            meta = value.get("metadata") or {}
            value = {**value, "metadata": {name: meta[name] for name in ("name", "generateName") if name in meta}}
        if self._names is not None and isinstance(value, dict):
            value = {name: value[name] for name in self._names if name in value}
        return cel_values.to_cel(self._node, value)

    def _judged(self, rule: Rule, value: Any, path: str) -> Cause | None:
        try:
            answer = rule.program.execute(self._context)
        except (KeyError, TypeError, RuntimeError, ArithmeticError, IndexError, ValueError) as problem:
            return causes.invalid(path or NOWHERE, self._node.type, _why(problem, rule))
        if answer is True:
            return None
        return self._failed(rule, value, path, self._said(rule))

    def _said(self, rule: Rule) -> str:
        if rule.message_program is not None:
            try:
                text = rule.message_program.execute(self._context)
            except (KeyError, TypeError, RuntimeError, ArithmeticError, IndexError, ValueError):
                text = ""
            text = text.strip() if isinstance(text, str) else ""
            if text and "\n" not in text and len(text) <= _MAX_MESSAGE:
                return str(text)
        return rule.message or f"failed rule: {rule.source.strip()}"

    def _failed(self, rule: Rule, value: Any, path: str, detail: str) -> Cause:
        if rule.field_path:
            glue = "." if path and not rule.field_path.startswith("[") else ""
            path = f"{path}{glue}{rule.field_path}"
        path = path or NOWHERE
        whole = self._node.type in ("object", "array")
        match rule.reason:
            case causes.REQUIRED:
                return causes.required(path, detail)
            case causes.FORBIDDEN:
                return causes.forbidden(path, detail)
            case causes.DUPLICATE:
                return Cause(path, causes.DUPLICATE, "Duplicate value") if whole else causes.duplicate(path, value)
        return causes.invalid_whole(path, detail) if whole else causes.invalid(path, value, detail)


def _why(problem: Exception, rule: Rule) -> str:
    """A run-time error in the words of a real server, as far as the library tells what happened."""
    text = str(problem)
    if isinstance(problem, TypeError) or text.startswith("Undefined variable or function"):
        signature = "call arguments did not match a supported operator, function or macro signature"
        return f"'no such overload': {signature} for rule: {rule.text}"
    match problem:
        case KeyError():
            text = f"no such key: {problem.args[0]}"
        case ZeroDivisionError():
            text = "division by zero"
        case OverflowError():
            text = "integer overflow"
        case _ if (found := _OWN_ERROR.match(text)) is not None:
            text = found[1]
        case _ if (found := _CONVERSION_ERROR.match(text)) is not None:
            text = f"type conversion error from 'string' to '{found[1]}'"
    return f"{text} evaluating rule: {rule.text}"


def attach(node: Node, *, root: bool = False, correlatable: bool = True) -> None:
    """Compile the rules of a schema and of everything below it.

    Below an item that corresponds to no old item, a rule about the old value could never run, and is refused.
    """
    for name, child in node.properties.items():
        _attach_below(child, correlatable, "properties", name)
    if node.additional is not None:
        _attach_below(node.additional, correlatable, "additionalProperties")
    if node.items is not None:
        _attach_below(node.items, correlatable and node.list_type == "map", "items")
    for at, one in enumerate(node.all_of):
        _attach_below(one, correlatable, "allOf", at)
    cel_values.mark(node)
    if node.rules:
        node.scope = Scope(node, root=root or node.embedded)
        if not correlatable and node.scope.has_transitions:
            raise BadValue("oldSelf cannot be used on the uncorrelatable portion of the schema")


def _attach_below(node: Node, correlatable: bool, *place: str | int) -> None:
    try:
        attach(node, correlatable=correlatable)
    except BadInput as problem:
        raise located(problem, *place) from None


def check(node: Node, value: Any, path: str, old: Any, unchanged: bool) -> list[Cause]:
    """What all rules say about a value and everything in it."""
    if value is None or not node.has_rules:
        return []
    unchanged = unchanged or (old is not MISSING and same(value, old))
    if unchanged and not node.has_transitions:
        return []
    found: list[Cause] = []
    if node.scope is not None:
        found += node.scope.run(value, None if old is MISSING else old, unchanged, path)
    for one in node.all_of:
        found += check(one, value, path, old, unchanged)
    if isinstance(value, dict):
        for name, one in value.items():
            child = node.properties.get(name)
            if child is not None and child.has_rules:
                found += check(child, one, f"{path}.{name}" if path else name, old_member(old, name), unchanged)
            elif child is None and node.additional is not None and node.additional.has_rules:
                found += check(node.additional, one, f"{path}[{name}]", old_member(old, name), unchanged)
    elif isinstance(value, list) and node.items is not None and node.items.has_rules:
        for at, one in enumerate(value):
            found += check(node.items, one, f"{path}[{at}]", old_item(node, one, old), unchanged)
    return found
