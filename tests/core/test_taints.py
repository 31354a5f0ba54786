"""Taints are tolerated by Kubernetes' rules, the numeric ones included."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.requirements import as_integer
from dovetail.core.taints import (
    PREFER_NO_SCHEDULE_TOLERATED,
    Effect,
    Taint,
    Toleration,
    TolerationOperator,
    untolerated,
)

GPU = Taint("gpu", Effect.NO_SCHEDULE, "a100")
SLA = Taint("sla", Effect.NO_EXECUTE, "950")
Op = TolerationOperator

values = st.sampled_from(["", "a", "1", "2", "950", "-3", "x9"])
taints = st.builds(Taint, st.sampled_from("ab"), st.sampled_from(Effect), values)
tolerations = st.builds(
    Toleration, st.sampled_from(["", "a", "b"]), st.sampled_from(Op), values, st.none() | st.sampled_from(Effect)
)


def by_the_book(toleration: Toleration, taint: Taint) -> bool:
    """Kubernetes' rule, for tolerations its API admits: no key only with Exists."""
    if toleration.effect not in (None, taint.effect) or toleration.key not in ("", taint.key):
        return False
    if toleration.operator is Op.EXISTS:
        return True
    if not toleration.key:
        return False
    if toleration.operator is Op.EQUAL:
        return toleration.value == taint.value
    mine, theirs = as_integer(toleration.value), as_integer(taint.value)
    if mine is None or theirs is None:
        return False
    return theirs > mine if toleration.operator is Op.GT else theirs < mine


@given(tolerations, taints)
def test_a_toleration_matches_by_kubernetes_rule(toleration: Toleration, taint: Taint) -> None:
    assert toleration.tolerates(taint) == by_the_book(toleration, taint)


@given(st.lists(taints), st.lists(tolerations))
def test_a_pod_must_tolerate_every_taint_whatever_its_effect(some: list[Taint], known: list[Toleration]) -> None:
    left = untolerated(some, known)
    assert list(left) == [taint for taint in some if not any(by_the_book(one, taint) for one in known)]


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        (Toleration(operator=Op.EXISTS), GPU, True),
        (Toleration("gpu", Op.EXISTS), GPU, True),
        (Toleration("gpu", Op.EXISTS, effect=Effect.NO_EXECUTE), GPU, False),
        (Toleration("gpu", Op.EQUAL, "a100"), GPU, True),
        (Toleration("gpu", Op.EQUAL, "h100"), GPU, False),
        (Toleration("gpu", Op.EQUAL, "a100", Effect.NO_SCHEDULE), GPU, True),
        (Toleration("other", Op.EXISTS), GPU, False),
        (Toleration(), Taint("gpu", Effect.NO_SCHEDULE), False),
        (Toleration("sla", Op.GT, "900"), SLA, True),
        (Toleration("sla", Op.GT, "950"), SLA, False),
        (Toleration("sla", Op.LT, "1000"), SLA, True),
        (Toleration("sla", Op.LT, "950"), SLA, False),
        (Toleration("sla", Op.GT, "many"), SLA, False),
        (Toleration("gpu", Op.GT, "1"), GPU, False),
        (Toleration("sla", Op.GT, "900", Effect.NO_SCHEDULE), SLA, False),
        (Toleration("sla", Op.LT, "9" * 10_000), SLA, False),
    ],
)
def test_the_tolerations_truth_table(toleration: Toleration, taint: Taint, tolerated: bool) -> None:
    assert toleration.tolerates(taint) is tolerated


def test_a_soft_taint_is_hard_until_it_is_tolerated() -> None:
    soft = Taint("busy", Effect.PREFER_NO_SCHEDULE)
    assert untolerated([soft, GPU], []) == (soft, GPU)
    assert untolerated([soft, GPU], [PREFER_NO_SCHEDULE_TOLERATED]) == (GPU,)


def test_two_taints_are_one_mark_by_key_and_effect() -> None:
    assert GPU.matches(Taint("gpu", Effect.NO_SCHEDULE, "other"))
    assert not GPU.matches(Taint("gpu", Effect.NO_EXECUTE, "a100"))


def test_a_taint_prints_as_kubectl_writes_it() -> None:
    assert str(GPU) == "gpu=a100:NoSchedule"
    assert str(Taint("gpu", Effect.NO_EXECUTE)) == "gpu:NoExecute"
