"""Where a pod wants to be: node affinity, pod affinity, topology spread, as they stand in a PodSpec.

A file has not been through an API server, so what the server would write into a pod is done here: `matchLabelKeys` and
`mismatchLabelKeys` become part of the selector, and an expression it would refuse is refused with its path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dovetail.api.fields import Fields, kind_of, shown
from dovetail.api.requirements import check_known, check_selectable
from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.pods import NO_AFFINITY, Affinity, PodTerm, Policy, Preferred, Spread
from dovetail.core.requirements import EMPTY, NUMERIC, Operator, Requirement, Requirements, requirement
from dovetail.core.selectors import NOTHING_SELECTED, Selector, selector_of

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_OF_PODS: Final = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_OF_NODES: Final = (*_OF_PODS, Operator.GT, Operator.LT)
_MAX_WEIGHT, _MAX_SKEW = 100, 2**31 - 1
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
#: A term no node meets.
_NOWHERE: Final = Requirements([Requirement(labels.HOSTNAME)])


# ---- expressions


def texts(entry: Fields, name: str) -> tuple[str, ...]:
    """A list of texts."""
    found = entry.wire.get(name)
    if found is None:
        return ()
    if not isinstance(found, list | tuple):
        raise entry.bad(name, f"expected a list, got {kind_of(found)}")
    for at, one in enumerate(found):
        if not isinstance(one, str):
            raise entry.bad(f"{name}[{at}]", f"expected text, got {kind_of(one)}; put it in quotes")
    return tuple(found)


def _expression(entry: Fields, operators: tuple[Operator, ...]) -> Requirement:
    key, text, values = entry.required("key"), entry.required("operator"), texts(entry, "values")
    if text not in operators:
        raise entry.bad("operator", f"{shown(text)} is not an operator here; use one of {', '.join(operators)}")
    operator = Operator(text)
    try:
        labels.check_key(key)
    except BadInput as problem:
        raise entry.bad("key", str(problem)) from None
    if operator in (Operator.IN, Operator.NOT_IN) and not values:
        raise entry.bad("values", f"{operator} needs at least one value")
    if operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST) and values:
        raise entry.bad("values", f"{operator} takes no values")
    try:
        return requirement(key, operator, values)
    except BadInput as problem:
        raise entry.bad("values", str(problem)) from None


def check_node_expression(entry: Fields, one: Requirement, key: str, operator: str, values: tuple[str, ...]) -> None:
    """What a pod may ask of a node's labels (scheduling §1.8)."""
    check_selectable(key, True, *entry.path, "key")
    if operator in NUMERIC:
        if (one.gte if operator == Operator.GT else one.lte) is not None and values[0].startswith("-"):
            raise entry.bad("values", f"{shown(values[0])} is negative; {operator} takes a whole number, 0 or more")
        return
    for at, value in enumerate(values):
        try:
            labels.check_value(value)
        except BadInput as problem:
            raise entry.bad(f"values[{at}]", str(problem)) from None
    if operator == Operator.IN:
        check_known(entry, key, values)


# ---- labels of nodes


def read_node_selector(spec: Fields, planned: bool = True) -> Requirements:
    """`nodeSelector`: every pair must hold. A daemon, which is not `planned`, may select by any label."""
    place = spec.map("nodeSelector")
    pairs = spec.labels("nodeSelector")
    for key, value in pairs.items() if planned else ():
        check_selectable(key, True, *place.path, key)
        try:
            labels.check_value(value)
        except BadInput as problem:
            raise place.bad(key, str(problem)) from None
        known = labels.VALUED.get(labels.canonical(key))
        if known is not None and not known.of((value,)):
            raise place.bad(key, f"{shown(value)} is no {known.noun}; {known.hint}")
    return Requirements.of_labels(pairs)


def read_node_terms(affinity: Fields, planned: bool = True) -> tuple[Requirements, ...]:
    """The required terms, of which one must hold. A term that says nothing matches no node, so it is no alternative.

    A daemon may name its nodes by a field; no node that is still to be bought has that name.
    """
    node = affinity.map("nodeAffinity")
    if not node.has(REQUIRED):
        return ()
    terms = node.map(REQUIRED).items("nodeSelectorTerms")
    found = []
    for term in terms:
        if term.items("matchFields"):
            if not planned:
                continue
            raise term.bad("matchFields", "a pod that names its node by a field is not planned; select labels instead")
        expressions = term.items("matchExpressions")
        if expressions:
            read = _checked if planned else _of_a_node
            found.append(Requirements(read(one) for one in expressions))
    if terms and not found:
        if not planned:
            return (_NOWHERE,)
        path = f"{REQUIRED}.nodeSelectorTerms"
        raise node.bad(path, "every term is empty, and an empty term matches no node")
    return tuple(found)


def _of_a_node(entry: Fields) -> Requirement:
    return _expression(entry, _OF_NODES)


def _checked(entry: Fields) -> Requirement:
    one = _of_a_node(entry)
    check_node_expression(entry, one, entry.required("key"), entry.required("operator"), texts(entry, "values"))
    return one


