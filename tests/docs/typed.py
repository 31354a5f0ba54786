"""What pages tell people to type, and a desk at which it is typed.

A block of ```console holds commands behind `$ ` with what they print below; a block of ```sh is commands and nothing
else. A command may promise its exit code: `dovetail lint -f x  # exits with 1`.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dovetail.cli import verbs

ROOT = Path(__file__).resolve().parents[2]
_FENCED = re.compile(r"^```(?P<kind>[a-z]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:\A|\n\n)(?P<body>(?: {4}.*\n)+)")
_PROMISE = re.compile(r"  # exits with (\d+)$")
#: What a slow machine may take.
_PATIENCE_SECONDS = 120.0
#: Where in a line of shell a program is named.
_PLACE = r"(?:^|[|;&(]|\$\(|\bdo\b|\bthen\b)[ \t]*"
#: What a command may need that not every desk has.
_NEEDS = {
    "aws": rf"{_PLACE}aws ",
    "gcloud": rf"{_PLACE}gcloud ",
    "az": rf"{_PLACE}az ",
    "pip": rf"{_PLACE}pip ",
    "helm": rf"{_PLACE}helm ",
    "kubectl": rf"{_PLACE}kubectl ",
    "make": rf"{_PLACE}make ",
    "suite": r"^\.ci/run|-m pytest|-m tools\.control_plane",
    "test server": r"-m tools\.\w+_server",
    "cluster": rf"{_PLACE}dovetail (?:(?:run|machines|handler|dump|apiserver)\b|install (?!.*--dry-run)|"
    r".*--(?:context|kubeconfig)\b)",
}
#: Programs that have to be typed behind a prompt or in a shell's block, lest nobody runs them.
PROGRAMS = ("dovetail", "kubectl", "make", "aws", "gcloud", "az", "pip", "helm", "python", ".venv/bin/", "export", "$")


@dataclass(frozen=True, slots=True)
class Command:
    page: str
    text: str
    code: int = 0

    @property
    def needs(self) -> set[str]:
        return {name for name, form in _NEEDS.items() if re.search(form, self.text, re.MULTILINE)}

    @property
    def ours(self) -> list[list[str]]:
        """Each `dovetail …` of it, as the words it is called with; variables are whatever they are."""
        form = rf"{_PLACE}dovetail ((?:'[^']*'|\"[^\"]*\"|[^|;&()'\"\n\\]|\\\n)*)"
        found = re.findall(form, self.text, re.MULTILINE)
        plain = (re.sub(r"\$\w+|\$\{[^}]*\}", "1", one.replace("\\\n", " ")) for one in found)
        return [shlex.split(one, comments=True) for one in plain]

    @property
    def lasts(self) -> bool:
        """Whether it runs until somebody ends it."""
        return bool(re.match(r"dovetail (apiserver|run|machines|handler)\b", self.text))


def commands(page: str) -> list[Command]:
    """Every command of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    readers = {"console": _behind_prompts, "sh": _whole, "bash": _whole, "shell": _whole}
    return [
        Command(page, _PROMISE.sub("", one), int(promise[1]) if (promise := _PROMISE.search(one)) else 0)
        for block in _FENCED.finditer(text)
        if block["kind"] in readers
        for one in readers[block["kind"]](block["body"])
    ]


def _behind_prompts(body: str) -> Iterator[str]:
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            text = line[2:]
            while text.endswith("\\"):
                text += f"\n{next(lines).removeprefix('> ')}"
            yield text


def _whole(body: str) -> Iterator[str]:
    """Shell taken apart into commands: each is as many lines as bash needs to make sense of it."""
    text = ""
    for line in body.splitlines():
        text += f"{line}\n"
        if text.strip() and not line.endswith("\\") and _is_complete(text):
            yield text.strip("\n")
            text = ""
    assert not text.strip(), f"this never ends: {text}"


def _is_complete(text: str) -> bool:
    ran = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
    return not ran.returncode and not ran.stderr


def unfenced(page: str) -> list[str]:
    """Commands that stand in a block without a name or are merely indented: nobody would find and run those."""
    text = (ROOT / page).read_text(encoding="utf-8")
    plain = [block["body"] for block in _FENCED.finditer(text) if block["kind"] in ("", "text")]
    indented = [block["body"] for block in _INDENTED.finditer(_FENCED.sub("", text))]
    lines = [line.strip() for body in (*plain, *indented) for line in body.splitlines()]
    return [line for line in lines if line.startswith(tuple(f"{one} ".replace("/ ", "/") for one in PROGRAMS))]


def is_understood(words: list[str]) -> bool:
    """Whether our own parser takes it."""
    try:
        verbs.parser_for(verbs.chosen(words)).parse_args(words)
    except SystemExit as left:
        return left.code in (0, None)
    return True


@dataclass(slots=True)
class Desk:
    """A directory, a shell's variables, and what was left running. What a command exports, the next one sees."""

    directory: Path
    variables: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("scenarios", "deploy", "tools"):
            (self.directory / name).symlink_to(ROOT / name)
        self.variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{self.variables['PATH']}"
        self.variables |= {"METRICS_PORT": "0", "HEALTH_PROBE_PORT": "0", "DOVETAIL_HOME": str(self.directory / "home")}

    def type(self, text: str, patience: float = 0.0, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Type it; again until it ends as promised, if what it asks for may take a moment."""
        kept = self.directory / ".variables"
        script = f"{text}\nleft=$?\nenv -0 > {shlex.quote(str(kept))}\nexit $left"
        deadline = time.monotonic() + patience
        while True:
            ran = subprocess.run(
                ["bash", "-a", "-c", script],
                cwd=self.directory,
                env=self.variables,
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode == code or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        if kept.exists():
            pairs = (one.partition("=") for one in kept.read_text().split("\0") if one)
            self.variables = {name: value for name, _, value in pairs}
        return ran

    def start(self, text: str) -> None:
        """Type it in a terminal of its own, and wait until it says something."""
        said = self.directory / f".terminal-{len(self.running)}"
        with said.open("w") as terminal:
            one = subprocess.Popen(
                ["bash", "-c", f"exec {text}"],
                cwd=self.directory,
                env=self.variables,
                stdout=terminal,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.running.append(one)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not said.stat().st_size:
            assert one.poll() is None, f"{text} ended at once"
            assert time.monotonic() < deadline, f"{text} said nothing"
            time.sleep(0.1)

    def leave(self) -> list[int]:
        """Ctrl-C in every terminal, the last one first; how each of them ended."""
        codes = []
        for one in reversed(self.running):
            one.send_signal(signal.SIGINT)
            codes.append(one.wait(_PATIENCE_SECONDS))
        self.running.clear()
        return codes
