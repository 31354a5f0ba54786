"""Which subnet of a zone a machine goes to."""

from __future__ import annotations

import pytest

from dovetail.clouds.aws.addresses import Addresses
from dovetail.clouds.aws.resolved import Subnet
from dovetail.core.catalog.shortages import BELIEVED_SECONDS

SMALL, LARGE = Subnet("subnet-1", "a", free_addresses=100), Subnet("subnet-2", "a", free_addresses=150)
OTHER = Subnet("subnet-3", "b", free_addresses=5)
EVERY = (SMALL, LARGE, OTHER)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def chosen(addresses: Addresses, *subnets: Subnet) -> dict[str, str]:
    return {zone: one.id for zone, one in addresses.chosen(subnets or EVERY).items()}


def test_the_roomiest_subnet_of_each_zone_is_taken() -> None:
    assert chosen(Addresses(Clock())) == {"a": "subnet-2", "b": "subnet-3"}


def test_equal_subnets_are_taken_by_name() -> None:
    twin = Subnet("subnet-0", "a", free_addresses=150)
    assert chosen(Addresses(Clock()), LARGE, twin) == {"a": "subnet-0"}


def test_machines_on_their_way_count_while_they_are() -> None:
    addresses = Addresses(Clock())
    with addresses.on_the_way(["subnet-2"], 60):
        assert chosen(addresses)["a"] == "subnet-1"
    assert chosen(addresses)["a"] == "subnet-2"


@pytest.mark.parametrize("polled", [60.0, 600.0])
def test_what_was_taken_counts_until_ec2_was_asked_again(polled: float) -> None:
    clock = Clock()
    addresses = Addresses(clock, polled)
    addresses.took("subnet-2", 60)
    clock.now += polled - 1
    assert chosen(addresses)["a"] == "subnet-1"
    clock.now += 1
    assert chosen(addresses)["a"] == "subnet-2"


def test_a_guess_rules_no_subnet_out() -> None:
    addresses = Addresses(Clock())
    with addresses.on_the_way(["subnet-3"], 1000):
        assert chosen(addresses)["b"] == "subnet-3"


def test_what_ec2_says_is_empty_is_left_alone_for_a_while() -> None:
    clock = Clock()
    addresses = Addresses(clock)
    addresses.ran_out("subnet-3")
    assert "b" not in chosen(addresses)
    clock.now += BELIEVED_SECONDS
    assert chosen(addresses)["b"] == "subnet-3"
    assert chosen(addresses, Subnet("subnet-4", "c", free_addresses=0)) == {}
