"""`dovetail apiserver`: an embedded Kubernetes API server, for trying things out. It keeps nothing when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import shlex
import signal
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovetail.api import documents
from dovetail.cli import extras, files
from dovetail.cli import flags as shared
from dovetail.cli.console import Console
from dovetail.cli.exits import Exit
from dovetail.cli.output import structured
from dovetail.core.errors import BadField, BadInput, BadValue

if TYPE_CHECKING:
    from dovetail.apiserver.server import EmbeddedServer

_DEFINITION: Final = "CustomResourceDefinition"
EXAMPLES: Final = (
    ("dovetail apiserver --fake-kubelet --kubeconfig first.kubeconfig", "a cluster to try things on; Ctrl-C ends it"),
    ("dovetail apiserver --port 8443 -o json", "tell a script where it is"),
)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=0, metavar="PORT", help="where to listen (default: any free port)"
    )
    parser.add_argument(
        "--bind-address", default="127.0.0.1", metavar="HOST", help="where to listen (default 127.0.0.1)"
    )
    parser.add_argument("--no-tls", action="store_true", help="plain HTTP; only on a loopback address")
    parser.add_argument("--kubeconfig", metavar="FILE", help="where to write how to reach it (default: in your data)")
    parser.add_argument("--no-controllers", action="store_true", help="nothing happens by itself: no scheduler either")
    parser.add_argument(
        "--fake-kubelet", action="store_true", help="play kubelet for nodes annotated kwok.x-k8s.io/node=fake"
    )
    parser.add_argument(
        "--crds", metavar="PATH", action="append", default=[], help="further definitions to install (repeatable)"
    )
    parser.add_argument("--no-crds", action="store_true", help="do not install dovetail's own definitions")
    shared.add_output(parser, ("text", "json"))


def run(flags: Namespace, console: Console) -> int:
    extras.need_server()
    if flags.no_tls and not _is_loopback(flags.bind_address):
        raise BadValue(f"{flags.bind_address} is not a loopback address; the token would be readable on the way").at(
            "--no-tls"
        )
    definitions = _definitions(flags, console)
    path = Path(flags.kubeconfig or os.path.join(console.settings.data_dir, "apiserver.kubeconfig"))
    asyncio.run(_serve(flags, console, definitions, path))
    return Exit.OK


def _definitions(flags: Namespace, console: Console) -> list[dict[str, Any]]:
    """What to install: ours, and what the user's files hold."""
    found: list[dict[str, Any]] = []
    if not flags.no_crds:
        from dovetail.api.crds import every

        found += [one.manifest() for one in (*every.DEFINITIONS, *every.CLUSTER_API)]
    for filename, text in files.manifests(flags.crds, console):
        for document in documents.read(text, filename):
            if isinstance(document, BadField):
                console.problems([document])
            elif isinstance(document.value, dict) and document.value.get("kind") == _DEFINITION:
                found.append(document.value)
    return found


async def _serve(flags: Namespace, console: Console, definitions: list[dict[str, Any]], path: Path) -> None:
    with _told_to_end() as ended:
        async with _listening(flags) as server:
            _install(server, definitions)
            # Readable by its owner alone: it holds the token.
            files.write_whole(str(path), [json.dumps(server.kubeconfig(), indent=2)], mode=0o600)
            try:
                _tell(console, flags, server.url, path)
                await ended.wait()
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()


@contextlib.asynccontextmanager
async def _listening(flags: Namespace) -> AsyncIterator[EmbeddedServer]:
    from dovetail.apiserver.server import EmbeddedServer, Options

    options = Options(
        host=flags.bind_address,
        port=flags.port,
        tls=not flags.no_tls,
        controllers=not flags.no_controllers,
        fake_kubelet=flags.fake_kubelet,
    )
    async with contextlib.AsyncExitStack() as opened:
        try:
            server = await opened.enter_async_context(EmbeddedServer(options))
        except OSError as problem:
            why = problem.strerror or str(problem)
            raise BadInput(f"cannot listen on {flags.bind_address}, port {flags.port}: {why}") from None
        yield server


def _install(server: EmbeddedServer, definitions: list[dict[str, Any]]) -> None:
    from dovetail.api.kinds import CRDS
    from dovetail.apiserver.errors import ApiError

    for one in definitions:
        try:
            server.store.create(CRDS, one)
        except ApiError as problem:
            raise BadInput(f"a definition cannot be installed: {problem}") from None


def _tell(console: Console, flags: Namespace, url: str, path: Path) -> None:
    if flags.output == "json":
        structured({"url": url, "kubeconfig": str(path)}, "json", console)
    else:
        console.write(f"serving {url}, until you press Ctrl-C")
        console.write(f"kubeconfig {path}\n\n")
        console.write(f"  export KUBECONFIG={shlex.quote(str(path))}\n  kubectl get nodes")
    console.flush()
    if not _is_loopback(flags.bind_address):
        console.note(f"{flags.bind_address} can be reached from elsewhere; whoever has the token may do everything")


@contextlib.contextmanager
def _told_to_end() -> Iterator[asyncio.Event]:
    """Set when somebody presses Ctrl-C or ends the process politely."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, ended.set)
    try:
        yield ended
    finally:
        for one in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(one)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 65_536):
        raise ArgumentTypeError(f"{text[:40]!r} is not a port; write a number below 65536")
    return int(text)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
