"""What holds for every verb there is; docs/reference/conventions.md says it in words."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from argparse import Action, ArgumentParser
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from tests.listings import load_once

from dovetail.cli import program, verbs
from dovetail.cli.console import Console, Streams
from dovetail.cli.exits import Exit
from dovetail.views.lines import shown_width

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/conventions.md").read_text(encoding="utf-8")
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WIDTHS = (40, 60, 80, 200)
NOON = "--now 2026-11-16T12:00:00Z"

#: For each verb whose answer is data, a command that gives one without a cluster or a cloud.
SAMPLES = {
    "plan": "plan -f scenarios/plan",
    "consolidate": f"consolidate --plan -f scenarios/worlds/half-empty.yaml {NOON} --payback 0s,30m",
    "lint": "lint -f scenarios/plan",
    "catalog list": "catalog list --cloud kwok --limit 5",
    "catalog show": "catalog show m6i.4xlarge",
    "catalog diff": "catalog diff gcp:us-central1 gcp:europe-west1",
    "catalog import": "catalog import --dry-run scenarios/catalog/prices.csv",
    "catalog export": "catalog export --cloud kwok",
    "explain type": "explain type m6i.4xlarge",
    "explain pod": "explain pod db-0 -f scenarios/plan",
    "explain node": f"explain node general-db -f scenarios/worlds/half-empty.yaml {NOON}",
    "windows preview": f"windows preview -f scenarios/worlds/windows.yaml --next 3d {NOON}",
    "install": "install --dry-run",
    "aws policy": "aws policy --cluster prod",
    "version": "version",
}
#: More ways in which those answer people.
TABLES = [
    *(words for verb, words in SAMPLES.items() if verb not in ("catalog export", "install", "aws policy")),
    "aws policy --cluster prod -o table",
    "explain pod trainer -f scenarios/plan",
    "plan -f scenarios/plan/shop.yaml --diff scenarios/plan/shop.yaml --with deployment/web.replicas=90",
    "plan --cluster-api -f scenarios/cluster_api/three-clouds.yaml",
]
#: Those whose data need a server, and the test in which they have one.
WITH_SERVER = {
    "dump": "tests/cli/test_live_world.py",
    "catalog refresh": "tests/clouds/aws/test_aws_refresh.py",
    "apiserver": "tests/apiserver/test_apiserver_cli.py",
}
#: Those whose answer is no data.
WORDS_ALONE = {"demo": "a story", "run": "logs", "machines": "logs", "handler": "logs", "completion": "a script"}

#: A flag that several verbs have says the same in all of them, or what each says fits this.
FAMILIES = {
    "--file": "a file, a directory or -|files, directories or -",
    "--cloud": "whose catalogue|whose machines|whom to ask|^aws, gcp or azure",
    "--region": "region",
    "--context": "a live cluster|which context of it",
    "--kubeconfig": "what kubectl would use|how to reach it",
    "--dry-run": "change nothing",
    "--output": "^format",
    "--to": "^where to write it",
    "--core": "Cluster API's (own )?controllers",
    "--preference-policy": "Respect",
    "--min-values-policy": "Strict",
    "--scheduler-config": "default (topology )?spread constraints",
    "--disruption-budget": "^what all pools together may lose at once",
    "--prefix-delegation": "blocks",
    "--isolated-vpc": "Pricing service",
    "--vm-memory-overhead-percent": "hypervisor keeps",
    "--bind-address": "where to listen|for metrics and probes|where probes and metrics are served",
    "--metrics-port": "/metrics",
    "--cloud-endpoint": "^ask here instead of the cloud",
    "--leader-election-name": "^which lease",
}
#: What may stand for a flag's value besides the one name it has everywhere else.
VALUES = {
    "--cloud": {"choice", "CLOUD"},
    "--core": {"choice", "WHO"},
    "--preference-policy": {"choice", "VALUE"},
    "--min-values-policy": {"choice", "VALUE"},
    "--scheduler-config": {"FILE", "VALUE"},
}


def named(verb: verbs.Verb) -> str:
    return " ".join(verb.words)


def actions_of(verb: verbs.Verb) -> list[Action]:
    parser = ArgumentParser(add_help=False)
    verbs.module_of(verb).configure(parser)
    return parser._actions


every_verb = pytest.mark.parametrize("verb", verbs.VERBS, ids=named)
every_sample = pytest.mark.parametrize("words", SAMPLES.values(), ids=SAMPLES)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Shown(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def on_terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Shown]:
    """A command whose answer a person looks at, in the project's own directory."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("dovetail.clouds.load.load", load_once)

    def run(words: str, **environment: str) -> Shown:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        out, err = Terminal(), Terminal()
        code = program.run(shlex.split(words), Streams(io.StringIO(), out, err), date(2026, 11, 16))
        return Shown(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def piped(dovetail: Callable, monkeypatch: pytest.MonkeyPatch) -> Callable:
    monkeypatch.chdir(ROOT)
    return lambda words: dovetail(*shlex.split(words))


def test_every_verb_is_looked_at():
    assert {named(verb) for verb in verbs.VERBS} == {*SAMPLES, *WITH_SERVER, *WORDS_ALONE}
    for verb, file in WITH_SERVER.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "json.loads" in text, f"{file} does not read the JSON of {verb}"


# ---- help


def examples(text: str) -> list[str]:
    """The commands below `examples:`, each on a line of its own."""
    _, _, below = text.partition("\nexamples:\n")
    return re.findall(r"^  (\S.*)$", below.partition("\n\n")[0], re.MULTILINE)


def parses(command: str) -> bool:
    inner = re.search(r"\$\((dovetail [^)]*)\)", command)
    words = shlex.split(inner[1] if inner else command)
    try:
        verbs.parser_for(verbs.chosen(words[1:])).parse_args(words[1:])
    except SystemExit as left:  # --help leaves this way
        return left.code in (0, None)
    return words[0] == "dovetail"


@pytest.mark.parametrize("width", ["40", "120"])
@pytest.mark.parametrize(
    "words", [(), *((group,) for group in verbs.GROUPS), *(verb.words for verb in verbs.VERBS)], ids=" ".join
)
def test_help_ends_with_examples_that_can_be_typed(dovetail, monkeypatch, words, width):
    monkeypatch.setenv("COLUMNS", width)
    found = examples(dovetail(*words, "--help").out)
    assert any(one.startswith(" ".join(("dovetail", *words))) for one in found)
    assert [one for one in found if not parses(one)] == []


def test_an_example_that_is_wrong_would_be_found(capsys):
    assert not parses("dovetail plan --fiel x")
    assert not parses('aws iam create-policy --policy-document "$(dovetail aws policy --clutser prod)"')


# ---- flags


def value_of(action: Action) -> str:
    """What stands for its value: nothing for a switch, `choice` where words are listed."""
    if action.nargs == 0 or action.metavar == "BOOL":
        return ""
    return "choice" if action.choices is not None else str(action.metavar)


def uses() -> dict[str, list[tuple[str, Action]]]:
    """By long flag, the verbs that have it."""
    found = defaultdict(list)
    for verb in verbs.VERBS:
        for action in actions_of(verb):
            for flag in action.option_strings:
                if flag.startswith("--"):
                    found[flag].append((named(verb), action))
    return {flag: held for flag, held in found.items() if len(held) > 1}


@pytest.mark.parametrize(("flag", "held"), uses().items(), ids=uses())
def test_a_flag_means_the_same_wherever_it_is(flag, held):
    said = {action.help for _, action in held}
    if flag in FAMILIES:
        assert [words for words in said if not re.search(FAMILIES[flag], words)] == []
    else:
        assert len(said) == 1, f"{flag} says {said}"
    values = {value_of(action) for _, action in held}
    assert values <= VALUES.get(flag, values) if flag in VALUES else len(values) == 1, f"{flag} takes {values}"
    short = {tuple(one for one in action.option_strings if one != flag) for _, action in held}
    assert len(short) == 1, f"{flag} is short for {short}"
    assert f"`{flag}`" in PAGE, f"{flag} is not among the flags of the page"


def test_every_family_is_one():
    assert FAMILIES.keys() <= uses().keys()
    assert VALUES.keys() <= FAMILIES.keys()


def test_a_short_flag_stands_for_one_long_flag():
    found = defaultdict(set)
    for verb in verbs.VERBS:
        for action in actions_of(verb):
            longs = [one for one in action.option_strings if one.startswith("--")]
            for flag in set(action.option_strings) - set(longs):
                found[flag].update(longs)
    assert {flag: longs for flag, longs in found.items() if len(longs) != 1} == {}


@every_verb
def test_what_has_data_gives_it_as_json(verb):
    formats = next((one.choices for one in actions_of(verb) if "--output" in one.option_strings), None)
    if named(verb) in WORDS_ALONE:
        assert formats is None
    else:
        assert "json" in formats


# ---- what goes where


@every_sample
def test_json_is_alone_on_stdout(piped, words):
    ran = piped(f"{words} -o json")
    assert ran.code in (Exit.OK, Exit.FAILED, Exit.PENDING, Exit.BAD_INPUT)
    assert isinstance(json.loads(ran.out), dict | list)
    if ran.code == Exit.BAD_INPUT:
        assert ran.err.startswith(("error: ", "note: "))


@every_sample
def test_yaml_says_what_json_says(piped, words):
    verb = verbs.chosen(words.split())
    formats = next(one.choices for one in actions_of(verb) if "--output" in one.option_strings)
    if "yaml" not in formats:
        assert verb.words in (("catalog", "export"), ("aws", "policy"), ("version",))
        return
    told = [one for one in yaml.safe_load_all(piped(f"{words} -o yaml").out) if one is not None]
    heard = json.loads(piped(f"{words} -o json").out)
    assert told == (heard["items"] if words.startswith("install") else [heard])


#: What each verb with files says of the good ones when a bad one stands beside them.
@pytest.mark.parametrize(
    "verb", [verb for verb, words in SAMPLES.items() if re.search(r" -f | import ", words)] + ["catalog list"]
)
def test_a_bad_file_costs_itself_and_is_named_on_stderr(piped, tmp_path, verb):
    bad = tmp_path / "bad.csv" if verb == "catalog import" else tmp_path / "bad.yaml"
    bad.write_text("instanceType,price\na,-1\n" if verb == "catalog import" else "a: [\n")
    flag = "" if verb == "catalog import" else "-f"
    ran = piped(f"{SAMPLES[verb]} {flag} {bad} -o json")
    assert ran.code == (Exit.FAILED if verb == "lint" else Exit.BAD_INPUT)
    assert json.loads(ran.out)
    told = ran.out if verb == "lint" else ran.err
    assert bad.name in told
    assert "Traceback" not in ran.err


# ---- errors


@every_verb
def test_a_flag_there_is_not_is_refused_in_one_line_with_the_next_step(dovetail, verb):
    ran = dovetail(*verb.words, "--no-colour")
    assert (ran.code, ran.out) == (Exit.BAD_INPUT, "")
    assert ran.err == (
        f"error: there is no flag --no-colour; did you mean --no-color? Run: dovetail {named(verb)} --help\n"
        if not required(verb)
        else f"error: the following arguments are required: {required(verb)}; run: dovetail {named(verb)} --help\n"
    )


def required(verb: verbs.Verb) -> str:
    needed = [one for one in actions_of(verb) if one.required and one.nargs != "*"]
    return ", ".join("/".join(one.option_strings) or one.metavar or one.dest for one in needed)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("paln", "verb 'paln' is none of .*did you mean plan\\? Run: dovetail --help"),
        ("catalog lst", "verb 'lst' is none of .*did you mean list\\? Run: dovetail catalog --help"),
        ("catalog list --cloud asw", "--cloud: 'asw' is none of aws, azure, gcp, kwok; did you mean aws\\? Run: .*"),
        ("plan -o xml", "-o/--output: 'xml' is none of table, json, yaml; run: dovetail plan --help"),
        ("explain node a -f b c", "'c' is one word too many; each file needs its own -f; run: .*"),
        ("catalog list --limit few", "argument --limit: 'few' is not a whole number, 0 or more; run: .*"),
        ("plan", "name at least one file or directory with -f, - for stdin, or a live cluster with --context"),
        ("lint", "name at least one file or directory with -f, or - for stdin"),
        ("consolidate", "the controller consolidates .*; to see what it would do now, add --plan"),
        ("catalog import", "name at least one file, or --clear to forget what was imported"),
        ("plan -f scenarios/plan/shop.yml", ".*no such file or directory; did you mean scenarios/plan/shop.yaml\\?"),
        ("plan -f /nowhere/at/all", ".*no such file or directory; name a file or directory that is there, or - .*"),
        ("catalog list --catalog nothing.at-all", ".*no such file or directory; name a file.*"),
        ("catalog show m6i.4xlage", "aws us-east-1 has no type 'm6i.4xlage'; did you mean m6i.4xlarge\\?"),
        ("explain pod bd-0 -f scenarios/plan/shop.yaml", "there is no pod 'bd-0' in the files; did you mean db-0\\?"),
        ("dump --kubeconfig nothing", "nothing: there is no such file.*"),
        ("run --kubeconfig nothing", "nothing: there is no such file.*"),
        ("machines --cloud sim --kubeconfig nothing", "nothing: there is no such file.*"),
        ("handler --node-name n --cloud aws --kubeconfig nothing", "nothing: there is no such file.*"),
        ("install --kubeconfig nothing", "nothing: there is no such file.*"),
        ("plan --kubeconfig nothing", "nothing: there is no such file.*"),
        ("apiserver --no-tls --bind-address 0.0.0.0", "--no-tls: 0.0.0.0 is not a loopback address; .*"),
        ("--feature-gates Nothing=true version", "--feature-gates: there is no gate 'Nothing'; there are .*"),
    ],
)
def test_bad_input_ends_with_2_and_an_error_that_says_what_to_do(piped, words, told):
    ran = piped(words)
    assert ran.code == Exit.BAD_INPUT
    assert re.fullmatch(f"error: {told}", ran.err.splitlines()[-1]), ran.err
    assert ran.out == ""


