"""A server that knows one cluster by heart: TLS and HTTP as an API server speaks them, answers prepared beforehand.

`python -m bench.kube_replay PODS ROUNDS KUBECONFIG` lists PODS pods in pages of 500, and sends as the watch every pod
changed ROUNDS times, each event a chunk of its own as the Go server flushes it. It says `ready` once everything is
prepared. Nothing is worked out while a client waits, so what is measured is the client.
"""

import base64
import json
import socket
import ssl
import sys
import threading
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

from bench import kube_world
from dovetail.apiserver import certificates

HOST: Final = "127.0.0.1"
PAGE: Final = 500
_SLICE: Final = 2**20


class Replay:
    def __init__(self, pods: int, rounds: int) -> None:
        lines = [kube_world.pod_line(number, number + 1) for number in range(pods)]
        version = pods + 1
        starts = range(0, pods, PAGE)
        self.pages = [
            kube_world.page(lines[at : at + PAGE], "Pod", version, str(at + PAGE) if at + PAGE < pods else "")
            for at in starts
        ]
        changed = (
            kube_world.event("MODIFIED", kube_world.pod_line(number, version + 1 + turn * pods + number))
            for turn in range(rounds)
            for number in range(pods)
        )
        self.events = b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in changed) + b"0\r\n\r\n"

    def serve(self, stream: ssl.SSLSocket) -> None:
        with stream, stream.makefile("rb") as reader:
            while head := _head(reader):
                self._answer(stream, head)

    def _answer(self, stream: ssl.SSLSocket, target: str) -> None:
        parts = urlsplit(target)
        asked = parse_qs(parts.query)
        if parts.path != "/api/v1/pods":
            _send(stream, b'{"kind":"Status","code":404}', "404 Not Found")
        elif asked.get("watch", [""])[0].lower() in ("true", "1"):
            stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(self.events), _SLICE):
                stream.sendall(memoryview(self.events)[at : at + _SLICE])
        else:
            _send(stream, self.pages[int(asked.get("continue", ["0"])[0]) // PAGE])


def _head(reader: object) -> str:
    """The target of the next request; empty when the client has gone."""
    first = reader.readline()  # type: ignore[attr-defined]
    while first and reader.readline().strip():  # type: ignore[attr-defined]
        pass
    return first.split()[1].decode() if first else ""


def _send(stream: ssl.SSLSocket, body: bytes, status: str = "200 OK") -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    stream.sendall(head.encode() + body)


def main(pods: int, rounds: int, kubeconfig: Path) -> None:
    replay = Replay(pods, rounds)
    authority = certificates.new_authority()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificates.load_server_certificate(context, authority, HOST)
    with socket.create_server((HOST, 0)) as listening:
        kubeconfig.write_text(_kubeconfig(listening.getsockname()[1], authority.pem), encoding="utf-8")
        print("ready", flush=True)
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_served, args=(replay, context, connection), daemon=True).start()


def _served(replay: Replay, context: ssl.SSLContext, connection: socket.socket) -> None:
    try:
        replay.serve(context.wrap_socket(connection, server_side=True))
    except OSError:
        connection.close()  # a client that has seen enough


def _kubeconfig(port: int, authority: bytes) -> str:
    cluster = {
        "server": f"https://{HOST}:{port}",
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }
    held = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "replay", "cluster": cluster}],
        "users": [{"name": "replay", "user": {"token": "none-needed"}}],
        "contexts": [{"name": "replay", "context": {"cluster": "replay", "user": "replay"}}],
        "current-context": "replay",
    }
    return json.dumps(held)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
