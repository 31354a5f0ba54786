"""A command on its way: replacements first, node by node, and everything put back where it fails."""

from dataclasses import replace

from tests.core.disruption.clusters import NOW, decided, member, pods

from dovetail.core.disruption.commands import Command, Group
from dovetail.core.disruption.orchestration import Next, Running, Seen, next_step, time_limit


def two_for_two() -> Command:
    """Node a waits for the first claim, node b for both."""
    (one,) = decided(member("a", "m8", pods=pods("web", 3))).commands
    candidate, claim = one.candidates[0], one.replacements[0]
    other = replace(candidate, machine=replace(candidate.machine, name="b"))
    group = Group(("a", "b"), (claim, claim), needs=((0,), (0, 1)))
    return replace(one, candidates=(candidate, other), replacements=(claim, claim), group=group)


RUNNING = Running(two_for_two(), NOW, ("x", "y"))


def then(running: Running = RUNNING, after: float = 60.0, **seen: Seen) -> Next:
    return next_step(running, seen, queued=2, now=NOW + after)


def test_nothing_is_drained_while_replacements_are_coming() -> None:
    assert then(x=Seen.COMING, y=Seen.UP) == Next(again=1.0)


def test_a_node_is_drained_as_soon_as_what_it_needs_is_up() -> None:
    found = then(x=Seen.UP, y=Seen.COMING)
    assert found.drain == ("a",)
    assert not found.done


def test_it_is_done_when_the_last_node_goes() -> None:
    assert then(replace(RUNNING, drained=frozenset({"a"})), x=Seen.UP, y=Seen.UP) == Next(("b",), done=True, again=1.0)
    assert then(replace(RUNNING, drained=frozenset({"a", "b"}))).done


def test_a_replacement_that_vanishes_fails_the_command_and_the_others_are_given_back() -> None:
    found = then(x=Seen.COMING, y=Seen.GONE)
    assert found.failed == "replacement y is gone before it came up"
    assert found.giving_back == ("x",)


def test_what_pods_were_moved_to_already_is_not_given_back() -> None:
    found = then(replace(RUNNING, drained=frozenset({"a"})), x=Seen.UP, y=Seen.GONE)
    assert found.failed
    assert found.giving_back == ()


def test_a_command_that_takes_too_long_fails() -> None:
    assert then(after=601, x=Seen.COMING, y=Seen.COMING).failed == "replacements did not come up in time: x, y"
    assert then(after=599, x=Seen.COMING, y=Seen.COMING).failed == ""


def test_success_at_the_last_moment_is_success() -> None:
    assert then(after=9999, x=Seen.UP, y=Seen.UP).drain == ("a", "b")


def test_the_limit_grows_with_what_is_on_its_way_within_bounds() -> None:
    assert [time_limit(count) for count in (1, 10_000, 100_000)] == [600.0, 800.0, 3600.0]


def test_a_command_that_needs_nothing_drains_at_once() -> None:
    (delete,) = decided(member("a")).commands
    assert next_step(Running(delete, NOW), {}, 1, NOW).drain == ("a",)


def test_a_node_of_a_static_pool_waits_for_every_machine_from_the_template() -> None:
    (delete,) = decided(member("a")).commands
    staged = Running(replace(delete, templates=2), NOW, ("x", "y"))
    assert then(staged, x=Seen.UP, y=Seen.COMING).drain == ()
    assert then(staged, x=Seen.UP, y=Seen.UP).drain == ("a",)
