"""`dovetail apiserver`, from its flags to its end."""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import signal
import socket
import ssl
import threading
import time
import urllib.request
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.clusters import definition

from dovetail.cli import apiserver
from dovetail.cli.console import Console, Streams
from dovetail.core.errors import BadInput
from dovetail.settings import Settings


class Ran:
    """One run of the verb; `while_serving` is called with the kubeconfig once it is there."""

    def __init__(self, home: Path, *words: str) -> None:
        parser = argparse.ArgumentParser()
        apiserver.configure(parser)
        self.home = home
        self.out, self.err = io.StringIO(), io.StringIO()
        self._flags = parser.parse_args(words)
        streams = Streams(io.StringIO(), self.out, self.err)
        self._console = Console(streams, Settings(data_dir=str(home)), date(2026, 1, 1))

    def run(self) -> int:
        return apiserver.run(self._flags, self._console)

    def serve(self, while_serving: Any) -> int:
        seen: list[BaseException] = []

        def visit() -> None:
            try:
                path = self.home / "apiserver.kubeconfig"
                for _ in range(600):
                    if path.exists():
                        break
                    time.sleep(0.02)
                while_serving(json.loads(path.read_text()), path)
            except Exception as problem:  # noqa: BLE001  (told by the test, in its own thread)
                seen.append(problem)
            finally:
                os.kill(os.getpid(), signal.SIGTERM)

        visitor = threading.Thread(target=visit)
        visitor.start()
        code = self.run()
        visitor.join()
        assert seen == []
        return code


def _listed(kubeconfig: dict[str, Any], path: str) -> list[str]:
    cluster, token = kubeconfig["clusters"][0]["cluster"], kubeconfig["users"][0]["user"]["token"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    asked = urllib.request.Request(cluster["server"] + path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(asked, context=ssl.create_default_context(cadata=authority), timeout=5) as answer:
        return [one["metadata"]["name"] for one in json.load(answer)["items"]]


def test_it_serves_until_told_to_end_and_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "widgets.json").write_text(json.dumps({**definition(), "kind": "CustomResourceDefinition"}))
    ran = Ran(tmp_path, "--no-controllers", "--crds", str(tmp_path / "widgets.json"))
    found: dict[str, Any] = {}

    def look(kubeconfig: dict[str, Any], path: Path) -> None:
        found["mode"] = path.stat().st_mode & 0o777
        found["kinds"] = _listed(kubeconfig, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")

    assert ran.serve(look) == 0
    assert found["mode"] == 0o600
    assert {"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "widgets.example.com"} <= set(found["kinds"])
    assert not (tmp_path / "apiserver.kubeconfig").exists()
    assert "export KUBECONFIG=" in ran.out.getvalue()


def test_a_token_is_not_sent_in_the_clear_to_other_machines(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a loopback address"):
        Ran(tmp_path, "--no-tls", "--bind-address", "0.0.0.0").run()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"cannot listen on 127.0.0.1, port {port}"):
            Ran(tmp_path, "--no-crds", "--no-controllers", "--port", str(port)).run()


def test_a_definition_that_cannot_be_installed_is_told(tmp_path: Path) -> None:
    broken = {**definition(), "kind": "CustomResourceDefinition", "metadata": {"name": "other"}}
    (tmp_path / "broken.json").write_text(json.dumps(broken))
    ran = Ran(tmp_path, "--no-crds", "--no-controllers", "--no-tls", "--crds", str(tmp_path / "broken.json"))
    with pytest.raises(BadInput, match="cannot be installed"):
        ran.run()
