"""§4: karpenter.sh/do-not-disrupt on a pod, and what is told of it."""

from __future__ import annotations

import pytest

from dovetail.core.effects import Ref
from dovetail.core.lifecycle import protection

POD = Ref("Pod", "web-1", "uid", "default")


@pytest.mark.parametrize(
    ("note", "started", "holds"),
    [
        ("", 100.0, False),
        ("true", 100.0, True),
        ("true", 0.0, True),
        ("10m", 0.0, True),
        ("10m", 500.0, True),
        ("10m", 400.0, False),
        ("False", 100.0, False),
        ("-5m", 100.0, False),
        ("0s", 100.0, False),
        ("soon", 0.0, False),
    ],
)
def test_a_pod_is_protected_for_ever_or_for_a_while_since_it_started(note: str, started: float, holds: bool):
    assert protection.holds(note, started, 1000.0) is holds


@pytest.mark.parametrize(
    ("note", "reason"),
    [
        ("true", None),
        ("", None),
        ("1h", "DoNotDisruptUntil"),
        ("10m", "DoNotDisruptGracePeriodElapsed"),
        ("soon", "InvalidDoNotDisruptAnnotation"),
        ("0s", "InvalidDoNotDisruptAnnotation"),
    ],
)
def test_what_is_told_of_it(note: str, reason: str | None):
    said = protection.told(POD, note, 400.0, 1000.0)
    assert (said.reason if said is not None else None) == reason


def test_it_is_told_in_the_peers_words():
    def text(note: str) -> str:
        said = protection.told(POD, note, 1_800_000_000.0, 1_800_000_060.0)
        return said.message if said is not None else ""

    grace = "The karpenter.sh/do-not-disrupt grace period"
    assert text("10m") == f"{grace} will elapse at 2027-01-15T08:10:00Z"
    assert text("30s") == f"{grace} has elapsed, pod is now disruptable"
    assert text("soon").startswith("Invalid karpenter.sh/do-not-disrupt annotation: ")
    assert text("soon").endswith(", ignoring annotation")


def test_of_a_pod_that_has_not_started_nothing_is_told_yet():
    assert protection.told(POD, "10m", 0.0, 1000.0) is None
