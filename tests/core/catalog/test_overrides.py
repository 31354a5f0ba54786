"""InstanceType resources say what a user knows better than the cloud (S2.1–S2.5)."""

from __future__ import annotations

from tests.builders import hardware, nanos, override, requirements, row, rows, spec

from dovetail.core import labels
from dovetail.core.catalog.allocatable import NodeRules
from dovetail.core.catalog.overrides import Override
from dovetail.core.catalog.prices import SourceKind
from dovetail.core.catalog.specs import SpecRules
from dovetail.core.kubelet import KubeletSettings
from dovetail.core.resources import GIB, NOTHING, Resources

RULES = SpecRules(KubeletSettings(), NodeRules())
KNOWN = RULES.spec_of(hardware())


def test_an_override_that_says_nothing_hands_back_what_it_was_given_S0_2() -> None:
    known, offered = spec(), rows()
    assert Override("m5.large").spec(known, RULES) is known
    assert Override("m5.large").offerings(offered) is offered


def test_an_override_is_named_like_its_type_S2_1() -> None:
    assert Override("Standard_D2s_v3").settings.source == "InstanceType Standard_D2s_v3"


def test_resources_are_merged_over_the_known_capacity_S2_2() -> None:
    found = override(**{"example.com/dongle": 4, "cpu": 1500}).spec(KNOWN, RULES)
    assert found.capacity == KNOWN.capacity.merged({"example.com/dongle": 4, "cpu": 1500})
    assert found.requirements is KNOWN.requirements


def test_an_overhead_replaces_the_default_one_and_may_be_none_S2_3() -> None:
    assert override(overhead=Resources({"memory": GIB})).spec(KNOWN, RULES).capacity.memory_bytes == 7 * GIB
    assert override(overhead=NOTHING).spec(KNOWN, RULES).capacity.memory_bytes == 8 * GIB


def test_offerings_are_replaced_entirely_S2_4() -> None:
    found = override(offers=[({labels.ZONE: "z", labels.CAPACITY_TYPE: "spot"}, "0.01")]).offerings(rows())
    assert [(one.zone, one.capacity_type) for one in found] == [("z", "spot")]
    assert found[0].price is not None
    assert (found[0].price.nanodollars, found[0].price.source.kind) == (nanos("0.01"), SourceKind.OVERRIDE)


def test_offerings_may_be_replaced_by_none_at_all_S2_4() -> None:
    assert override(offers=[]).offerings(rows()) == ()


def test_a_missing_key_means_any_value_S2_4() -> None:
    (found,) = override(offers=[({labels.CAPACITY_TYPE: "spot"}, "0.01")]).offerings(rows())
    assert found.zone is None
    assert found.requirements.intersects(requirements((labels.ZONE, "In", "anywhere")))


def test_an_entry_without_a_price_keeps_the_cloud_s_for_such_a_row() -> None:
    known = rows(on_demand="0.1", spot="0.03")
    (found,) = override(offers=[({labels.ZONE: "a", labels.CAPACITY_TYPE: "spot"}, None)]).offerings(known)
    assert found.price == next(one.price for one in known if one.capacity_type == "spot")


def test_an_entry_that_could_mean_several_rows_promises_the_highest_price() -> None:
    (found,) = override(offers=[({labels.ZONE: "a"}, None)]).offerings(rows(on_demand="0.1", spot="0.03"))
    assert found.price is not None
    assert found.price.nanodollars == nanos("0.1")


def test_an_entry_the_cloud_has_no_price_for_has_none() -> None:
    (found,) = override(offers=[({labels.ZONE: "moon"}, None)]).offerings(rows())
    assert found.price is None
    (unpriced,) = override(offers=[({labels.ZONE: "a"}, None)]).offerings((row("a", dollars=None),))
    assert unpriced.price is None


def test_any_label_may_tell_the_prices_of_an_override_apart_S2_5() -> None:
    offers = [({labels.OS: "windows"}, "0.5"), ({labels.OS: "linux"}, "0.1")]
    found = override(offers=offers).offerings(rows())
    assert [one.requirements.value(labels.OS) for one in found] == ["linux", "windows"]


def test_keys_of_an_entry_are_canonical() -> None:
    (found,) = override(offers=[({"failure-domain.beta.kubernetes.io/zone": "a"}, "1")]).offerings(())
    assert found.zone == "a"
