"""Quotas: the pods of a spread shared out over its domains, the emptiest first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.scheduling.quotas import shared_out

counts = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12))


def one_by_one(there: dict[str, int], domains: str, pods: int) -> dict[str, int]:
    quotas = dict.fromkeys(domains, 0)
    for _ in range(pods):
        emptiest = min(domains, key=lambda one: (there.get(one, 0) + quotas[one], one))
        quotas[emptiest] += 1
    return quotas


@given(counts, st.sampled_from(["a", "ab", "bcd", "abcdef"]), st.integers(0, 60))
def test_sharing_out_at_once_is_the_same_as_one_by_one(there: dict[str, int], domains: str, pods: int) -> None:
    assert shared_out(there, domains, pods) == one_by_one(there, domains, pods)


def test_those_that_are_behind_are_filled_up_before_the_others_get_any() -> None:
    assert shared_out({"a": 1, "b": 2, "c": 4}, "abc", 13) == {"a": 6, "b": 5, "c": 2}
