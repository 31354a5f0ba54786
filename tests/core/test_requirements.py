"""Requirements are sets of label states, absence among them, and obey the laws of sets (§1.1, §1.4, §1.6)."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import HOSTILE, expression, requirements
from tests.core.strategies import (
    KEYS,
    ODD_VALUES,
    TEAM,
    VALUES,
    allowed,
    compound,
    keyed,
    sets,
    simple,
    states,
)

from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.requirements import (
    EMPTY,
    INT64_MAX,
    INT64_MIN,
    KeyConflict,
    Operator,
    Requirement,
    Requirements,
    UndefinedLabel,
    as_integer,
    does_not_exist,
    exists,
    is_in,
    is_not_in,
    requirement,
)

some = compound()
odd = compound(values=(*VALUES, *ODD_VALUES))
any_state = st.none() | st.sampled_from([*VALUES, *ODD_VALUES, "stranger"]) | st.integers(-5, 9).map(str)
K = "key"


# ---- one requirement


@given(odd, odd, any_state)
def test_an_intersection_admits_exactly_what_both_admit(a: Requirement, b: Requirement, state: str | None) -> None:
    assert (a & b).admits(state) == (a.admits(state) and b.admits(state))


@given(odd, odd)
def test_intersection_is_commutative(a: Requirement, b: Requirement) -> None:
    assert a & b == b & a
    assert hash(a & b) == hash(b & a)


@given(odd, odd, odd)
def test_intersection_is_associative(a: Requirement, b: Requirement, c: Requirement) -> None:
    assert (a & b) & c == a & (b & c)


@given(odd)
def test_intersection_is_idempotent(a: Requirement) -> None:
    assert a & a == a


@given(odd, odd)
def test_two_intersect_iff_their_intersection_is_not_empty(a: Requirement, b: Requirement) -> None:
    assert a.intersects(b) == b.intersects(a) == (not (a & b).is_empty)


@given(some)
def test_a_requirement_is_empty_iff_it_admits_no_state(a: Requirement) -> None:
    assert a.is_empty == (not any(a.admits(state) for state in states(a)))


@given(some, some)
def test_two_intersect_iff_some_state_suits_both(a: Requirement, b: Requirement) -> None:
    assert a.intersects(b) == any(a.admits(state) and b.admits(state) for state in states(a, b))


@given(odd)
def test_expressions_read_back_as_the_same_states(a: Requirement) -> None:
    again = Requirements(requirement(a.key, operator, values) for operator, values in a.expressions())
    read = again.get(a.key) or Requirement(a.key, complement=True, absent=True)
    for state in (*states(a), *ODD_VALUES):
        assert read.admits(state) == a.admits(state)


@given(odd)
def test_any_value_is_admitted(a: Requirement) -> None:
    value = a.any_value()
    assert value is None or a.admits(value)


@given(some)
def test_a_value_is_found_wherever_a_node_could_carry_one(a: Requirement) -> None:
    """None means that no label value of Kubernetes is left: those never start with a sign."""
    if a.any_value() is None:
        assert not any(a.admits(state) for state in states(a) if state is not None and not state.startswith("-"))


def test_any_value_avoids_what_is_excluded() -> None:
    """A peer draws a number at random and may hit an excluded one."""
    assert (expression(K, "Gte", "3") & expression(K, "NotIn", "3 4")).any_value() == "5"
    assert expression(K, "NotIn", "0").any_value() == "1"
    assert expression(K, "Lt", "0").any_value() == "-1"
    assert expression(K, "In", "b a").any_value() == "a"
    assert does_not_exist(K).any_value() is None


@given(odd, odd)
def test_equal_requirements_hash_alike(a: Requirement, b: Requirement) -> None:
    if a == b:
        assert hash(a) == hash(b)


@given(simple(), simple())
def test_the_larger_min_values_stands(a: Requirement, b: Requirement) -> None:
    given_ = [n for n in (a.min_values, b.min_values) if n is not None]
    assert (a & b).min_values == (max(given_) if given_ else None)


@pytest.mark.parametrize(("operator", "bound"), [("Gt", INT64_MAX), ("Lt", INT64_MIN)])
def test_beyond_the_last_integer_there_is_nothing_and_certainly_not_absence(operator: str, bound: int) -> None:
    nothing = requirement(K, operator, [str(bound)], min_values=2)
    assert nothing.is_empty
    assert not nothing.admits(None)
    assert nothing.min_values == 2


def test_strict_bounds_become_inclusive_ones() -> None:
    assert expression(K, "Gt", "3") == expression(K, "Gte", "4")
    assert expression(K, "Lt", "3") == expression(K, "Lte", "2")


def test_an_exclusion_outside_the_bounds_is_forgotten() -> None:
    assert expression(K, "NotIn", "5") & expression(K, "Gte", "7") == expression(K, "Gte", "7")


def test_a_value_that_is_no_integer_lies_outside_every_bound() -> None:
    for operator, bound in product(("Gt", "Gte", "Lt", "Lte"), ("0", "-5", "5")):
        assert not expression(K, operator, bound).admits("A")
        assert not expression(K, operator, bound).admits(None)


def test_in_with_nothing_listed_is_does_not_exist() -> None:
    assert requirement(K, "In", []) == does_not_exist(K)


def test_a_contradiction_is_not_a_wish_for_an_unlabelled_node() -> None:
    """A peer reads `In a` and `In b` on a custom key as DoesNotExist, and grants it."""
    clash = is_in(K, "a") & is_in(K, "b")
    assert clash.is_empty
    assert not clash.admits(None)
    assert not does_not_exist(K).is_empty
    assert not EMPTY.compatible(Requirements([clash]))


def test_bounds_and_exclusions_that_leave_nothing_are_a_contradiction() -> None:
    """A peer says two complements always intersect, even NotIn 2 and exactly 2."""
    only_two = expression(K, "Gte", "2") & expression(K, "Lte", "2")
    assert not only_two.intersects(expression(K, "NotIn", "2"))
    assert not expression(K, "Gt", "9").intersects(expression(K, "Lt", "9"))


def test_excluding_most_of_an_enormous_range_is_decided_at_once() -> None:
    wide = expression(K, "Gte", "0") & expression(K, "Lte", str(INT64_MAX)) & expression(K, "NotIn", "0 1 2")
    assert not wide.is_empty
    assert wide.any_value() == "3"


@pytest.mark.parametrize(
    ("built", "derived"),
    [
        (is_in(K, "a"), "In"),
        (is_not_in(K, "a"), "NotIn"),
        (exists(K), "Exists"),
        (does_not_exist(K), "DoesNotExist"),
        (expression(K, "Gt", "1"), "Exists"),
        (is_in(K, "a") & is_in(K, "b"), "In"),
    ],
)
def test_the_nearest_operator_is_known(built: Requirement, derived: str) -> None:
    assert built.operator == derived


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (is_in(K, "b", "a"), "key In [a b]"),
        (is_not_in(K, *"gfedcba"), "key NotIn [a b c d e and 2 others]"),
        (exists(K), "key Exists"),
        (does_not_exist(K), "key DoesNotExist"),
        (expression(K, "Gt", "3") & expression(K, "Lt", "9"), "key Exists >=4 <=8"),
        (is_in(K, "a", min_values=2), "key In [a] minValues 2"),
        (is_in(K, "a") & is_in(K, "b"), "key In []"),
    ],
)
def test_a_requirement_prints_as_its_peer_does(built: Requirement, text: str) -> None:
    assert str(built) == text


def test_both_bounds_and_the_exclusions_between_are_written_out() -> None:
    """A peer loses the exclusions of a bounded NotIn when it writes it."""
    built = expression(K, "Gt", "1") & expression(K, "Lt", "9") & expression(K, "NotIn", "5")
    assert built.expressions() == ((Operator.GTE, ("2",)), (Operator.LTE, ("8",)), (Operator.NOT_IN, ("5",)))


@pytest.mark.parametrize(
    "operator", ["", "in", "Between", "IN", None, 7, [], {}, "x" * 10**6], ids=lambda one: str(one)[:9]
)
def test_an_unknown_operator_is_refused_in_a_short_sentence(operator: str) -> None:
    with pytest.raises(BadInput, match="is not an operator") as caught:
        requirement(K, operator, ["a"])
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["1", "2"],
        ["a"],
        [""],
        ["1.5"],
        [" 1"],
        ["1\n"],
        ["1_0"],
        ["１"],
        ["0x1"],
        [str(INT64_MAX + 1)],
        ["9" * 10**6],
    ],
    ids=lambda values: str(values)[:12],
)
def test_a_bound_must_be_one_whole_number(values: list[str]) -> None:
    with pytest.raises(BadInput, match="exactly one whole number") as caught:
        requirement(K, "Gt", values)
    assert len(str(caught.value)) < 250


@given(st.text(max_size=30) | st.from_regex(r"[+-]?0{0,40}[0-9]{1,22}", fullmatch=True))
def test_as_integer_agrees_with_the_64_bit_decimal(text: str) -> None:
    plain = text.removeprefix("-") if text.startswith("-") else text.removeprefix("+")
    is_decimal = plain.isascii() and plain.isdigit()
    expected = int(text) if is_decimal and INT64_MIN <= int(text) <= INT64_MAX else None
    assert as_integer(text) == expected


# ---- sets of requirements


def holds(all_of: Requirements, node: dict[str, str | None]) -> bool:
    return all(one.admits(node.get(one.key)) for one in all_of)


nodes = st.dictionaries(st.sampled_from(KEYS), any_state)


@given(sets, sets, nodes)
def test_a_node_meets_both_sets_iff_it_meets_their_intersection(
    a: Requirements, b: Requirements, node: dict[str, str | None]
) -> None:
    assert holds(a & b, node) == (holds(a, node) and holds(b, node))


@given(sets, sets, sets)
def test_sets_intersect_commutatively_associatively_and_idempotently(
    a: Requirements, b: Requirements, c: Requirements
) -> None:
    assert a & b == b & a
    assert hash(a & b) == hash(b & a)
    assert (a & b) & c == a & (b & c)
    assert a & a == a
    assert a & EMPTY == a


@given(sets, sets)
def test_sets_intersect_iff_their_intersection_is_no_contradiction(a: Requirements, b: Requirements) -> None:
    assert a.intersects(b) == b.intersects(a) == (not (a & b).is_contradictory)
    assert a.intersects(b) == (not a.conflicts(b))


@given(sets)
def test_a_set_intersects_itself_unless_it_is_a_contradiction(a: Requirements) -> None:
    assert a.intersects(a) == a.compatible(a) == (not a.is_contradictory)


@given(sets, st.permutations(range(5)))
def test_the_order_requirements_come_in_does_not_matter(a: Requirements, order: list[int]) -> None:
    members = list(a)
    shuffled = Requirements(members[i] for i in order if i < len(members))
    assert shuffled == a
    assert hash(shuffled) == hash(a)
    assert str(shuffled) == str(a)


@given(sets, sets, allowed)
def test_compatible_means_that_some_node_of_the_defined_side_suits_the_asking_one(
    defined: Requirements, asked: Requirements, undefined: frozenset[str]
) -> None:
    """Key by key: what the defined side leaves out is absent, unless it may be undefined, and then it is anything."""

    def possible(key: str) -> bool:
        mine, theirs = defined.get(key), asked.get(key)
        known = [one for one in (mine, theirs) if one is not None]
        for state in states(*known):
            if mine is None and theirs is not None and key not in undefined and state is not None:
                continue
            if all(one.admits(state) for one in known):
                return True
        return False

    assert defined.compatible(asked, undefined) == all(possible(key) for key in KEYS)


@given(sets, sets, allowed)
def test_a_refusal_has_a_reason_and_an_approval_has_none(
    defined: Requirements, asked: Requirements, undefined: frozenset[str]
) -> None:
    reasons = defined.incompatibilities(asked, undefined)
    assert defined.compatible(asked, undefined) == (not reasons)
    assert all(str(reason) for reason in reasons)


def peer_says(defined: Requirement | None, asked: Requirement, undefined_is_fine: bool) -> bool:
    """The specification's own words for one key, with derived operators, before its quirks were bettered."""
    lenient = (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
    if defined is None:
        return undefined_is_fine or asked.operator in lenient
    if defined.operator in lenient and asked.operator in lenient:
        return True
    if defined.complement and asked.complement:
        lower = max((n for n in (defined.gte, asked.gte) if n is not None), default=INT64_MIN)
        upper = min((n for n in (defined.lte, asked.lte) if n is not None), default=INT64_MAX)
        return lower <= upper
    concrete, other = (defined, asked) if not defined.complement else (asked, defined)
    return any(other.admits(value) for value in concrete.values)


@given(st.none() | simple(), simple(), st.booleans())
def test_single_expressions_are_compatible_as_the_specification_defines(
    defined: Requirement | None, asked: Requirement, undefined_is_fine: bool
) -> None:
    """All but its quirks: contradictions, and complements that exclude all that their bounds leave."""
    if asked.is_empty or (defined is not None and defined.is_empty):
        return
    side = Requirements([] if defined is None else [defined])
    undefined = frozenset({TEAM}) if undefined_is_fine else frozenset()
    assert side.compatible(Requirements([asked]), undefined) == peer_says(defined, asked, undefined_is_fine)


CUSTOM, WELL_KNOWN_KEY = "example.com/custom", labels.ZONE
ASKING = [("In", "1"), ("Exists", ""), ("Gt", "0"), ("Lt", "9"), ("Gte", "1"), ("Lte", "9")]
LENIENT = [("NotIn", "1"), ("DoesNotExist", "")]


@pytest.mark.parametrize(("operator", "values"), ASKING)
def test_a_label_asked_for_must_be_defined_unless_it_is_well_known_and_the_node_is_new(
    operator: str, values: str
) -> None:
    custom, zone = (requirements((key, operator, values)) for key in (CUSTOM, WELL_KNOWN_KEY))
    assert not EMPTY.compatible(custom, labels.WELL_KNOWN)
    assert EMPTY.compatible(zone, labels.WELL_KNOWN)
    assert not EMPTY.compatible(zone)


@pytest.mark.parametrize(("operator", "values"), LENIENT)
@pytest.mark.parametrize("key", [CUSTOM, WELL_KNOWN_KEY])
def test_a_label_that_may_be_absent_need_not_be_defined(key: str, operator: str, values: str) -> None:
    assert EMPTY.compatible(requirements((key, operator, values)))


@pytest.mark.parametrize(
    ("defined", "asked", "compatible"),
    [
        (("Exists",), ("DoesNotExist",), False),
        (("DoesNotExist",), ("NotIn", "x"), True),
        (("DoesNotExist",), ("DoesNotExist",), True),
        (("DoesNotExist",), ("Exists",), False),
        (("DoesNotExist",), ("In", "x"), False),
        (("NotIn", "x"), ("DoesNotExist",), True),
        (("NotIn", "x"), ("NotIn", "y"), True),
        (("NotIn", "x"), ("In", "x"), False),
        (("NotIn", "x"), ("In", "x y"), True),
        (("In", "x"), ("DoesNotExist",), False),
        (("In", "x"), ("Exists",), True),
        (("Exists",), ("In", "x"), True),
        (("Exists",), ("NotIn", "x"), True),
        (("In", "a"), ("NotIn", "a"), False),
        (("In", "a b"), ("NotIn", "a"), True),
        (("In", "1"), ("Gt", "1"), False),
        (("In", "1"), ("Gte", "1"), True),
        (("Gt", "1"), ("Lt", "9"), True),
        (("Gt", "9"), ("Lt", "9"), False),
        (("Gte", "9"), ("Lte", "9"), True),
        (("In", "A"), ("Gt", "0"), False),
        (("In", "A"), ("Lt", "9"), False),
        (("In", "A"), ("Gte", "0"), False),
        (("In", "A"), ("Lte", "9"), False),
        (("DoesNotExist",), ("Gt", "0"), False),
        (("Gt", "0"), ("DoesNotExist",), False),
    ],
)
def test_the_operators_truth_table(defined: tuple[str, ...], asked: tuple[str, ...], compatible: bool) -> None:
    assert requirements((K, *defined)).compatible(requirements((K, *asked))) is compatible  # type: ignore[arg-type]


def test_excluding_one_of_two_values_leaves_the_other() -> None:
    assert requirements((K, "In", "a b")) & requirements((K, "NotIn", "a")) == requirements((K, "In", "b"))


def test_a_conflict_says_who_asked_what_and_what_there_is() -> None:
    reasons = requirements((K, "In", "a"), ("z", "In", "1")).incompatibilities(
        requirements(("z", "In", "2"), (K, "In", "b"))
    )
    assert [str(one) for one in reasons] == ["key key, key In [b] not in key In [a]", "key z, z In [2] not in z In [1]"]


def test_an_undefined_label_is_named_and_hides_the_other_reasons() -> None:
    reasons = requirements((K, "In", "a")).incompatibilities(requirements(("nowhere", "Exists"), (K, "In", "b")))
    assert reasons == (UndefinedLabel("nowhere"),)
    assert str(reasons[0]) == 'label "nowhere" does not have known values'


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("zone", labels.ZONE),
        ("kubernetes.io/zone", labels.ZONE),
        ("topology.kubernetes.io/zon", labels.ZONE),
        ("failure/instance-type", labels.INSTANCE_TYPE),
        ("my/own", "example.com/own"),
        ("nothing-like-it", None),
    ],
)
def test_a_likely_typo_is_pointed_out(key: str, meant: str | None) -> None:
    (reason,) = requirements(("example.com/own", "Exists")).incompatibilities(
        requirements((key, "Exists")), labels.WELL_KNOWN
    )
    assert reason == UndefinedLabel(key, meant)
    assert ("typo of" in str(reason)) == (meant is not None)


