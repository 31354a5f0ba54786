"""A server on a bad day: busy, broken, cut off, forgetful. Time is virtual; the sockets are real."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import pytest
from tests.kube.loopback import (
    Reply,
    Scripted,
    VirtualClock,
    breaks_off,
    hangs_up,
    refuses,
    says,
    says_text,
)

from dovetail.api import kinds
from dovetail.kube.client import Client
from dovetail.kube.credentials import Shown
from dovetail.kube.errors import (
    KubeError,
    TooManyRequests,
    Unauthorized,
    Unavailable,
    Unsent,
)
from dovetail.kube.patches import Apply, JsonPatch, MergePatch
from dovetail.kube.retry import Patience
from dovetail.kube.transport import Options

PATIENCE = Patience(budget=60.0, first=1.0, longest=8.0)
Ask = Callable[[Client], Awaitable[object]]


@dataclass(frozen=True)
class Outcome:
    answer: object
    slept: list[float]
    requests: int


def outcome(ask: Ask, *replies: Reply) -> Outcome:
    """What a call comes to, the dice always showing the most."""

    async def scenario() -> Outcome:
        time = VirtualClock()
        options = Options(patience=PATIENCE, clock=time.clock)
        async with Scripted.saying(*replies) as server, Client(server.config(), options) as client:
            try:
                answer: object = await ask(client)
            except KubeError as problem:
                answer = problem
        return Outcome(answer, time.slept, len(server.seen))

    return asyncio.run(scenario())


def read(client: Client) -> Awaitable[object]:
    return client.get(kinds.NODES, "n1")


def create(client: Client) -> Awaitable[object]:
    return client.create(kinds.NODES, {"metadata": {"name": "n1"}})


def test_waits_double_up_to_the_longest() -> None:
    broken = [refuses(500) for _ in range(6)]
    found = outcome(read, *broken, says({"ok": 1}))
    assert found.answer == {"ok": 1}
    assert found.slept == [1, 2, 4, 8, 8, 8]


def test_waits_are_drawn_from_the_whole_range_below() -> None:
    assert PATIENCE.drawn(3, lambda: 0.25) == 2.0
    assert PATIENCE.drawn(5000, lambda: 0.0) == 0.0


def test_a_call_gives_up_with_the_last_error_when_its_time_is_over() -> None:
    found = outcome(read, *[refuses(503, message=f"try {n}") for n in range(99)])
    assert isinstance(found.answer, Unavailable)
    assert sum(found.slept) <= 60.0
    assert str(found.answer) == f"get nodes n1: try {found.requests - 1}"


def test_a_busy_server_is_left_alone_for_as_long_as_it_says() -> None:
    found = outcome(create, refuses(429, wait=7), says({"ok": 1}))
    assert found.answer == {"ok": 1}
    assert found.slept[0] == 8.0


def test_a_busy_server_that_does_not_say_how_long_is_asked_again_all_the_same() -> None:
    found = outcome(create, says_text("Too many requests, please try again later.", 429), says({"ok": 1}))
    assert found.answer == {"ok": 1}
    assert found.slept == [1.0]


def test_a_wait_beyond_the_budget_is_not_begun() -> None:
    found = outcome(read, refuses(429, wait=100))
    assert isinstance(found.answer, TooManyRequests)
    assert (found.answer.wait, found.slept) == (100.0, [])


def test_a_wait_of_days_is_taken_for_two_minutes() -> None:
    found = outcome(read, refuses(429, wait=999_999))
    assert isinstance(found.answer, TooManyRequests)
    assert found.answer.wait == 120.0


def test_a_wait_in_the_body_counts_where_there_is_no_header() -> None:
    assert outcome(read, refuses(503, retryAfterSeconds=3), says({})).slept == [4.0]


def test_an_eviction_that_a_budget_refuses_is_the_callers_to_repeat() -> None:
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget web needs 3 healthy pods and has 3"}]
    found = outcome(lambda client: client.evict("web", "shop", uid="u"), refuses(429, wait=10, causes=causes))
    assert isinstance(found.answer, TooManyRequests)
    assert found.answer.by_disruption_budget
    assert (found.requests, found.slept) == (1, [])


@pytest.mark.parametrize("broken", [hangs_up(), breaks_off(b'{"half":'), refuses(500), says_text("", 502)])
def test_a_read_that_broke_is_repeated(broken: Reply) -> None:
    found = outcome(read, broken, says({"ok": 1}))
    assert found.answer == {"ok": 1}


@pytest.mark.parametrize("broken", [hangs_up(), breaks_off(b'{"half":'), refuses(500), refuses(504)])
def test_a_write_that_may_have_happened_is_not_repeated(broken: Reply) -> None:
    found = outcome(create, broken)
    assert isinstance(found.answer, Unavailable)
    assert (found.requests, found.slept) == (1, [])


REPEATED: list[tuple[str, Ask, bool]] = [
    ("apply", lambda c: c.patch(kinds.NODES, "n", Apply({"a": 1}, "m")), True),
    ("merge", lambda c: c.patch(kinds.NODES, "n", MergePatch({"a": 1})), True),
    (
        "merge of a version",
        lambda c: c.patch(kinds.NODES, "n", MergePatch({"metadata": {"resourceVersion": "1"}})),
        False,
    ),
    ("json", lambda c: c.patch(kinds.NODES, "n", JsonPatch([])), False),
    ("delete by uid", lambda c: c.delete(kinds.NODES, "n", uid="u"), True),
    ("delete by name", lambda c: c.delete(kinds.NODES, "n"), False),
    ("dry run", lambda c: c.create(kinds.NODES, {"metadata": {"name": "n"}}, dry_run=True), True),
]


@pytest.mark.parametrize(("ask", "again"), [row[1:] for row in REPEATED], ids=[row[0] for row in REPEATED])
def test_only_writes_that_say_the_same_twice_are_repeated(ask: Ask, again: bool) -> None:
    found = outcome(ask, refuses(500), says({}))
    assert found.requests == (2 if again else 1)


def test_a_server_that_is_down_is_named_with_the_reason_and_even_writes_wait_for_it() -> None:
    async def scenario() -> None:
        async with Scripted.saying() as server:
            config = server.config()
        time = VirtualClock()
        async with Client(config, Options(patience=PATIENCE, clock=time.clock)) as client:
            with pytest.raises(Unsent, match=rf"create nodes n1: {server.url} cannot be reached: connection refused"):
                await create(client)
        assert len(time.slept) > 3

    asyncio.run(scenario())


def test_a_server_that_comes_back_is_found_again() -> None:
    async def scenario() -> None:
        async with Scripted.saying() as server:
            config = server.config()
        back = Scripted.saying(says({"ok": 1}), port=server.port)
        time = VirtualClock()

        async def sleep(seconds: float) -> None:
            await time.clock.sleep(seconds)
            if len(time.slept) == 5:
                await back.__aenter__()

        async with Client(config, Options(patience=PATIENCE, clock=replace(time.clock, sleep=sleep))) as client:
            assert await create(client) == {"ok": 1}
        await back.__aexit__(None, None, None)

    asyncio.run(scenario())


def test_credentials_are_renewed_once_and_no_more() -> None:
    class Renewing:
        def __init__(self) -> None:
            self.renewals = 0

        async def current(self) -> Shown:
            return Shown(f"token-{self.renewals}")

        async def renew(self, refused: Shown) -> bool:
            self.renewals += 1
            return True

    async def scenario() -> None:
        stale = refuses(401, "Unauthorized")
        async with Scripted.saying(stale, says({"ok": 1}), stale, stale) as server:
            who = Renewing()
            async with Client(server.config(who)) as client:
                assert await create(client) == {"ok": 1}
                with pytest.raises(Unauthorized):
                    await create(client)
        tokens = [one.headers["Authorization"] for one in server.seen]
        assert tokens == ["Bearer token-0", "Bearer token-1", "Bearer token-1", "Bearer token-2"]

    asyncio.run(scenario())
