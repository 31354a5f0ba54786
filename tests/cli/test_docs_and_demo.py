"""What the documents tell people to type works, and the walk through catalogue and plan comes to its end.

Every command on every page is run, or is listed below with what it needs; a page that gets a new one makes somebody
decide.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs import typed
from tests.docs.typed import ROOT, Command, Desk
from tools.control_plane.find import find
from tools.control_plane.programs import NoControlPlane

from dovetail.cli import verbs

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")))
#: Pages to type along: nothing on them may hide in a block that nobody runs.
TYPED = [page for page in PAGES if page.startswith(("README", "docs/tutorial", "docs/howto"))]
#: On these, terminals stay open: a server in one, the controller in another.
LIVE = ["docs/tutorial/first-cluster.md"]
#: What `make` is told to make, and who runs just that.
MAKE = {
    "demo": "tests/demo/test_demo_told.py",
    "demo-plan": "test_the_walk_comes_to_its_end, below",
    "test": "whoever runs this",
    "test-random": "the same tests, in another order",
    "control-plane": "make test, before anything else",
}
#: How many commands of a page are not run here, by what they need, and why that cannot be had.
NOT_HERE = {
    "docs/howto/eks-in-ten-minutes.md": {
        "aws": 12,  # an AWS account; the calls they allow are tested in tests/clouds/aws
        "kubectl": 6,  # a cluster on EKS
        "cluster": 2,
    },
    "docs/howto/handle-spot-notices.md": {
        "cluster": 3,  # a node that a cloud may take away; tests/handler runs the handler
        "kubectl": 1,
        "test server": 1,  # a dialogue; tests/handler speaks with the same server
    },
    "docs/howto/replace-karpenter.md": {
        "kubectl": 16,  # Karpenter's cluster; tests/live/test_live_migration.py has one, and types this page
        "cluster": 3,
    },
    "docs/howto/roll-a-fleet.md": {"cluster": 1},  # your cluster, and a change of yours
    "docs/howto/run-the-tests-like-ci.md": {"suite": 6},  # this suite, and the control plane below it
    "docs/howto/spot-workers-aws.md": {
        "aws": 1,  # an AWS account; tests/live/test_live_ec2_machines.py runs the page's objects
        "pip": 1,  # the package index
        "kubectl": 4,
        "cluster": 1,
    },
    "docs/howto/spot-workers-azure.md": {
        "pip": 1,
        "kubectl": 4,  # an Azure subscription; tests/live/test_live_azure_machines.py runs such objects
        "cluster": 1,
    },
    "docs/howto/spot-workers-gcp.md": {
        "pip": 1,
        "kubectl": 4,  # a GCP project; tests/live/test_live_gcp_machines.py runs such objects
        "cluster": 1,
        "test server": 1,
    },
    "docs/howto/use-your-capacity-reservations.md": {
        "kubectl": 2,  # reservations in an AWS account
        "cluster": 1,
    },
    "docs/howto/why-is-this-node-still-here.md": {"cluster": 2},  # your cluster
}


def to_run(page: str) -> list[Command]:
    left_out = NOT_HERE.get(page, {}).keys() | {"make"}
    return [one for one in typed.commands(page) if not one.needs & left_out]


@pytest.fixture
def desk(tmp_path: Path, home: Path) -> Iterator[Desk]:
    found = Desk(tmp_path)
    yield found
    found.leave()


@pytest.mark.parametrize("page", [page for page in PAGES if page not in LIVE and typed.commands(page)])
def test_every_command_on_a_page_works(dovetail, desk, page):
    for one in to_run(page):
        assert not one.needs, f"{one.text} needs {one.needs}: run it, or list it in NOT_HERE"
        plain = re.fullmatch(r"dovetail [^|;&$<>\n]*", one.text)
        if plain:
            ran = dovetail(*shlex.split(one.text, comments=True)[1:])
            assert ran.code == one.code, f"{one.text}: {ran.err}"
        else:
            done = desk.type(one.text)
            assert done.returncode == one.code, f"{one.text}: {done.stderr}"


@pytest.mark.parametrize("page", LIVE)
def test_every_command_of_a_live_page_works_in_its_terminals(desk, page):
    """Against the embedded API server the page itself starts. A person takes a moment between two commands; what the
    controller has not done yet is therefore asked for again."""
    if shutil.which("kubectl") is None:
        desk.variables["PATH"] += f":{control_plane().parent}"
    for one in typed.commands(page):
        assert one.needs <= {"cluster", "kubectl"}, f"{one.text} needs {one.needs}"
        if one.lasts:
            desk.start(one.text)
        else:
            done = desk.type(one.text, patience=120.0, code=one.code)
            assert done.returncode == one.code, f"{one.text}: {done.stdout}{done.stderr}"
    assert desk.leave() == [0, 0]


def control_plane() -> Path:
    """Where a kubectl is, if there is none on the path."""
    try:
        return find(os.environ).path("kubectl")
    except NoControlPlane as missing:
        pytest.skip(f"there is no kubectl: {missing}")


@pytest.mark.parametrize("page", TYPED)
def test_no_command_hides_where_nobody_runs_it(page):
    assert typed.unfenced(page) == []


def test_what_is_not_run_is_listed_page_by_page():
    found = {}
    for page in PAGES:
        if page in LIVE:
            continue
        needed = Counter(name for one in typed.commands(page) for name in one.needs - {"make"})
        if needed:
            found[page] = dict(needed)
    assert found == NOT_HERE, "a command was added or taken away: run it, or say here what it needs"


def test_what_is_not_run_is_understood_at_least():
    held = [(one, words) for page in NOT_HERE for one in typed.commands(page) for words in one.ours]
    assert len(held) > 10
    assert [one.text for one, words in held if not typed.is_understood(words)] == []


def test_what_make_is_asked_for_is_made_by_somebody_and_run_by_somebody():
    recipes = (ROOT / "Makefile").read_text(encoding="utf-8")
    asked = {
        word
        for page in PAGES
        for one in typed.commands(page)
        if "make" in one.needs
        for word in shlex.split(one.text, comments=True)[1:]
        if "=" not in word
    }
    assert asked <= MAKE.keys(), "say who runs what the new one runs"
    for target in asked:
        assert re.search(rf"^{target}:.*##", recipes, re.MULTILINE), f"there is no target {target}"
    assert "-m dovetail.main demo\n" in recipes
    assert "-m scenarios.walk\n" in recipes
    assert '"dovetail.main", "demo"' in (ROOT / MAKE["demo"]).read_text(encoding="utf-8")


def test_the_reference_knows_every_verb_and_flag(dovetail):
    text = (ROOT / "docs/reference/cli.md").read_text()
    for verb in verbs.VERBS:
        assert " ".join(verb.words) in text
        flags = dovetail(*verb.words, "--help").out.partition("\nexamples:")[0]
        for flag in set(re.findall(r"--[a-z][a-z-]+", flags)):
            assert flag in text, f"{' '.join(verb.words)} {flag} is not in the reference"


def test_the_walk_comes_to_its_end():
    ran = subprocess.run(
        [sys.executable, "-m", "scenarios.walk"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    for word in (
        "m6i.4xlarge",
        "sold out",
        "SPECS SHARED",
        "NodeOverlay family-discount",
        "nodes to buy",
        "pods waiting",
        "Where to go next",
    ):
        assert word in ran.stdout
