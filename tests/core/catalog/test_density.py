"""How many pods a node may run: the smaller of what the pool and the type allow (S2.9)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import hardware

from dovetail.core.catalog.density import ByInterface, Fixed, pod_limit
from dovetail.core.catalog.hardware import Interfaces
from dovetail.core.kubelet import KubeletSettings

FLAT = Fixed(110, "Kubernetes' default")
EKS = ByInterface()


def limit(
    max_pods: int | None = None, per_core: int | None = None, type_pods: int | None = None, **machine: int
) -> int:
    kubelet = KubeletSettings(max_pods=max_pods, pods_per_core=per_core)
    return pod_limit(hardware(**machine), kubelet, FLAT, type_pods).pods  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("max_pods", "type_pods", "found"),
    [(30, 10, 10), (10, 30, 10), (None, 30, 30), (30, None, 30), (None, None, 110), (0, 30, 0)],
)
def test_density_is_the_smaller_of_the_pool_s_and_the_type_s_S2_9(
    max_pods: int | None, type_pods: int | None, found: int
) -> None:
    assert limit(max_pods, type_pods=type_pods) == found


@pytest.mark.parametrize(("max_pods", "found"), [(30, 30), (300, 58), (None, 58)])
def test_a_limit_the_cloud_states_for_a_type_binds_the_pool_too_S2_9(max_pods: int | None, found: int) -> None:
    assert limit(max_pods, pods=58) == found


def test_an_instance_type_s_pods_stand_in_for_what_the_cloud_states() -> None:
    assert limit(type_pods=80, pods=58) == 80


@pytest.mark.parametrize(("per_core", "cpu", "found"), [(10, 2, 20), (10, 64, 110), (1, 1, 1)])
def test_pods_per_core_lowers_the_limit_and_never_raises_it(per_core: int, cpu: int, found: int) -> None:
    assert limit(per_core=per_core, cpu=cpu) == found


@given(
    st.none() | st.integers(0, 500),
    st.none() | st.integers(1, 500),
    st.none() | st.integers(0, 500),
    st.none() | st.integers(0, 500),
    st.integers(1, 200),
)
def test_no_one_s_limit_is_ever_exceeded_S2_9(
    max_pods: int | None, per_core: int | None, type_pods: int | None, pods: int | None, cpu: int
) -> None:
    found = limit(max_pods, per_core, type_pods, pods=pods, cpu=cpu)  # type: ignore[arg-type]
    own = type_pods if type_pods is not None else pods
    bounds = [b for b in (max_pods, own, None if per_core is None else per_core * cpu) if b is not None]
    assert found <= min(bounds, default=110)
    assert found in (*bounds, 110)


@pytest.mark.parametrize(
    ("kubelet", "type_pods", "source"),
    [
        (KubeletSettings(), None, "pod density"),
        (KubeletSettings(max_pods=5), None, "kubelet settings"),
        (KubeletSettings(max_pods=50), 7, "InstanceType"),
        (KubeletSettings(pods_per_core=1), 7, "kubelet settings"),
    ],
)
def test_the_limit_names_who_set_it_and_by_which_rule_S2_14(
    kubelet: KubeletSettings, type_pods: int | None, source: str
) -> None:
    found = pod_limit(hardware(), kubelet, FLAT, type_pods)
    assert found.source == source
    assert found.rule


@pytest.mark.parametrize(
    ("count", "each", "reserved", "pods"),
    [
        (2, 2, 0, 4),
        (3, 10, 0, 29),
        (4, 15, 0, 58),
        (8, 30, 0, 234),
        (15, 50, 0, 737),
        (3, 10, 1, 20),
        (3, 10, 3, 0),
        (3, 10, 9, 0),
    ],
)
def test_eks_counts_the_addresses_of_the_interfaces(count: int, each: int, reserved: int, pods: int) -> None:
    machine = hardware(interfaces=Interfaces(count, each))
    assert ByInterface(reserved).pods(machine)[0] == pods


def test_max_pods_may_exceed_what_interfaces_hold() -> None:
    """Prefix delegation and other networks make the interface rule a rule of thumb."""
    machine = hardware(interfaces=Interfaces(3, 10))
    assert pod_limit(machine, KubeletSettings(max_pods=110), EKS).pods == 110


@pytest.mark.parametrize(("cpu", "count", "pods"), [(2, 3, 110), (30, 15, 110), (32, 15, 250), (2, 1, 110), (2, 0, 0)])
def test_prefix_delegation_is_capped_by_the_size_of_the_machine(cpu: int, count: int, pods: int) -> None:
    machine = hardware(cpu=cpu, interfaces=Interfaces(count, 10))
    assert ByInterface(prefix_delegation=True).pods(machine)[0] == pods


def test_a_type_whose_interfaces_are_unknown_gets_the_kubernetes_default() -> None:
    assert EKS.pods(hardware())[0] == 110
