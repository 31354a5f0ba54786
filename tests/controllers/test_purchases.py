"""What was bought and is not written down is known all the same."""

from __future__ import annotations

from dataclasses import replace

from tests.core.lifecycle.claims import START, amounts, claim

from dovetail.controllers.purchases import Purchases
from dovetail.core.instances import Instance
from dovetail.core.nodeclaims import LAUNCHED

MACHINE = Instance("kwok://node-1", capacity=amounts(cpu="4"))


def test_a_claim_has_its_machine_before_it_says_so():
    held, mine = Purchases(), claim()
    assert held.known(mine) is mine
    held.add(mine, MACHINE, START)
    known = held.known(mine)
    assert (known.provider_id, known.capacity) == ("kwok://node-1", amounts(cpu="4"))
    assert held.owner("kwok://node-1") == mine.name


def test_what_a_claim_says_itself_is_believed():
    held, mine = Purchases(), claim()
    held.add(mine, MACHINE, START)
    said = claim(true=(LAUNCHED,), provider_id="kwok://another")
    assert held.known(said) is said


def test_another_claim_of_the_same_name_has_bought_nothing():
    held, mine = Purchases(), claim()
    held.add(mine, MACHINE, START)
    other = replace(mine, meta=replace(mine.meta, uid="another"))
    assert held.of(other) is None


def test_what_is_forgotten_leaves_nothing_behind():
    held, mine = Purchases(), claim()
    held.add(mine, MACHINE, START)
    held.add(mine, replace(MACHINE, provider_id="kwok://node-2"), START)
    assert held.owner("kwok://node-1") is None
    held.forget(mine.name)
    held.forget(mine.name)
    assert (len(held), held.owner("kwok://node-2")) == (0, None)


def test_the_same_claim_is_known_as_the_same_object_until_it_or_its_machine_is_another():
    held, mine = Purchases(), claim()
    held.add(mine, MACHINE, START)
    known = held.known(mine)
    assert held.known(mine) is known
    written = replace(mine, meta=replace(mine.meta, version="2"))
    assert held.known(written).meta.version == "2"
    held.add(mine, replace(MACHINE, provider_id="kwok://node-2"), START)
    assert held.known(mine).provider_id == "kwok://node-2"
    held.forget(mine.name)
    assert held.known(mine) is mine
