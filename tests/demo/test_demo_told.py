"""The demo itself, as somebody without a terminal sees it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

from tests.demo.test_demo_picture import tells_the_story

ROOT = Path(__file__).resolve().parents[2]
DEMO = [sys.executable, "-m", "dovetail.main", "demo"]
#: What is told, in this order; between these, more may be.
SENTENCES = (
    r"\$ kubectl apply -f shop\.yaml",
    r"\d+ machines bought for \d+ pods, \$[\d.]+/h together: .*m6i.2xlarge on-demand in us-east-1a.* at .*",
    r"43 pods run\.",
    r"us-east-1b runs out of stock\..*",
    r"\$ kubectl scale deployment web --replicas 120",
    r"us-east-1b is sold out: .* given up, and \d+ pods are planned elsewhere\.",
    r"123 pods run; what us-east-1b could not sell was bought elsewhere\.",
    r"The cloud will take spot machine general-\w+ .* back in 15 s: its \d+ pods leave now\.",
    r"123 pods run again; at least \d+ of 120 web pods ran at any time, .*",
    r"\$ kubectl scale deployment web --replicas 20",
    r"\$ kubectl patch nodepool general --type merge .*",
    r"\d+ nodes? (is|are) empty: given up, which saves \$[\d.]+ an hour\.",
    r"general-\w+.*: .*; saves \$[\d.]+ an hour and evicts \d+ pods?.*",
    r"Why not fewer\? 1 pod: pod default/db-\S+ has do-not-disrupt; .*",
    r"\$ kubectl scale deployment web db --replicas 0",
    r"Done in [\d.]+ s: (\d+) machines bought, \1 returned, 0 left; 0 pods lost; \d+ writes to the API server, .*",
)


def test_the_demo_tells_its_story_draws_it_and_leaves_nothing_behind(tmp_path):
    """It takes real time, some thirty seconds of it: the whole product runs."""
    drawn = tmp_path / "demo.svg"
    command = [*DEMO, "--svg", str(drawn)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=180)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout
    lines = ran.stdout.splitlines()
    told = iter(lines)
    for sentence in SENTENCES:
        assert any(re.fullmatch(sentence, line) for line in told), f"{sentence} is missing from\n{ran.stdout}"
    assert not list(told)
    assert "\x1b" not in ran.stdout
    tells_the_story(drawn.read_text(encoding="utf-8"))


def test_ctrl_c_ends_the_demo_cleanly():
    with subprocess.Popen(DEMO, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        assert demo.stdout.readline().startswith("Up: ")
        demo.send_signal(signal.SIGINT)
        _, complaints = demo.communicate(timeout=60)
    assert (demo.returncode, complaints) == (130, "")
