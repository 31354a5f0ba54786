"""§2.1: from a planned claim to the NodeClaim that is written down."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from tests.builders import pool, requirements
from tests.core.lifecycle.claims import amounts

from dovetail.core import labels
from dovetail.core.disruption.drift_checks import drift_reason
from dovetail.core.disruption.policies import PoolPolicy
from dovetail.core.lifecycle import ordering
from dovetail.core.lifecycle.ordering import Template, Wanted
from dovetail.core.nodeclaims import FINALIZER, MIN_VALUES_RELAXED, POOL_HASH, POOL_HASH_VERSION
from dovetail.core.taints import Effect, Taint

GENERAL = replace(
    pool("general", labelled={"team": "web"}),
    requirements=requirements((labels.ARCH, "In", "amd64")),
    taints=(Taint("dedicated", Effect.NO_SCHEDULE),),
    startup_taints=(Taint("cilium", Effect.NO_EXECUTE),),
)
TEMPLATE = Template(GENERAL, "pool-uid", "42", MappingProxyType({"note": "kept"}), grace=60.0, expire_after=3600.0)


def test_a_claim_has_its_finalizer_before_anything_is_bought_and_belongs_to_its_pool():
    claim = ordering.ordered(TEMPLATE, Wanted(), "general-1")
    assert (claim.name, claim.meta.finalizers) == ("general-1", (FINALIZER,))
    (owner,) = claim.meta.owners
    assert (owner.kind, owner.name, owner.uid, owner.api_version) == (
        "NodePool",
        "general",
        "pool-uid",
        "karpenter.sh/v1",
    )


def test_a_claim_has_what_its_pool_says_of_all_of_them():
    claim = ordering.ordered(TEMPLATE, Wanted(), "general-1")
    assert (claim.taints, claim.startup_taints) == (GENERAL.taints, GENERAL.startup_taints)
    assert (claim.grace, claim.expire_after, claim.node_class) == (60.0, 3600.0, GENERAL.node_class)


def test_a_claim_is_labelled_with_its_pool_its_class_and_the_choices_it_has_made():
    wanted = Wanted(requirements(("tier", "In", "gold"), ("room", "In", "a b"), ("floor", "NotIn", "1")))
    claim = ordering.ordered(TEMPLATE, wanted, "general-1")
    assert claim.meta.labels == {
        "tier": "gold",
        "room": "a",
        "team": "web",
        labels.NODEPOOL: "general",
        GENERAL.node_class.label_key: "default",
    }


def test_a_label_no_cloud_knows_gets_a_value_its_pool_admits():
    """Without one the node would not be what its pool asks for: pods that rely on it wait, and the claim drifts."""
    asked = requirements(
        ("one", "In", "value"),
        ("several", "In", "b a"),
        ("not", "NotIn", "0"),
        ("below", "Lt", "4"),
        ("above", "Gt", "5"),
        ("any", "Exists", ""),
        ("none", "DoesNotExist", ""),
    )
    template = replace(TEMPLATE, pool=replace(GENERAL, requirements=asked))
    for wanted in (Wanted(), Wanted(asked)):
        found = ordering.ordered(template, wanted, "general-1").meta.labels
        told = {"one": "value", "several": "a", "not": "1", "below": "0", "above": "6", "any": "0"}
        assert {key: found.get(key) for key in told} == told
        assert "none" not in found


def test_a_claim_that_was_labelled_for_its_pool_has_not_drifted_from_it():
    asked = requirements(("several", "In", "b a"), ("above", "Gt", "5"), ("any", "Exists", ""), ("not", "NotIn", "x"))
    chosen = replace(GENERAL, requirements=asked)
    claim = ordering.ordered(replace(TEMPLATE, pool=chosen), Wanted(), "general-1")
    assert drift_reason(claim, PoolPolicy(chosen), None, "", 0.0) is None


def test_a_label_that_only_a_pod_would_rather_not_see_stays_off():
    found = ordering.ordered(TEMPLATE, Wanted(requirements(("floor", "NotIn", "1"))), "general-1").meta.labels
    assert "floor" not in found


def test_a_label_the_cloud_gives_its_machines_is_not_made_up():
    cpu, family = "example.com/cpu", "example.com/family"
    asked = requirements((cpu, "Gt", "4"), (family, "In", "c"))
    template = replace(TEMPLATE, pool=replace(GENERAL, requirements=asked), well_known=frozenset({cpu, family}))
    found = ordering.ordered(template, Wanted(asked), "general-1").meta.labels
    assert cpu not in found
    assert found[family] == "c"


def test_a_node_is_not_given_the_name_it_had_in_the_plan():
    wanted = Wanted(requirements((labels.HOSTNAME, "In", "node-1")))
    assert labels.HOSTNAME not in ordering.ordered(TEMPLATE, wanted, "general-1").meta.labels


def test_what_every_cloud_knows_is_labelled_by_the_machine_and_not_before():
    claim = ordering.ordered(TEMPLATE, Wanted(requirements((labels.ZONE, "In", "a"))), "general-1")
    assert labels.ZONE not in claim.meta.labels
    assert claim.requirements == requirements((labels.ZONE, "In", "a"))


def test_a_claim_of_which_nothing_is_known_asks_for_what_its_pool_asks_for():
    claim = ordering.ordered(TEMPLATE, Wanted(), "general-1")
    assert claim.requirements == GENERAL.requirements & GENERAL.label_requirements


def test_a_name_that_a_plan_gave_a_node_is_no_demand():
    wanted = Wanted(requirements((labels.HOSTNAME, "In", "node-1"), ("tier", "In", "gold")), amounts(cpu="2"))
    claim = ordering.ordered(TEMPLATE, wanted, "general-1")
    assert claim.requirements == requirements(("tier", "In", "gold"))
    assert claim.requests == amounts(cpu="2")


def test_a_claim_says_by_which_template_it_was_made():
    claim = ordering.ordered(TEMPLATE, Wanted(), "general-1")
    assert claim.meta.annotations == {
        "note": "kept",
        POOL_HASH: "42",
        POOL_HASH_VERSION: "v3",
        MIN_VALUES_RELAXED: "false",
    }


def test_a_claim_says_what_was_relaxed_and_which_overlays_it_was_chosen_by():
    wanted = Wanted(relaxed=True, price_overlaid=True, capacity_overlaid=True)
    notes = ordering.ordered(TEMPLATE, wanted, "general-1").meta.annotations
    assert notes[MIN_VALUES_RELAXED] == "true"
    assert notes[ordering.PRICE_OVERLAID] == "true"
    assert notes[ordering.CAPACITY_OVERLAID] == "true"
    only = ordering.ordered(TEMPLATE, Wanted(price_overlaid=True), "general-1").meta.annotations
    assert ordering.CAPACITY_OVERLAID not in only
