"""Kubelet settings that are formulas, worked out type by type."""

from __future__ import annotations

import pytest

from dovetail.core.catalog.allocatable import NodeRules, ledger
from dovetail.core.catalog.density import ByInterface
from dovetail.core.catalog.formulas import Settled, settled
from dovetail.core.catalog.hardware import Hardware, Interfaces
from dovetail.core.errors import BadField
from dovetail.core.kubelet import KubeletSettings, parse_settings
from dovetail.core.resources import GIB, MIB, PODS

XLARGE = Hardware("m5.xlarge", 4000, 16384 * MIB, interfaces=Interfaces(4, 15))


def read(**block: object) -> KubeletSettings:
    return parse_settings(block, "spec", "kubelet", formulas=True)


def of(machine: Hardware = XLARGE, **block: object) -> Settled:
    return settled(machine, read(**block), ByInterface())


def test_the_number_of_pods_may_be_a_formula() -> None:
    found = of(maxPods="min(250, ((default_enis-1)*(ips_per_eni-1))*16+2)")
    assert (found.kubelet.max_pods, found.limit.pods) == (250, 250)
    assert of(maxPods="max_pods - 8").limit.pods == 50, "58 by its interfaces"
    assert of(maxPods="double(vcpus) * 2.9").limit.pods == 11
    assert of(maxPods="200", podsPerCore=10).limit.pods == 40


def test_what_is_reserved_is_rounded_up_in_its_own_unit() -> None:
    held = of(
        maxPods="max_pods / 2",
        kubeReserved={"cpu": "vcpus * 10 + 1", "memory": "11 * max_pods + 255", "pid": "1000"},
        systemReserved={"ephemeral-storage": "double(memory_mib) / 10000.0", "memory": "100Mi", "pid": "vcpus * 3"},
    ).kubelet
    assert dict(held.kube_reserved) == {"pid": 1000, "cpu": 50, "memory": 576 * MIB}, "11 × 29 + 255 is 574"
    assert dict(held.system_reserved) == {"memory": 100 * MIB, "ephemeral-storage": 2 * GIB, "pid": 12}
    assert held.worked == ()


def test_a_quantity_is_a_quantity_and_no_formula() -> None:
    assert read(maxPods=10, kubeReserved={"cpu": "100m", "memory": "100"}).worked == ()


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"maxPods": "vcpus * 0.5"}, "maxPods cannot be worked out for m5.xlarge: int * double is not defined"),
        ({"maxPods": "vcpus - 5"}, "maxPods of m5.xlarge is -1; it may not be negative"),
        ({"maxPods": "vcpus > 2"}, "maxPods of m5.xlarge is a bool; it must be a number"),
        ({"maxPods": "vcpus * 1000000000"}, "maxPods of m5.xlarge is 4000000000; 2147483647 is the most"),
        ({"kubeReserved": {"memory": "1.0 / 0.0"}}, "kubeReserved.memory of m5.xlarge is inf; it must be finite"),
    ],
)
def test_a_type_for_which_a_formula_fails_takes_no_pods_and_says_why(block: dict[str, object], told: str) -> None:
    found = of(**block)
    assert told in found.problem
    assert (found.limit.pods, found.limit.rule) == (0, found.problem)


def test_a_formula_that_cannot_be_read_names_its_field() -> None:
    with pytest.raises(
        BadField, match=r"^spec\W+kubelet\W+maxPods: 'cores' is neither an amount nor an expression: core"
    ):
        read(maxPods="cores")
    with pytest.raises(BadField, match=r"kubeReserved\W+disk: cannot be reserved"):
        read(kubeReserved={"disk": "vcpus"})
    with pytest.raises(BadField, match="maxPods: '10' is not a count"):
        parse_settings({"maxPods": "10"})


def test_formulas_are_lines_of_the_sum() -> None:
    block = read(maxPods="20", kubeReserved={"memory": "max_pods * 16"})
    found = ledger(XLARGE, block, NodeRules(ByInterface()))
    assert found.capacity.of(PODS) == 20
    assert any(term.rule == "kubeReserved.memory" and term.amount == 320 * MIB for term in found.terms)
