"""Tokens that change in their file, and programs that hand credentials out, late, wrong or never."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.kube.loopback import Scripted, VirtualClock, event, refuses, says, streams

from dovetail.api import kinds
from dovetail.kube import config
from dovetail.kube.client import Client
from dovetail.kube.credentials import Shown, TokenFile
from dovetail.kube.errors import NoCredentials, Unauthorized
from dovetail.kube.exec_plugin import ExecPlugin, Plugin
from dovetail.kube.transport import Options

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

#: Counts its runs in a file, and prints what it is told to with the number of the run in it.
COUNTING = """
import os, pathlib
runs = pathlib.Path({runs!r})
runs.write_text(str(int(runs.read_text() or 0) + 1) if runs.exists() else "1")
print({answer!r}.replace("RUN", runs.read_text()))
"""


def credential(status: dict[str, Any], version: str = V1) -> str:
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})


class Program:
    """A plugin that is a tiny Python program."""

    def __init__(self, directory: Path, source: str = "", *, answer: str = "") -> None:
        self._runs = directory / "runs"
        self.path = directory / "plugin.py"
        self.path.write_text(source or COUNTING.format(runs=str(self._runs), answer=answer), encoding="utf-8")

    def plugin(self, version: str = V1, **more: Any) -> Plugin:
        return Plugin(sys.executable, version, ("-S", "-E", str(self.path)), dict(os.environ), **more)

    @property
    def runs(self) -> int:
        return int(self._runs.read_text()) if self._runs.exists() else 0


def stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_token_file_is_read_again_within_the_minute(tmp_path: Path) -> None:
    async def scenario() -> None:
        time = VirtualClock()
        path = tmp_path / "token"
        path.write_text("one\n", encoding="utf-8")
        file = TokenFile(path, clock=time.clock)
        assert await file.current() == Shown("one")
        path.write_text("two", encoding="utf-8")
        assert await file.current() == Shown("one")
        time.time += 59
        assert await file.current() == Shown("two")

    asyncio.run(scenario())


def test_a_token_file_is_read_at_once_when_the_token_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "token"
        path.write_text("one", encoding="utf-8")
        file = TokenFile(path)
        refused = await file.current()
        assert not await file.renew(refused)
        path.write_text("two", encoding="utf-8")
        assert await file.renew(refused)
        assert await file.current() == Shown("two")

    asyncio.run(scenario())


def test_while_the_token_file_is_being_written_the_last_token_counts(tmp_path: Path) -> None:
    async def scenario() -> None:
        time = VirtualClock()
        path = tmp_path / "token"
        path.write_text("one", encoding="utf-8")
        file = TokenFile(path, clock=time.clock)
        await file.current()
        for content in (b"", b"\xff\xfe", b"two words"):
            path.write_bytes(content)
            time.time += 100
            assert await file.current() == Shown("one")
        path.unlink()
        time.time += 100
        assert await file.current() == Shown("one")

    asyncio.run(scenario())


def test_a_token_file_that_never_was_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoCredentials, match=r"token file .*nowhere cannot be read: No such file"):
        asyncio.run(TokenFile(tmp_path / "nowhere").current())


def test_a_token_that_expires_mid_watch_is_replaced_for_the_next_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "token"
        path.write_text("old", encoding="utf-8")
        watches = [streams([event("ADDED", "a", 1)]), refuses(401, "Unauthorized"), streams([event("ADDED", "b", 2)])]
        async with Scripted.saying(*watches) as server, Client(server.config(TokenFile(path))) as client:
            first = [line async for batch in client.watch_batches(kinds.PODS, resource_version="0") for line in batch]
            path.write_text("new", encoding="utf-8")
            second = [line async for batch in client.watch_batches(kinds.PODS, resource_version="1") for line in batch]
        assert (len(first), len(second)) == (1, 1)
        assert [one.headers["Authorization"] for one in server.seen] == ["Bearer old", "Bearer old", "Bearer new"]

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [V1, V1BETA1])
def test_a_plugin_runs_once_however_many_ask(tmp_path: Path, version: str) -> None:
    async def scenario() -> None:
        program = Program(tmp_path, answer=credential({"token": "t-RUN"}, version))
        plugin = ExecPlugin(program.plugin(version))
        found = await asyncio.gather(*(plugin.current() for _ in range(5)))
        assert set(found) == {Shown("t-1")}
        assert await plugin.current() == Shown("t-1")
        assert program.runs == 1

    asyncio.run(scenario())


def test_a_plugin_runs_again_shortly_before_its_token_expires(tmp_path: Path) -> None:
    async def scenario() -> None:
        time = VirtualClock()
        expires = time.clock.wall() + 3600
        program = Program(tmp_path, answer=credential({"token": "t-RUN", "expirationTimestamp": stamp(expires)}))
        plugin = ExecPlugin(program.plugin(), clock=time.clock)
        await plugin.current()
        time.time += 3500
        assert await plugin.current() == Shown("t-1")
        time.time += 50
        assert await plugin.current() == Shown("t-2")

    asyncio.run(scenario())


def test_a_token_of_half_a_minute_is_not_fetched_for_every_request(tmp_path: Path) -> None:
    async def scenario() -> None:
        time = VirtualClock()
        status = {"token": "t-RUN", "expirationTimestamp": stamp(time.clock.wall() + 30)}
        program = Program(tmp_path, answer=credential(status))
        plugin = ExecPlugin(program.plugin(), clock=time.clock)
        await plugin.current()
        time.time += 20
        assert await plugin.current() == Shown("t-1")

    asyncio.run(scenario())


def test_a_refusal_of_what_was_already_replaced_runs_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        program = Program(tmp_path, answer=credential({"token": "t-RUN"}))
        plugin = ExecPlugin(program.plugin())
        await plugin.current()
        assert await plugin.renew(Shown("t-0"))
        assert program.runs == 1

    asyncio.run(scenario())


def test_a_plugin_runs_again_when_the_server_refuses_what_it_gave(tmp_path: Path) -> None:
    async def scenario() -> None:
        program = Program(tmp_path, answer=credential({"token": "t-RUN"}))
        stale = refuses(401, "Unauthorized")
        scripted = Scripted.saying(stale, says({"ok": 1}))
        async with scripted as server, Client(server.config(ExecPlugin(program.plugin()))) as client:
            assert await client.get(kinds.NODES, "n1") == {"ok": 1}
        assert [one.headers["Authorization"] for one in server.seen] == ["Bearer t-1", "Bearer t-2"]

    asyncio.run(scenario())


def test_a_plugin_that_brings_the_same_token_again_is_not_asked_for_ever(tmp_path: Path) -> None:
    async def scenario() -> None:
        program = Program(tmp_path, answer=credential({"token": "same"}))
        scripted = Scripted.saying(refuses(401, "Unauthorized"))
        async with scripted as server, Client(server.config(ExecPlugin(program.plugin()))) as client:
            with pytest.raises(Unauthorized):
                await client.get(kinds.NODES, "n1")
        assert (program.runs, len(server.seen)) == (2, 1)

    asyncio.run(scenario())


def test_a_plugin_that_hangs_is_ended_with_what_it_started_and_named(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    listening = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    source = f"import os, time\nos.fork()\nalive = open({str(alive)!r}, 'w')\ntime.sleep(600)\n"

    def gone() -> bool:
        """Whether nobody holds the pipe any more: while somebody does, reading from it would block."""
        try:
            return os.read(listening, 1) == b""
        except BlockingIOError:
            return False

    async def scenario() -> None:
        plugin = ExecPlugin(Program(tmp_path, source).plugin(), patience=0.2)
        with pytest.raises(NoCredentials, match=rf"credential plugin {sys.executable} gave no answer in 0\.2 s"):
            await plugin.current()
        async with asyncio.timeout(5):
            while not gone():
                await asyncio.sleep(0.01)

    asyncio.run(scenario())
    os.close(listening)


def test_all_who_wait_for_a_plugin_get_its_failure_and_the_next_tries_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        program = Program(tmp_path, answer="{}")
        plugin = ExecPlugin(program.plugin())
        found = await asyncio.gather(*(plugin.current() for _ in range(4)), return_exceptions=True)
        assert all(isinstance(one, NoCredentials) for one in found)
        assert program.runs == 1
        program.path.write_text(f"print({credential({'token': 'late'})!r})", encoding="utf-8")
        assert await plugin.current() == Shown("late")

    asyncio.run(scenario())


def told(directory: Path, source: str, **more: Any) -> str:
    with pytest.raises(NoCredentials) as caught:
        asyncio.run(ExecPlugin(Program(directory, source).plugin(**more), terminal=False).current())
    assert sys.executable in str(caught.value)
    return str(caught.value)


def test_a_plugin_that_fails_is_quoted_and_its_output_is_not(tmp_path: Path) -> None:
    source = "import sys; print('s3cret'); sys.stderr.write('warming up\\nplease log in\\n'); sys.exit(3)"
    said = told(tmp_path, source, install_hint="Install it with brew.")
    assert said.endswith("failed with code 3: please log in\nInstall it with brew.")
    assert "s3cret" not in said


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("nonsense", "wrote something that is no ExecCredential"),
        (
            credential({"token": "t"}, V1BETA1),
            f"wrote {V1BETA1} ExecCredential; the kubeconfig asks for {V1} ExecCredential",
        ),
        (credential({}), "gave neither a token nor a certificate"),
        (credential({"clientKeyData": "k"}), "gave a certificate or a key, but not both"),
        (credential({"token": "a b"}), "gave a token with characters that no header can hold"),
    ],
)
def test_a_plugin_that_answers_wrongly_is_told_what_is_wrong(tmp_path: Path, answer: str, problem: str) -> None:
    assert told(tmp_path, f"print({answer!r})").endswith(problem)


def test_a_plugin_that_is_not_installed_is_named_with_the_hint() -> None:
    plugin = Plugin("no-such-plugin", V1, install_hint="Get it from the shelf.")
    with pytest.raises(NoCredentials, match=r"no-such-plugin cannot be run: No such file.*\nGet it from the shelf\."):
        asyncio.run(ExecPlugin(plugin).current())


def test_a_plugin_that_needs_a_person_says_so_where_there_is_none(tmp_path: Path) -> None:
    assert told(tmp_path, "", interactive_mode="Always").endswith("needs a terminal to ask a person, and there is none")


def test_a_plugin_is_told_about_the_cluster_where_it_wants_to_know(tmp_path: Path) -> None:
    async def scenario() -> Any:
        source = (
            "import json, os\n"
            "token = os.environ['KUBERNETES_EXEC_INFO'].encode().hex() + '-' + os.environ['PROFILE']\n"
            f"print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential', 'status': {{'token': token}}}}))\n"
        )
        exec_ = {
            "apiVersion": V1,
            "command": sys.executable,
            "args": [str(Program(tmp_path, source).path)],
            "env": [{"name": "PROFILE", "value": "blue"}],
            "provideClusterInfo": True,
            "interactiveMode": "Never",
        }
        extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
        cluster = {"server": "https://one", "tls-server-name": "k", "extensions": [extension]}
        document = {
            "current-context": "one",
            "clusters": [{"name": "one", "cluster": cluster}],
            "users": [{"name": "one", "user": {"exec": exec_}}],
            "contexts": [{"name": "one", "context": {"cluster": "one", "user": "one"}}],
        }
        found = await config.from_document(document, None, os.environ).credentials.current()
        info, profile = found.token.split("-")
        assert profile == "blue"
        return json.loads(bytes.fromhex(info))

    info = asyncio.run(scenario())
    assert info["kind"] == "ExecCredential"
    assert info["spec"] == {
        "interactive": False,
        "cluster": {"server": "https://one", "tls-server-name": "k", "config": {"audience": "a"}},
    }


def test_a_failing_plugin_is_not_hammered_by_one_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        program = Program(tmp_path, answer="{}")
        time = VirtualClock()
        scripted = Scripted.saying()
        async with (
            scripted as server,
            Client(server.config(ExecPlugin(program.plugin())), Options(clock=time.clock)) as client,
        ):
            with pytest.raises(NoCredentials):
                await client.get(kinds.NODES, "n1")
        assert (program.runs, server.seen) == (1, [])

    asyncio.run(scenario())
