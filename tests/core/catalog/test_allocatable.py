"""Allocatable is a sum whose every line can be shown (S2.2, S2.3, S2.7, S2.8, S2.14)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import hardware

from dovetail.core.catalog.allocatable import Ledger, NodeRules, Settings, Stage, ledger
from dovetail.core.catalog.density import ByInterface
from dovetail.core.catalog.hardware import Disk, Hardware, Interfaces
from dovetail.core.catalog.overhead import TIERED, FlatOverhead
from dovetail.core.kubelet import KubeletSettings, ReserveStrategy, parse_settings
from dovetail.core.resources import GIB, MIB, NOTHING, Resources

PEER_AWS = NodeRules(ByInterface(), ReserveStrategy.EKS, FlatOverhead(Fraction(75, 1000)))
NO_OVERHEAD = FlatOverhead(Fraction(0))


def of(
    machine: Hardware | None = None,
    strategy: ReserveStrategy = ReserveStrategy.NONE,
    settings: Settings = Settings(),  # noqa: B008  (frozen)
    seen: int | None = None,
    **kubelet: object,
) -> Ledger:
    return ledger(
        machine or hardware(),
        parse_settings(kubelet),
        NodeRules(reserve=strategy, vm_overhead=NO_OVERHEAD),
        settings,
        seen,
    )


def amount(found: Ledger, stage: Stage, resource: str) -> int:
    return sum(term.amount for term in found.terms if (term.stage, term.resource) == (stage, resource))


GOLDEN = [
    # name, cores, nominal MiB, interfaces, arm, capacity MiB, pods, reserved cpu, reserved MiB, cpu left, MiB left
    ("t3.micro", 2, 1024, (2, 2), 0, 947, 4, 70, 299, 1930, 548),
    ("t4g.nano", 2, 512, (2, 2), 64, 414, 4, 70, 299, 1930, 15),
    ("m5.large", 2, 8192, (3, 10), 0, 7577, 29, 70, 574, 1930, 6903),
    ("m5.xlarge", 4, 16384, (4, 15), 0, 15155, 58, 80, 893, 3920, 14162),
    ("c6g.large", 2, 4096, (3, 10), 64, 3729, 29, 70, 574, 1930, 3055),
    ("c7i.4xlarge", 16, 32768, (8, 30), 0, 30310, 234, 110, 2829, 15890, 27381),
    ("r7i.16xlarge", 64, 524288, (15, 50), 0, 484966, 737, 230, 8362, 63770, 476504),
]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda one: one[0])
def test_with_a_peer_s_rules_the_sums_are_a_peer_s_S2_8(
    golden: tuple[str, int, int, tuple[int, int], int, int, int, int, int, int, int],
) -> None:
    name, cores, nominal, interfaces, firmware, capacity, pods, kube_cpu, kube_mib, cpu, mib = golden
    machine = Hardware(name, cores * 1000, nominal * MIB, firmware * MIB, interfaces=Interfaces(*interfaces))
    found = ledger(machine, KubeletSettings(), PEER_AWS)
    assert found.capacity.memory_bytes == capacity * MIB
    assert found.capacity.of("pods") == pods
    assert amount(found, Stage.KUBE_RESERVED, "cpu") == kube_cpu
    assert amount(found, Stage.KUBE_RESERVED, "memory") == kube_mib * MIB
    assert (found.allocatable.cpu_millis, found.allocatable.memory_bytes) == (cpu, mib * MIB)


kubelets = st.fixed_dictionaries(
    {},
    optional={
        "maxPods": st.integers(0, 300),
        "podsPerCore": st.integers(0, 20),
        "kubeReserved": st.fixed_dictionaries({"cpu": st.integers(0, 2), "memory": st.just("300Mi")}),
        "systemReserved": st.just({"cpu": "100m", "ephemeral-storage": "1Gi"}),
        "evictionHard": st.fixed_dictionaries({"memory.available": st.sampled_from(["5%", "100Mi", "100%", "0"])}),
        "evictionSoft": st.just({"memory.available": "50%"}),
    },
)
machines = st.builds(
    lambda cpu, gib, devices, disks: hardware(cpu=cpu, gib=gib, devices=Resources(devices), disk=Disk(50 * GIB, disks)),
    st.integers(1, 200),
    st.integers(1, 2000),
    st.dictionaries(st.sampled_from(["nvidia.com/gpu", "hugepages-2Mi", "hugepages-1Gi"]), st.integers(0, 4 * GIB)),
    st.integers(0, 4),
)
overrides = st.builds(
    Settings,
    st.dictionaries(st.sampled_from(["cpu", "memory", "pods", "example.com/dongle"]), st.integers(0, 2**40)).map(
        Resources
    ),
    st.none() | st.just(NOTHING) | st.just(Resources({"memory": GIB, "cpu": 10})),
)


@given(machines, kubelets, st.sampled_from(ReserveStrategy), overrides)
def test_allocatable_is_the_sum_of_the_lines_that_are_shown_S2_8(
    machine: Hardware, kubelet: dict[str, object], strategy: ReserveStrategy, settings: Settings
) -> None:
    found = ledger(machine, parse_settings(kubelet), NodeRules(reserve=strategy), settings)
    for name in found.capacity:
        shown = sum(term.sign * term.amount for term in found.terms if term.resource == name)
        assert found.allocatable.of(name) == shown


@given(machines, kubelets, st.sampled_from(ReserveStrategy), overrides)
def test_every_line_names_its_rule_and_who_set_it_S2_14(
    machine: Hardware, kubelet: dict[str, object], strategy: ReserveStrategy, settings: Settings
) -> None:
    found = ledger(
        machine, parse_settings(kubelet), NodeRules(reserve=strategy, flat_overhead=Resources({"cpu": 1})), settings
    )
    for term in found.terms:
        assert term.rule
        assert term.source
        assert str(term).startswith(term.stage)
    stages = [term.stage for term in found.terms]
    assert stages == sorted(stages, key=list(Stage).index)


def test_the_user_s_reserve_takes_the_place_of_the_strategy_s_per_resource_S2_7() -> None:
    found = of(strategy=ReserveStrategy.EKS, kubeReserved={"cpu": "500m"})
    assert amount(found, Stage.KUBE_RESERVED, "cpu") == 500
    assert amount(found, Stage.KUBE_RESERVED, "memory") == (11 * 110 + 255) * MIB


def test_the_user_s_system_reserve_comes_on_top_S2_7() -> None:
    found = of(strategy=ReserveStrategy.GKE, systemReserved={"cpu": "50m"})
    assert amount(found, Stage.SYSTEM_RESERVED, "cpu") == 150


@pytest.mark.parametrize(("chosen", "held"), [("200Mi", 200 * MIB), ("5%", -(-8 * GIB // 20)), ("100%", 0), ("0", 0)])
def test_the_user_s_hard_threshold_takes_the_place_of_the_strategy_s_S2_7(chosen: str, held: int) -> None:
    found = of(strategy=ReserveStrategy.EKS, evictionHard={"memory.available": chosen})
    assert amount(found, Stage.EVICTION, "memory") == held
    assert amount(found, Stage.EVICTION, "ephemeral-storage") == 2 * GIB


def test_a_soft_threshold_takes_nothing_off_S2_7() -> None:
    assert of(evictionSoft={"memory.available": "50%"}).allocatable == of().allocatable


def test_a_percentage_is_of_what_the_node_reports_not_of_what_is_nominal() -> None:
    found = of(settings=Settings(overhead=Resources({"memory": 4 * GIB})), evictionHard={"memory.available": "25%"})
    assert amount(found, Stage.EVICTION, "memory") == GIB


def test_the_strategy_of_the_pool_beats_that_of_the_cloud_S2_11() -> None:
    found = of(strategy=ReserveStrategy.EKS, kubeReservedStrategy="aks")
    assert amount(found, Stage.EVICTION, "memory") == 750 * MIB
    assert {term.source for term in found.terms if term.stage is Stage.KUBE_RESERVED} == {"aks strategy"}


def test_an_instance_type_s_resources_are_merged_over_the_known_capacity_S2_2() -> None:
    machine = hardware(devices=Resources({"nvidia.com/gpu": 1}))
    said = Settings(Resources({"memory": 5 * GIB, "example.com/dongle": 3, "pods": 7, "nvidia.com/gpu": 2}))
    found = of(machine, settings=said)
    assert found.capacity == Resources(
        {
            "cpu": 2000,
            "memory": 5 * GIB,
            "ephemeral-storage": 20 * GIB,
            "pods": 7,
            "nvidia.com/gpu": 2,
            "example.com/dongle": 3,
        }
    )


def test_memory_that_the_user_states_has_no_overhead_guessed_off_it_S2_2() -> None:
    found = ledger(hardware(), KubeletSettings(), NodeRules(), Settings(Resources({"memory": 5 * GIB})))
    assert found.capacity.memory_bytes == 5 * GIB


def test_an_instance_type_s_overhead_replaces_the_default_one_S2_3() -> None:
    default = ledger(hardware(), KubeletSettings(), NodeRules())
    said = ledger(hardware(), KubeletSettings(), NodeRules(), Settings(overhead=Resources({"memory": MIB, "cpu": 5})))
    none = ledger(hardware(), KubeletSettings(), NodeRules(), Settings(overhead=NOTHING))
    assert amount(default, Stage.VM_OVERHEAD, "memory") == -(-8 * GIB * 55 // (1000 * MIB)) * MIB
    assert said.capacity.memory_bytes == 8 * GIB - MIB
    assert said.capacity.cpu_millis == 1995
    assert none.capacity.memory_bytes == 8 * GIB


def test_density_of_the_ledger_is_the_smaller_of_pool_and_type_S2_9() -> None:
    assert of(settings=Settings(Resources({"pods": 30})), maxPods=20).capacity.of("pods") == 20
    assert of(settings=Settings(Resources({"pods": 10})), maxPods=20).capacity.of("pods") == 10


def test_what_a_node_was_seen_to_report_beats_the_guess() -> None:
    found = ledger(hardware(), KubeletSettings(), NodeRules(), memory_seen=7 * GIB + 5)
    assert found.capacity.memory_bytes == 7 * GIB + 5
    more = ledger(hardware(), KubeletSettings(), NodeRules(), memory_seen=9 * GIB)
    assert more.capacity.memory_bytes == 8 * GIB


@pytest.mark.parametrize("gib", [1, 2, 3, 8, 9, 32, 33, 128, 129, 2048])
def test_the_share_a_hypervisor_keeps_falls_with_the_size_and_stays_below_a_peer_s(gib: int) -> None:
    held, rule = TIERED.held_back(gib * GIB)
    smaller, _ = TIERED.held_back(gib * GIB // 2)
    assert Fraction(held, gib) <= Fraction(smaller, Fraction(gib, 2)) + 2 * MIB
    assert held <= gib * GIB * 75 // 1000 + MIB
    assert held % MIB == 0
    assert rule


@pytest.mark.parametrize(("pages", "left"), [(2, 6), (8, 0), (9, 0)])
def test_huge_pages_come_out_of_memory_down_to_nothing(pages: int, left: int) -> None:
    machine = hardware(devices=Resources({"hugepages-1Gi": pages * GIB}))
    assert of(machine).allocatable.memory_bytes == left * GIB
    assert of(machine).allocatable.of("hugepages-1Gi") == pages * GIB


def test_huge_pages_never_overdraw_memory_that_is_reserved_already() -> None:
    """Overdrawn, the node would fit nothing; a peer stops at zero too."""
    machine = hardware(devices=Resources({"hugepages-1Gi": 5 * GIB, "hugepages-2Mi": 5 * GIB}))
    found = of(machine, kubeReserved={"memory": "1Gi"}).allocatable
    assert found.memory_bytes == 0
    assert Resources({"hugepages-2Mi": GIB}).fits_in(found)


def test_a_flat_overhead_is_held_back_on_every_node() -> None:
    rules = NodeRules(vm_overhead=NO_OVERHEAD, flat_overhead=Resources({"cpu": 100, "memory": 10 * MIB}))
    found = ledger(hardware(), KubeletSettings(), rules)
    assert (found.allocatable.cpu_millis, found.allocatable.memory_bytes) == (1900, 8 * GIB - 10 * MIB)


def test_a_machine_smaller_than_its_reserves_fits_nothing() -> None:
    found = of(hardware(gib=1), kubeReserved={"memory": "2Gi"}).allocatable
    assert found.memory_bytes == -GIB
    assert not NOTHING.fits_in(found)


def test_overhead_is_everything_between_what_the_node_reports_and_what_pods_get_S2_8() -> None:
    found = of(strategy=ReserveStrategy.EKS, systemReserved={"cpu": "10m"})
    assert found.capacity - found.overhead == found.allocatable