def read_preferred_terms(affinity: Fields) -> tuple[Preferred, ...]:
    """Preferred node affinity. Fields in a preferred term are not looked at, and a term of nothing prefers nothing."""
    found = []
    for one in affinity.map("nodeAffinity").items(PREFERRED):
        weight = _weight(one)
        wanted = Requirements(_expression(each, _OF_NODES) for each in one.map("preference").items("matchExpressions"))
        if len(wanted):
            found.append(Preferred(weight, wanted))
    return tuple(found)


def _weight(entry: Fields) -> int:
    weight = entry.whole("weight", 1, _MAX_WEIGHT)
    if weight is None:
        raise entry.bad("weight", f"is missing; write a whole number from 1 to {_MAX_WEIGHT}")
    return weight


# ---- labels of pods


def read_selector(parent: Fields, name: str) -> Selector:
    """A label selector; one that is missing selects nothing, one that is empty everything."""
    if not parent.has(name):
        return NOTHING_SELECTED
    wire = parent.map(name)
    wanted = [requirement(key, Operator.IN, (value,)) for key, value in wire.labels("matchLabels").items()]
    wanted += (_expression(one, _OF_PODS) for one in wire.items("matchExpressions"))
    return selector_of(Requirements(wanted))


def _of_keys(entry: Fields, own: Mapping[str, str]) -> Iterator[Requirement]:
    """What `matchLabelKeys` and `mismatchLabelKeys` add: the pod's own values, wanted or unwanted."""
    for name, operator in (("matchLabelKeys", Operator.IN), ("mismatchLabelKeys", Operator.NOT_IN)):
        for key in texts(entry, name):
            if key in own:
                yield requirement(key, operator, (own[key],))


def _topology_key(entry: Fields) -> str:
    key = entry.required("topologyKey")
    try:
        labels.check_key(key)
    except BadInput as problem:
        raise entry.bad("topologyKey", str(problem)) from None
    return labels.canonical(key)


def read_pod_affinity(affinity: Fields, name: str, own: Mapping[str, str]) -> Affinity:
    """`podAffinity` or `podAntiAffinity`; `own` are the labels of the pod that has it."""
    if not affinity.has(name):
        return NO_AFFINITY
    wire = affinity.map(name)
    required = tuple(_pod_term(one, own) for one in wire.items(REQUIRED))
    preferred = tuple(Preferred(_weight(one), _wished(one, own)) for one in wire.items(PREFERRED))
    return Affinity(required, preferred) if required or preferred else NO_AFFINITY


def _wished(entry: Fields, own: Mapping[str, str]) -> PodTerm:
    if not entry.has("podAffinityTerm"):
        raise entry.bad("podAffinityTerm", "is missing")
    return _pod_term(entry.map("podAffinityTerm"), own)


def _pod_term(entry: Fields, own: Mapping[str, str]) -> PodTerm:
    return PodTerm(
        _topology_key(entry),
        read_selector(entry, "labelSelector").narrowed(Requirements(_of_keys(entry, own))),
        frozenset(texts(entry, "namespaces")),
        read_selector(entry, "namespaceSelector") if entry.has("namespaceSelector") else None,
    )


# ---- spread


def read_spread(spec: Fields, own: Mapping[str, str]) -> tuple[Spread, ...]:
    return tuple(_spread(one, own) for one in spec.items("topologySpreadConstraints"))


def _spread(entry: Fields, own: Mapping[str, str]) -> Spread:
    selector = read_selector(entry, "labelSelector")
    more = Requirements(_of_keys(entry, own))
    return spread_of(entry, selector.narrowed(more) if len(more) else selector)


def spread_of(entry: Fields, selector: Selector) -> Spread:
    """A constraint with the selector it has, or the one that was worked out for it."""
    skew = entry.whole("maxSkew", 1, _MAX_SKEW)
    if skew is None:
        raise entry.bad("maxSkew", "is missing; write a whole number from 1")
    unsatisfiable = entry.text("whenUnsatisfiable") or _HARD
    if unsatisfiable not in (_HARD, _SOFT):
        raise entry.bad("whenUnsatisfiable", f"{shown(unsatisfiable)} is neither {_HARD} nor {_SOFT}")
    return Spread(
        key=_topology_key(entry),
        max_skew=skew,
        selector=selector,
        hard=unsatisfiable == _HARD,
        min_domains=entry.whole("minDomains", 1, _MAX_SKEW),
        node_affinity=_policy(entry, "nodeAffinityPolicy", Policy.HONOR),
        node_taints=_policy(entry, "nodeTaintsPolicy", Policy.IGNORE),
    )


def _policy(entry: Fields, name: str, default: Policy) -> Policy:
    text = entry.text(name)
    if text is None:
        return default
    try:
        return Policy(text)
    except ValueError:
        raise entry.bad(name, f"{shown(text)} is neither {Policy.HONOR} nor {Policy.IGNORE}") from None


def is_shut(selector: Requirements, terms: tuple[Requirements, ...], preferred: tuple[Preferred, ...]) -> bool:
    """Whether a pod asks not to run on any node of ours: its first wish on the pool's label is that it be absent."""
    heaviest = max(preferred, key=lambda one: one.weight, default=None)
    wanted = selector & (terms[0] if terms else EMPTY)
    if heaviest is not None and isinstance(heaviest.term, Requirements):
        wanted = wanted & heaviest.term
    one = wanted.get(labels.NODEPOOL)
    return one is not None and one.operator is Operator.DOES_NOT_EXIST
