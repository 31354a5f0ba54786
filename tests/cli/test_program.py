"""One command, from its words to its exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dovetail.cli import program, verbs
from dovetail.cli.exits import Exit

HEAVY = ("msgspec", "yaml", "dovetail.clouds", "dovetail.api", "dovetail.core.catalog", "asyncio")


def test_help_lists_every_verb(dovetail):
    ran = dovetail("--help")
    assert ran.code == Exit.OK
    for verb in verbs.VERBS:
        assert verb.words[0] in ran.out


def test_a_group_without_a_verb_shows_its_verbs(dovetail):
    ran = dovetail("catalog")
    assert ran.code == Exit.BAD_INPUT
    assert "import" in ran.out


@pytest.mark.parametrize("verb", verbs.VERBS, ids=lambda verb: " ".join(verb.words))
def test_every_verb_has_help(dovetail, verb):
    ran = dovetail(*verb.words, "--help")
    assert ran.code == Exit.OK
    assert "--no-color" in ran.out


def test_help_imports_nothing_it_does_not_need():
    code = (
        "import sys; from dovetail.main import main; main(['--help']); main(['catalog', '--help']);"
        f"print([name for name in sys.modules if name.startswith({HEAVY!r})])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_verb_imports_no_other_verb():
    code = (
        "import sys; from dovetail.main import main; main(['version']);"
        "print(sorted(name for name in sys.modules if name.startswith('dovetail.cli.')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "catalog_list" not in ran.stdout
    assert "dovetail.cli.version" in ran.stdout


def test_a_process_that_ends_leaves_its_memory_to_nobody_to_look_through():
    code = "import gc, sys; sys.argv = ['dovetail', 'version']; from dovetail.main import main; "
    for call, frozen in (("main()", True), ("main(['version'])", False)):
        words = [sys.executable, "-c", f"{code}{call}; print(gc.get_freeze_count() > 0, gc.isenabled())"]
        ran = subprocess.run(words, capture_output=True, text=True, check=True)
        assert ran.stdout.splitlines()[-1] == f"{frozen} True"


def test_an_unknown_word_is_bad_input(dovetail):
    assert dovetail("catalogue").code == Exit.BAD_INPUT
    assert dovetail("catalog", "lst").code == Exit.BAD_INPUT
    assert dovetail("catalog", "list", "--cloud", "ibm").code == Exit.BAD_INPUT


def test_the_version_is_told_either_way(dovetail):
    assert dovetail("version").out == dovetail("--version").out
    assert dovetail("version", "--short").out.strip() in dovetail("version").out


def test_shared_flags_may_stand_before_the_verb(dovetail):
    words = ("catalog", "list", "--cloud", "kwok", "--limit", "1", "-o", "name")
    assert dovetail("--no-color", "--feature-gates", "InstanceTypeCaching=false", *words).code == Exit.OK


def test_a_fault_of_ours_shows_no_traceback_unless_asked(dovetail, monkeypatch):
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr(verbs, "module_of", broken)
    quiet, loud = dovetail("version"), dovetail("version", "--debug")
    assert (quiet.code, loud.code) == (Exit.FAILED, Exit.FAILED)
    assert "Traceback" not in quiet.err
    assert "boom" in quiet.err
    assert "Traceback" in loud.err


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), Exit.INTERRUPTED), (BrokenPipeError(), Exit.OK)])
def test_a_user_who_leaves_is_let_go_quietly(dovetail, monkeypatch, raised, code):
    def left(*_: object) -> None:
        raise raised

    monkeypatch.setattr(program, "_run", left)
    ran = dovetail("version")
    assert (ran.code, ran.out, ran.err) == (code, "", "")


def test_a_reader_that_stops_reading_is_no_error():
    command = f"{sys.executable} -m dovetail.main catalog list --cloud kwok -o csv | head -n 1"
    ran = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_what_a_file_says_cannot_write_on_the_terminal(dovetail, world):
    wire = {
        "apiVersion": "karpenter.sh/v1alpha1",
        "kind": "InstanceType",
        "metadata": {"name": "a"},
        "spec": {"\x1b[31mx\n": 1},
    }
    ran = dovetail("catalog", "list", "--cloud", "kwok", "--limit", "1", "-f", world(wire))
    assert ran.code == Exit.BAD_INPUT
    assert "\x1b" not in ran.err
    assert ran.err.count("\n") == 1


def test_nor_what_a_price_says_of_its_source(dovetail, tmp_path):
    (tmp_path / "p.csv").write_text("instanceType,price,source\nc-1x-amd64-linux,1,\x1b[31mred\n")
    ran = dovetail("catalog", "show", "c-1x-amd64-linux", "--cloud", "kwok", "--prices", "p.csv")
    assert ran.code == Exit.OK
    assert "\\x1b[31mred" in ran.out
    assert "\x1b" not in ran.out


@pytest.mark.parametrize(
    ("around", "tail"),
    [("PYTHONIOENCODING=ascii", ""), ("PYTHONIOENCODING=latin-1", ""), ("", ">&-"), ("", "2>&-")],
)
def test_a_terminal_that_knows_few_characters_or_a_closed_stream_is_no_fault(around, tail):
    command = f"{around} {sys.executable} -m dovetail.main explain type c-1x-amd64-linux --cloud kwok {tail}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_completion_for_each_shell(dovetail, shell):
    ran = dovetail("completion", shell)
    assert ran.code == Exit.OK
    assert "reserve-strategy" in ran.out


def test_completion_for_bash_is_a_script_and_completes(dovetail, tmp_path):
    script = tmp_path / "c.bash"
    script.write_text(dovetail("completion", "bash").out)
    ask = "COMP_WORDS=(dovetail catalog list --cloud a); COMP_CWORD=4; _dovetail; echo ${COMPREPLY[@]}"
    ran = subprocess.run(["bash", "-c", f"source {script}; {ask}"], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["aws", "azure"]