def test_exit_codes_are_on_the_page_and_no_others():
    table = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    told = {int(code): name for code, name in re.findall(r"^\| (\d+) \| `(\w+)`", table, re.MULTILINE)}
    assert told == {int(one): one.name for one in Exit}


# ---- colour


@pytest.mark.parametrize("words", TABLES)
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_who_wants_no_colour_gets_no_escape_sequence(on_terminal, words, environment):
    shown = on_terminal(words, **environment)
    assert "\x1b" not in shown.out + shown.err


@pytest.mark.parametrize("words", TABLES)
def test_a_pipe_gets_no_escape_sequence(piped, words):
    ran = piped(words)
    assert "\x1b" not in ran.out + ran.err


def test_a_terminal_gets_colour_and_the_flag_turns_it_off(on_terminal):
    assert "\x1b[" in on_terminal(SAMPLES["plan"]).out
    assert "\x1b" not in on_terminal(f"{SAMPLES['plan']} --no-color").out


# ---- width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", TABLES)
def test_what_people_read_fits_their_terminal(on_terminal, words, width):
    shown = on_terminal(words, COLUMNS=str(width))
    assert "fault of dovetail" not in shown.err
    for line in shown.out.splitlines():
        # A word wider than the terminal is left whole: names are there to be copied.
        assert shown_width(line) <= width or len(ANSI.sub("", line).split()) == 1, line


