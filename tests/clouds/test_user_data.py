"""Bootstrap data hold secrets: whatever a cloud says of them, they are shown to nobody."""

from __future__ import annotations

import base64

import pytest

from dovetail.clouds.machines import UserData

TEXT = "#cloud-config\nruncmd:\n- kubeadm join --token abcdef.0123456789abcdef\n"
BOOT = UserData(TEXT.encode())


@pytest.mark.parametrize("said", [TEXT, TEXT.replace("\n", " "), base64.b64encode(TEXT.encode()).decode(), repr(TEXT)])
def test_what_a_cloud_repeats_of_them_is_left_out(said: str) -> None:
    told = BOOT.left_out(f"Invalid value for field 'value': '{said}'. It is too long")
    assert "abcdef" not in told
    assert base64.b64encode(b"kubeadm join")[:12].decode() not in told
    assert told.startswith("Invalid value for field 'value': ")
    assert told.endswith("It is too long")


def test_what_has_nothing_of_them_stays_as_it_is() -> None:
    said = "InsufficientInstanceCapacity: there is no m5.large in us-east-1a (request 0123456789abcdef0123456789abcdef)"
    assert BOOT.left_out(said) == said
    assert UserData(b"\xff\xfe").left_out(said) == said


def test_they_do_not_show_themselves() -> None:
    assert "kubeadm" not in repr(BOOT)
