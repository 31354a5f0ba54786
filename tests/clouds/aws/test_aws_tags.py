"""Tags: for whom a machine was bought."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.clouds.aws import tags

names = st.lists(
    st.from_regex(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?", fullmatch=True), min_size=1, max_size=40, unique=True
)


@given(names)
def test_the_claims_a_fleet_was_bought_for_can_be_read_from_its_tags(found: list[str]) -> None:
    told = tags.of_claims(found)
    assert sorted(tags.claims_in(told)) == sorted(found)
    assert all(len(value) <= tags.LONGEST_VALUE for value in told.values())


def test_one_claim_stands_under_the_key_everybody_knows() -> None:
    assert tags.of_claims(["general-a1b2c"]) == {"karpenter.sh/nodeclaim": "general-a1b2c"}


def test_a_machines_own_tag_says_it_alone() -> None:
    told = {**tags.of_claims(["pool-a", "pool-b"]), tags.NODE_CLAIM: "pool-b"}
    assert tags.claims_in(told) == ("pool-b",)


def test_five_hundred_claims_of_a_pool_fit_beside_a_dozen_tags() -> None:
    claims = [f"general-purpose-{number:05x}" for number in range(0x12345, 0x12345 + 500)]
    assert len(tags.of_claims(claims)) <= tags.room_for_claims({f"team-{n}": "x" for n in range(12)})
