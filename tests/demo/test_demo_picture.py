"""The picture of the demo: it is text, it is drawn by the demo, and the one in the docs is as well."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from dovetail.demo import picture, screen
from dovetail.demo.seen import READY, Machine, Seen
from dovetail.views.paint import Paint, Style

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
#: What is on it, in this order: the demo's first three acts, and its table.
STORY = (
    r"\$ kubectl apply -f shop\.yaml",
    r"machines bought for \d+ pods",
    r"43 pods run\.",
    r"us-east-1b runs out of stock",
    r"\$ kubectl scale deployment web --replicas 120",
    r"us-east-1b is sold out",
    r"The cloud will take spot machine general-",
    r"123 pods run, 0 wait",
    r"POOL TYPE ZONE BOUGHT NODES PODS \$/H EACH STATE",
    r"general \S+ us-east-1[a-f] on-demand",
    r"general \S+ us-east-1[a-f] spot \d+ \d+ \$[\d.]+ ready",
)


def lines_of(text: str) -> list[list[picture.Run]]:
    """The picture read back, line by line."""
    root = ElementTree.fromstring(text)
    return [
        [picture.Run(_cell(span), span.text or "", span.get("class", "")) for span in line.iter(f"{SVG}tspan")]
        for line in root.iter(f"{SVG}text")
    ]


def _cell(span: ElementTree.Element) -> int:
    return round((float(span.attrib["x"]) - picture._MARGIN) / picture._CELL_WIDTH)


def tells_the_story(text: str) -> None:
    told = " ".join(re.sub(r" +", " ", run.text) for line in lines_of(text) for run in line)
    at = 0
    for sentence in STORY:
        found = re.compile(sentence).search(told, at)
        assert found, f"{sentence} is missing from\n{told}"
        at = found.end()


def on_terminal(runs: list[picture.Run]) -> str:
    """A line as the terminal had it."""
    line, width = "", 0
    for run in runs:
        line += " " * (run.at - width)
        line += Paint(True)(Style[run.style.upper()] if run.style else None, run.text)
        width = run.at + screen.display_width(run.text)
    return line


def test_the_picture_in_the_docs_tells_the_story_and_is_what_the_code_draws():
    text = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    tells_the_story(text)
    rows = {int(line.attrib["y"]): line for line in ElementTree.fromstring(text).iter(f"{SVG}text")}
    by_row = dict(zip(rows, lines_of(text), strict=True))
    last = max(rows)
    # Lines without a word have no element; their rows tell where they stood.
    lines = [on_terminal(by_row.get(y, [])) for y in range(min(rows), last + 1, picture._LINE_HEIGHT)]
    assert picture.svg(lines) == text, "draw it anew: dovetail demo --svg docs/demo.svg"


def test_the_readme_shows_it():
    assert "](docs/demo.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_text_is_escaped_and_stays_text():
    text = picture.svg(['<b> & "quoted"', Paint(True)(Style.BAD, "a < b")])
    assert [[run.text for run in line] for line in lines_of(text)] == [['<b> & "quoted"'], ["a < b"]]
    assert lines_of(text)[1][0].style == "bad"


def test_a_run_knows_its_cell_and_its_colour():
    line = f"  {Paint(True)(Style.NAME, 'm5.large')}   ready"
    assert list(picture.runs(line)) == [picture.Run(2, "m5.large", "name"), picture.Run(13, "ready")]


def seen(running: int) -> Seen:
    machine = Machine("a", "general", "m5.large", "us-east-1a", "spot", 50_000_000, READY, running)
    return Seen((machine,), running, 0, Counter(web=running))


def test_the_picture_is_of_the_last_moment_at_which_most_pods_ran():
    out = io.StringIO()
    recorder = picture.Recorder(screen.Lines(out))
    recorder.say(1.0, "One.")
    recorder.show(1.0, seen(5))
    recorder.say(2.0, "Two.")
    recorder.show(2.0, seen(5))
    recorder.say(3.0, "$ kubectl scale")
    recorder.show(3.0, seen(5))
    recorder.say(4.0, "Three.")
    recorder.show(4.0, seen(4))
    text = picture.svg(recorder.lines)
    assert "Two." in text
    assert "Three." not in text
    assert "kubectl" not in text
    assert "5 pods run, 0 wait" in text
    assert out.getvalue() == "One.\nTwo.\n$ kubectl scale\nThree.\n"
