"""Processes are known by id and start time; what a killed run left is swept up, and nothing else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from cryptography import x509
from tools.control_plane.certificates import Authority
from tools.control_plane.ports import HIGH, LOW, free_ports
from tools.control_plane.processes import PREFIX, RECORD, Identity, Running, sweep

WAITS = [sys.executable, "-c", "import signal; signal.pause()"]


@contextmanager
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(WAITS)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def identity(pid: int) -> Identity:
    found = Identity.of(pid)
    assert found is not None
    return found


def test_an_identity_of_another_start_time_is_somebody_else() -> None:
    with stranger() as process:
        mine = identity(process.pid)
        other = replace(mine, started="1")
        assert mine.alive()
        assert not other.alive()
        other.signal(signal.SIGKILL)
        assert process.poll() is None
        mine.signal(signal.SIGKILL)
        process.wait()
        assert not mine.alive()


def record(parent: Path, owner: Identity, *processes: Identity) -> Path:
    directory = parent / f"{PREFIX}one"
    directory.mkdir()
    written = {"owner": asdict(owner), "processes": [asdict(one) for one in processes]}
    (directory / RECORD).write_text(json.dumps(written))
    return directory


def test_what_a_dead_owner_left_is_ended_and_removed(tmp_path: Path) -> None:
    with stranger() as process:
        dead = Identity(os.getpid(), "1")
        directory = record(tmp_path, dead, identity(process.pid))
        assert sweep(tmp_path) == [directory]
        assert process.wait() == -signal.SIGKILL
        assert not directory.exists()


def test_what_belongs_to_a_living_owner_is_left_alone(tmp_path: Path) -> None:
    with stranger() as process:
        directory = record(tmp_path, identity(os.getpid()), identity(process.pid))
        assert sweep(tmp_path) == []
        assert process.poll() is None
        assert directory.exists()


def test_a_process_that_took_over_an_old_id_is_left_alone(tmp_path: Path) -> None:
    with stranger() as process:
        old = replace(identity(process.pid), started="1")
        record(tmp_path, Identity(os.getpid(), "1"), old)
        sweep(tmp_path)
        assert process.poll() is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"owner": null, "processes": []}'])
def test_a_record_that_makes_no_sense_is_left_alone(tmp_path: Path, content: str) -> None:
    directory = tmp_path / f"{PREFIX}odd"
    directory.mkdir()
    (directory / RECORD).write_text(content)
    assert sweep(tmp_path) == []
    assert directory.exists()


def test_a_program_that_ignores_the_request_is_made_to_stop(tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    stubborn = f"{deaf}; print('up', flush=True)\nwhile True: signal.pause()"
    running = Running("stubborn", [sys.executable, "-c", stubborn], tmp_path / "log")
    while "up" not in running.last_words():
        assert not running.ended()
    running.stop(patience=0.1)
    assert running.ended()
    assert not running.identity.alive()


def test_free_ports_differ_and_keep_out_of_the_systems_own_range() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(LOW <= port < HIGH for port in ports)


def test_certificates_name_loopback_and_the_user() -> None:
    authority = Authority()
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    server = x509.load_pem_x509_certificate(authority.server().certificate)
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in names] == ["localhost", "127.0.0.1"]
    client = x509.load_pem_x509_certificate(authority.client("system:someone", "some:group").certificate)
    assert client.subject.rfc4514_string() == "CN=system:someone,O=some:group"
    for certificate in (server, client):
        certificate.verify_directly_issued_by(issuer)
