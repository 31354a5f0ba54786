"""Credentials that a program hands out: client.authentication.k8s.io/v1 and v1beta1.

The program is run when something is needed for the first time, when what it gave is about to expire, and when the
server refused it. However many requests wait, it runs once, and all of them get its answer or its failure. One that
hangs is killed with everything it started, and the sentence says which command it was. What it printed on its error
stream is quoted, its output never is: that is where the token stands.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from dovetail.kube.clock import Clock
from dovetail.kube.credentials import Shown, usable
from dovetail.kube.errors import NoCredentials

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
#: Renewed this long before it expires, for the time a request takes and clocks that disagree …
_SKEW: Final = 60.0
#: … but never sooner than this share of its life before, or a token of one minute would be fetched for every request.
_SKEW_SHARE: Final = 0.1
#: A program that talks to a cloud needs a few seconds; one that waits for a person to log in needs minutes.
_PATIENCE: Final = 30.0
_PATIENCE_WITH_A_PERSON: Final = 300.0
#: More than any credential, and less than what would fill the memory.
_MOST_OUTPUT: Final = 4 * 2**20
_QUOTED: Final = 200


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


_decode: Final = msgspec.json.Decoder(_ExecCredential).decode


@dataclass(frozen=True, slots=True)
class Plugin:
    """How the program is run, as the kubeconfig says."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    install_hint: str = ""
    interactive_mode: str = "IfAvailable"
    #: What the program is told about the cluster; None where the kubeconfig does not ask for it.
    cluster: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class _Held:
    shown: Shown
    until: float | None


class ExecPlugin:
    """Runs the program when needed, and holds what it gave in memory."""

    def __init__(
        self,
        plugin: Plugin,
        *,
        patience: float | None = None,
        clock: Clock | None = None,
        terminal: bool | None = None,
    ) -> None:
        self._plugin = plugin
        self._clock = clock or Clock()
        has_terminal = sys.stdin is not None and sys.stdin.isatty() if terminal is None else terminal
        self._interactive = has_terminal and plugin.interactive_mode != "Never"
        self._patience = patience or (_PATIENCE_WITH_A_PERSON if self._interactive else _PATIENCE)
        self._held: _Held | None = None
        self._running: asyncio.Lock = asyncio.Lock()
        self._runs = 0
        self._failure: NoCredentials | None = None

    async def current(self) -> Shown:
        held = self._held
        if held is not None and (held.until is None or self._clock.wall() < held.until):
            return held.shown
        return await self._fetch()

    async def renew(self, refused: Shown) -> bool:
        if self._held is not None and self._held.shown == refused:
            self._held = None
        return await self.current() != refused

    async def _fetch(self) -> Shown:
        """Run the program, or wait for the run that is under way and take what it brings, be it a failure."""
        seen = self._runs
        async with self._running:
            if self._runs == seen:
                try:
                    self._held, self._failure = self._judge(await self._run()), None
                except NoCredentials as problem:
                    self._held, self._failure = None, problem
                self._runs += 1
        if self._held is not None:
            return self._held.shown
        raise NoCredentials(str(self._failure or self._trouble("gave nothing")))

    async def _run(self) -> bytes:
        plugin = self._plugin
        if plugin.interactive_mode == "Always" and not self._interactive:
            raise self._trouble("needs a terminal to ask a person, and there is none")
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.args,
                env={**plugin.env, "KUBERNETES_EXEC_INFO": self._info()},
                stdin=None if self._interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None if self._interactive else asyncio.subprocess.PIPE,
                # In a session of its own it can be killed with its children; a person at a terminal must reach it.
                start_new_session=not self._interactive,
                limit=_MOST_OUTPUT,
            )
        except (OSError, ValueError) as problem:
            why = getattr(problem, "strerror", None) or problem
            raise self._trouble(f"cannot be run: {why}", hint=True) from None
        output, complaints = await self._listen(process)
        if process.returncode != 0:
            raise self._trouble(f"failed with code {process.returncode}{_last_words(complaints)}", hint=True)
        return output

    async def _listen(self, process: asyncio.subprocess.Process) -> tuple[bytes, bytes | None]:
        finished = False
        try:
            async with asyncio.timeout(self._patience):
                heard = await process.communicate()
            finished = True
        except TimeoutError:
            raise self._trouble(f"gave no answer in {self._patience:g} s and was ended") from None
        finally:
            # One that finished may leave a broker running, as it pleases.
            if not finished:
                self._kill(process)
                await process.wait()
        return heard

    def _kill(self, process: asyncio.subprocess.Process) -> None:
        """End it and what it started: a child that lives on would hold the pipe open."""
        with suppress(ProcessLookupError, PermissionError):
            if self._interactive:
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)

    def _info(self) -> str:
        spec: dict[str, Any] = {"interactive": self._interactive}
        if self._plugin.cluster is not None:
            spec["cluster"] = dict(self._plugin.cluster)
        info = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(info).decode()

    def _judge(self, output: bytes) -> _Held:
        try:
            found = _decode(output)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise self._trouble("wrote something that is no ExecCredential") from None
        if found.kind != "ExecCredential" or found.api_version != self._plugin.api_version:
            wrote = f"{found.api_version[:60]} {found.kind[:60]}".strip() or "an object without a kind"
            raise self._trouble(f"wrote {wrote}; the kubeconfig asks for {self._plugin.api_version} ExecCredential")
        status = found.status or _Status()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._trouble("gave a certificate or a key, but not both")
        if not status.token and not status.client_certificate_data:
            raise self._trouble("gave neither a token nor a certificate")
        if status.token and not usable(status.token):
            raise self._trouble("gave a token with characters that no header can hold")
        shown = Shown(
            status.token or "",
            (status.client_certificate_data or "").encode(),
            (status.client_key_data or "").encode(),
        )
        return _Held(shown, self._good_until(status.expiration_timestamp))

    def _good_until(self, expires: datetime | None) -> float | None:
        if expires is None:
            return None
        end = expires.timestamp()
        left = max(0.0, end - self._clock.wall())
        return end - min(_SKEW, left * _SKEW_SHARE)

    def _trouble(self, what: str, *, hint: bool = False) -> NoCredentials:
        said = f"the credential plugin {self._plugin.command} {what}"
        if hint and self._plugin.install_hint:
            said += f"\n{self._plugin.install_hint.strip()}"
        return NoCredentials(said)


def _last_words(complaints: bytes | None) -> str:
    lines = (complaints or b"").decode("utf-8", "replace").strip().splitlines()
    words = "".join(letter for letter in lines[-1][:_QUOTED] if letter.isprintable()) if lines else ""
    return f": {words}" if words else ""
