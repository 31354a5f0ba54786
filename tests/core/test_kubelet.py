"""The kubelet's settings, as users write them (S2.7)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import HOSTILE

from dovetail.core.errors import BadField, BadInput
from dovetail.core.kubelet import (
    MEMORY_AVAILABLE,
    NODEFS_AVAILABLE,
    KubeletSettings,
    ReserveStrategy,
    Threshold,
    parse_settings,
    parse_threshold,
)
from dovetail.core.resources import MIB, Resources


def test_every_setting_of_a_kubelet_is_read_S2_7() -> None:
    read = parse_settings(
        {
            "maxPods": 42,
            "podsPerCore": 3,
            "kubeReserved": {"cpu": "100m", "memory": "256Mi", "ephemeral-storage": "1Gi", "pid": "100"},
            "systemReserved": {"memory": "128Mi"},
            "evictionHard": {"nodefs.available": "15%", "memory.available": "5%"},
            "evictionSoft": {"memory.available": "500Mi"},
            "kubeReservedStrategy": "gke",
        }
    )
    assert read == KubeletSettings(
        max_pods=42,
        pods_per_core=3,
        kube_reserved=Resources({"cpu": 100, "memory": 256 * MIB, "ephemeral-storage": 2**30, "pid": 100}),
        system_reserved=Resources({"memory": 128 * MIB}),
        eviction_hard=(
            (MEMORY_AVAILABLE, Threshold(percent=Fraction(5))),
            (NODEFS_AVAILABLE, Threshold(percent=Fraction(15))),
        ),
        eviction_soft=((MEMORY_AVAILABLE, Threshold(500 * MIB)),),
        reserve=ReserveStrategy.GKE,
    )


def test_the_document_s_older_spelling_means_the_same_S2_7() -> None:
    old = {"evictionThreshold": {"hard": {"memoryAvailable": "5%"}, "soft": {"nodefsAvailable": "1Gi"}}}
    new = {"evictionHard": {"memory.available": "5%"}, "evictionSoft": {"nodefs.available": "1Gi"}}
    assert parse_settings(old) == parse_settings(new)


def test_what_is_left_out_is_left_to_the_cloud() -> None:
    assert parse_settings(None) == parse_settings({}) == KubeletSettings()
    assert parse_settings({"maxPods": None, "evictionThreshold": None}) == KubeletSettings()


def test_no_pods_is_a_limit_but_no_pods_per_core_is_none() -> None:
    """As in the kubelet, where 0 switches podsPerCore off."""
    assert parse_settings({"maxPods": 0}).max_pods == 0
    assert parse_settings({"podsPerCore": 0}).pods_per_core is None


def test_a_strategy_can_be_chosen_and_given_up_S2_11() -> None:
    chosen = KubeletSettings(max_pods=5).with_reserve(ReserveStrategy.AKS)
    assert chosen == KubeletSettings(max_pods=5, reserve=ReserveStrategy.AKS)
    assert chosen.with_reserve(None) == KubeletSettings(max_pods=5)


@pytest.mark.parametrize("strategy", ["eks", "gke", "aks", "aks-1.29", "none"])
def test_every_strategy_has_a_name_to_choose_it_by_S2_11(strategy: str) -> None:
    assert parse_settings({"kubeReservedStrategy": strategy}).reserve == strategy


@pytest.mark.parametrize(
    ("written", "capacity", "held"),
    [
        ("100Mi", 10**12, 100 * MIB),
        ("10%", 1000, 100),
        ("10%", 1001, 101),
        ("0%", 1000, 0),
        ("100%", 1000, 0),
        ("99.9%", 1000, 999),
        ("12.5%", 16, 2),
        ("0", 1000, 0),
        (5, 1000, 5),
    ],
)
def test_a_threshold_is_an_amount_or_a_share_rounded_up_and_all_of_it_means_off(
    written: object, capacity: int, held: int
) -> None:
    assert parse_threshold(written).of(capacity) == held


@given(st.decimals(0, 100, places=3, allow_nan=False), st.integers(0, 2**50))
def test_a_share_is_never_rounded_in_the_pods_favour(percent: object, capacity: int) -> None:
    held = parse_threshold(f"{percent}%").of(capacity)
    exact = capacity * Fraction(str(percent)) / 100
    assert held == 0 if Fraction(str(percent)) == 100 else exact <= held < exact + 1


@pytest.mark.parametrize(
    ("written", "printed"), [("10%", "10%"), ("12.5%", "12.5%"), ("100Mi", "100Mi"), ("1024Mi", "1Gi")]
)
def test_a_threshold_prints_as_it_is_written(written: str, printed: str) -> None:
    assert str(parse_threshold(written)) == printed


@pytest.mark.parametrize(
    "text", ["101%", "-1%", "%", "1e1%", "1_0%", " 5%", "5 %", "+5%", "１0%", "nan%", "5%%", "-100Mi"]
)
def test_a_threshold_out_of_range_or_shape_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_threshold(text)


@pytest.mark.parametrize("name", [*HOSTILE])
def test_a_hostile_threshold_is_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_threshold(HOSTILE[name])
    assert len(str(caught.value)) < 250


FIELDS = (
    *("maxPods", "podsPerCore", "kubeReserved", "systemReserved"),
    *("evictionHard", "evictionSoft", "evictionThreshold", "kubeReservedStrategy"),
)


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("name", [*HOSTILE])
def test_a_hostile_setting_is_refused_with_its_place(field: str, name: str) -> None:
    value = HOSTILE[name]
    if field == "evictionThreshold" and isinstance(value, dict):
        return  # a map of other signals than hard and soft says nothing
    with pytest.raises(BadField) as caught:
        parse_settings({field: value}, "spec", "kubelet")
    assert str(caught.value).startswith(f"spec: kubelet: {field}")
    assert len(str(caught.value)) < 350


@pytest.mark.parametrize("name", [name for name, value in HOSTILE.items() if not isinstance(value, dict)])
def test_hostile_settings_are_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_settings(HOSTILE[name], "kubelet")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    "key", [None, 10**5000, ("a",), "", "memory.free", "x" * 10**6], ids=lambda key: type(key).__name__
)
def test_an_unknown_signal_is_refused_in_a_short_sentence(key: object) -> None:
    with pytest.raises(BadField, match="is not an eviction signal") as caught:
        parse_settings({"evictionHard": {key: "5%"}}, "kubelet")
    assert len(str(caught.value)) < 300


def test_a_bad_threshold_is_named_by_its_signal() -> None:
    with pytest.raises(BadField, match=r"kubelet: evictionSoft: memory\.available: 'x' is not a quantity"):
        parse_settings({"evictionSoft": {"memory.available": "x"}}, "kubelet")


@pytest.mark.parametrize("name", ["pods", "nvidia.com/gpu", "hugepages-2Mi"])
def test_only_what_the_kubelet_can_reserve_is_reserved(name: str) -> None:
    with pytest.raises(BadField, match="cannot be reserved"):
        parse_settings({"kubeReserved": {name: "1"}})


def test_a_negative_reserve_is_refused() -> None:
    with pytest.raises(BadField, match="systemReserved: cpu: '-1' is negative"):
        parse_settings({"systemReserved": {"cpu": "-1"}})
