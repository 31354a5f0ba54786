"""What shells are told to complete."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from argparse import ArgumentParser
from pathlib import Path

import pytest

from dovetail import settings
from dovetail.cli import verbs


def completed(script: Path, *lines: str) -> list[list[str]]:
    """What bash offers for the last word of each line."""
    asked = [f"source {shlex.quote(str(script))}"]
    for line in lines:
        words = line.split(" ")
        asked.append(f"COMP_WORDS=({' '.join(word or chr(39) * 2 for word in words)}); COMP_CWORD={len(words) - 1}")
        asked.append("COMPREPLY=(); _dovetail; echo ${COMPREPLY[@]}")
    ran = subprocess.run(["bash", "-c", "\n".join(asked)], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return [line.split() for line in ran.stdout.splitlines()]


@pytest.fixture
def bash_script(dovetail, tmp_path) -> Path:
    script = tmp_path / "completion.bash"
    script.write_text(dovetail("completion", "bash").out)
    return script


def test_bash_completes_verbs_flags_and_choices(bash_script):
    assert completed(
        bash_script,
        "dovetail ca",
        "dovetail catalog ",
        "dovetail catalog re",
        "dovetail catalog list --cloud a",
        "dovetail plan -f x -o ",
        "dovetail plan --outp",
        "dovetail plan -f ",
        "dovetail completion b",
        "dovetail --no-color pl",
        "dovetail --feature-gates X=true catalog li",
    ) == [
        ["catalog"],
        ["list", "show", "diff", "import", "export", "refresh"],
        ["refresh"],
        ["aws", "azure"],
        ["table", "json", "yaml"],
        ["--output"],
        [],
        ["bash"],
        ["plan"],
        ["list"],
    ]


def test_bash_completes_every_flag_of_every_verb(bash_script):
    offered = completed(bash_script, *(" ".join(("dovetail", *verb.words, "--")) for verb in verbs.VERBS))
    for verb, found in zip(verbs.VERBS, offered, strict=True):
        parser = ArgumentParser()
        verbs.module_of(verb).configure(parser)
        settings.add_flags(parser)
        assert set(found) == {flag for flag in parser._option_string_actions if flag.startswith("--")}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_one_its_shell_can_read(dovetail, tmp_path, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here to read it")
    script = tmp_path / f"completion.{shell}"
    script.write_text(dovetail("completion", shell).out)
    subprocess.run([shell, "-n", str(script)], check=True)