@every_sample
def test_data_is_never_broken_to_fit(on_terminal, piped, words):
    assert json.loads(on_terminal(f"{words} -o json", COLUMNS="20").out) == json.loads(piped(f"{words} -o json").out)


# ---- progress, pipes, Ctrl-C


@pytest.mark.parametrize(
    "verb", [one for one in SAMPLES if one not in ("catalog import", "install", "aws policy", "version")]
)
def test_work_that_may_be_long_says_what_it_is(on_terminal, monkeypatch, verb):
    told = []

    @contextmanager
    def doing(self: Console, what: str) -> Iterator[None]:
        told.append(what)
        yield

    monkeypatch.setattr(Console, "doing", doing)
    on_terminal(SAMPLES[verb])
    assert told


@pytest.mark.parametrize(
    "words", ["catalog list", "run --help", "completion bash", "plan -f scenarios/plan", "catalog"]
)
def test_a_reader_that_went_away_ends_it_quietly(words):
    command = f"{shlex.quote(sys.executable)} -m dovetail.main {words} | :; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.returncode in (Exit.OK, Exit.BAD_INPUT, Exit.PENDING)


def test_ctrl_c_ends_it_with_130_and_without_a_word(tmp_path):
    fifo = tmp_path / "slow.yaml"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "dovetail.main", "plan", "-f", str(fifo)]
    # The second is opened when the first begins to read.
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ran, fifo.open("w"):
        ran.send_signal(signal.SIGINT)
        out, err = ran.communicate(timeout=60)
    assert (ran.returncode, out, err) == (Exit.INTERRUPTED, "", "")


def test_ctrl_c_is_heard_while_the_program_loads():
    code = (
        "import sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'dovetail.cli.program': raise KeyboardInterrupt\n"
        "from dovetail.main import main\n"
        "sys.meta_path.insert(0, Slow())\n"
        "sys.exit(main(['version']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (Exit.INTERRUPTED, "", "")


# ---- version


def test_the_version_as_json(dovetail):
    told = json.loads(dovetail("version", "--output", "json").out)
    assert told["version"] == dovetail("version", "--short").out.strip()
    assert set(told) == {"version", "python", "planner"}
    assert told["planner"] == "interpreted"  # from a checkout; see tests/tools/test_compiled.py
