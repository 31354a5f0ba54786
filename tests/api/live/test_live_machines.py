from __future__ import annotations

from tests.core.lifecycle.claims import amounts, claim

from dovetail.api.live import machines
from dovetail.core.nodeclaims import LAUNCHED


def test_a_claim_that_is_not_bought_yet_promises_what_it_was_ordered_for():
    ordered = claim(requests=amounts(cpu="3", memory="4Gi", pods="5"))
    assert machines.of_claim(ordered).allocatable == amounts(cpu="3", memory="4Gi", pods="5")


def test_a_claim_that_is_bought_promises_what_was_bought():
    bought = claim(true=(LAUNCHED,), requests=amounts(cpu="3"), allocatable=amounts(cpu="4"), capacity=amounts(cpu="5"))
    assert machines.of_claim(bought).allocatable == amounts(cpu="4")
    assert machines.of_claim(bought).capacity == amounts(cpu="5")
