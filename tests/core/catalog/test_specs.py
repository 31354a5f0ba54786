"""Specs: what decides them (S2.13), and how large a disk the pods planned onto a node need (S2.12)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import FakeMarket, hardware, pool

from dovetail.core.catalog.allocatable import NodeRules, Settings
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.catalog.hardware import Disk, Hardware, Interfaces
from dovetail.core.catalog.overrides import Override
from dovetail.core.catalog.specs import SpecMaker, SpecRules
from dovetail.core.errors import BadInput
from dovetail.core.kubelet import KubeletSettings, ReserveStrategy, parse_settings
from dovetail.core.requirements import Requirements, is_in
from dovetail.core.resources import EPHEMERAL_STORAGE, GIB, Resources

EKS = SpecRules(KubeletSettings(), NodeRules(reserve=ReserveStrategy.EKS))
STRATEGIES = st.sampled_from(ReserveStrategy)


def free(rules: SpecRules, size: int) -> int:
    return rules.spec_of(hardware(disk=Disk(size))).allocatable.of(EPHEMERAL_STORAGE)


@given(st.integers(0, 4000 * GIB), STRATEGIES, st.integers(1, 300))
def test_the_disk_grows_to_the_least_whole_size_that_holds_the_pods_S2_12(
    wanted: int, strategy: ReserveStrategy, default: int
) -> None:
    rules = SpecRules(KubeletSettings(), NodeRules(reserve=strategy))
    size = rules.disk_for(hardware(disk=Disk(default * GIB)), wanted)
    assert size >= default * GIB
    assert free(rules, size) >= wanted
    assert size == default * GIB or free(rules, size - GIB) < wanted


def test_the_users_eviction_threshold_counts_for_the_size_of_the_disk_S2_12() -> None:
    half = SpecRules(parse_settings({"evictionHard": {"nodefs.available": "50%"}}), EKS.node)
    assert half.disk_for(hardware(), 100 * GIB) == 202 * GIB
    assert EKS.disk_for(hardware(), 100 * GIB) == 113 * GIB


def test_local_disks_and_a_stated_size_do_not_grow_S2_12() -> None:
    assert EKS.disk_for(hardware(disk=Disk(50 * GIB, local_disks=1)), 900 * GIB) == 50 * GIB
    stated = Settings(Resources({EPHEMERAL_STORAGE: 30 * GIB}))
    assert EKS.disk_for(hardware(), 900 * GIB, stated) == hardware().disk.size_bytes


def test_more_than_any_disk_holds_is_refused_S2_12() -> None:
    with pytest.raises(BadInput, match="larger disk than there is"):
        EKS.disk_for(hardware(), 2**60)


def test_settings_of_types_change_nothing_a_launch_template_is_made_of_S2_13() -> None:
    """A template is made from the node class, the kubelet settings and the hardware; an InstanceType touches none."""
    market, web = FakeMarket(), pool()
    cache = CatalogCache(market)
    before, rules = cache.catalog(web, 0.0), market.spec_rules(web)
    cache.set_overrides(Override(name, Resources({"pods": 7}), Resources({"memory": GIB})) for name in before.types)
    after = cache.catalog(web, 0.0)
    assert all(after.types[name].capacity != one.capacity for name, one in before.types.items())
    assert all(after.types[name].spec.hardware is one.spec.hardware for name, one in before.types.items())
    assert market.spec_rules(web) == rules


#: Another value for everything a machine can differ in.
OTHERWISE: dict[str, Any] = {
    "name": "other",
    "cpu_millis": 48_000,
    "memory_bytes": 3 * GIB,
    "firmware_bytes": GIB,
    "requirements": Requirements([is_in("chip", "other")]),
    "devices": Resources({"nvidia.com/gpu": 8}),
    "interfaces": Interfaces(7, 31),
    "disk": Disk(7 * GIB, 2),
    "pods": 3,
    "shared_core": True,
    "family": "other",
    "volume_limits": (("disks.example.com", 3),),
    "source": "elsewhere",
}


def test_machines_that_hold_the_same_share_their_sums() -> None:
    maker = SpecMaker(EKS)
    one, other = maker.spec_of(hardware("one")), maker.spec_of(hardware("other"))
    assert (one.name, other.name) == ("one", "other")
    assert one.allocatable is other.allocatable
    assert one.capacity is other.capacity


@pytest.mark.parametrize("name", [one.name for one in fields(Hardware)])
@pytest.mark.parametrize("strategy", ReserveStrategy)
def test_whatever_a_machine_differs_in_its_spec_is_its_own(name: str, strategy: ReserveStrategy) -> None:
    rules = SpecRules(KubeletSettings(), NodeRules(reserve=strategy))
    maker, usual = SpecMaker(rules), hardware()
    different = replace(usual, **{name: OTHERWISE[name]})
    assert different != usual
    assert [maker.spec_of(one) for one in (usual, different)] == [rules.spec_of(one) for one in (usual, different)]


def test_what_a_node_reported_is_of_its_own_type_alone() -> None:
    maker, machine = SpecMaker(EKS), hardware()
    seen = machine.memory_bytes - GIB
    assert maker.spec_of(machine) == EKS.spec_of(machine)
    assert maker.spec_of(machine, seen) == EKS.spec_of(machine, memory_seen=seen) != maker.spec_of(machine)


def test_where_a_formula_asks_for_the_name_nothing_is_shared() -> None:
    settings = parse_settings({"maxPods": "instance_type == 'one' ? 7 : 9"}, formulas=True)
    maker = SpecMaker(SpecRules(settings, EKS.node))
    found = [maker.spec_of(hardware(name)).allocatable.of("pods") for name in ("one", "other")]
    assert found == [7, 9]