def test_a_contradiction_meets_nobody_and_says_so() -> None:
    """Not even on a label that may be left undefined: no provider can fill in a zone that is both a and b."""
    torn = requirements((labels.ZONE, "In", "a"), (labels.ZONE, "In", "b"))
    assert torn.is_contradictory
    assert not EMPTY.compatible(torn, labels.WELL_KNOWN)
    assert not torn.compatible(EMPTY)
    assert not torn.intersects(torn)
    (reason,) = EMPTY.incompatibilities(torn, labels.WELL_KNOWN)
    assert isinstance(reason, KeyConflict)
    assert reason.asked.key == labels.ZONE


@given(sets, st.sampled_from(KEYS))
def test_a_key_taken_out_is_no_longer_spoken_of(a: Requirements, key: str) -> None:
    without = a.without(key)
    assert not without.mentions(key)
    assert without & Requirements(one for one in a if one.key == key) == a


@given(keyed)
def test_a_key_is_pinned_iff_one_value_is_left(one: Requirement) -> None:
    pinned = Requirements([one]).value(one.key)
    assert (pinned is not None) == (not one.complement and len(one.values) == 1)
    assert pinned is None or one.admits(pinned)


def test_a_set_prints_by_text_and_hides_the_hostname() -> None:
    built = requirements(("z", "Exists"), (labels.HOSTNAME, "In", "h"), ("a", "In", "1"))
    assert str(built) == "a In [1], z Exists"


@pytest.mark.parametrize("name", [name for name, value in HOSTILE.items() if isinstance(value, str)])
def test_labels_of_any_text_make_requirements(name: str) -> None:
    text = str(HOSTILE[name])
    assert Requirements.of_labels({"k": text}).value("k") == text
