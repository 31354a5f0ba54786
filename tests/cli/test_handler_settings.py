"""`dovetail handler`: its options, by flag and by environment, and what is refused."""

from __future__ import annotations

import argparse
import subprocess
import sys

import pytest

from dovetail.core.errors import BadInput
from dovetail.core.handler.notices import Kind
from dovetail.core.handler.policy import Policy, Response
from dovetail.settings import handler as settings


def read(*words: str, **environment: str) -> settings.Settings:
    parser = argparse.ArgumentParser()
    settings.add_flags(parser)
    return settings.read(parser.parse_args(list(words)), {"NODE_NAME": "n", **environment})


def test_a_node_name_is_all_that_is_needed():
    chosen = read()
    assert (chosen.node, chosen.cloud, chosen.poll, chosen.reserve) == ("n", "", None, None)
    assert chosen.bind == "127.0.0.1"
    usual = Policy()
    assert chosen.policy == usual


def test_without_a_node_name_it_says_where_to_get_one():
    with pytest.raises(BadInput, match=r"NODE_NAME from spec\.nodeName"):
        read(NODE_NAME="")


def test_a_flag_wins_over_its_variable():
    assert read("--cloud", "gcp", CLOUD="aws").cloud == "gcp"
    assert read(CLOUD="AWS").cloud == "aws"
    assert read("--cloud", "auto").cloud == ""


@pytest.mark.parametrize("kind", list(Kind))
def test_every_kind_of_notice_has_a_response_of_its_own(kind):
    chosen = read(f"--on-{kind.value}", "ignore")
    assert chosen.policy.responses[kind] is Response.IGNORE


def test_everything_arrives():
    chosen = read(
        *("--force-after", "25%", "--pod-grace", "10s", "--maintenance-lead", "1h", "--reserve", "3s"),
        *("--taint-effect", "noexecute", "--delete-machine", "true", "--out-of-service-taint", "1", "--dry-run"),
        *("--poll-interval", "500ms", "--max-age", "24h", "--acknowledge", "false"),
        POD_NAME="p",
        POD_NAMESPACE="ns",
    )
    policy = chosen.policy
    assert (policy.force_after, policy.pod_grace, policy.lead, chosen.reserve) == (0.25, 10.0, 3600.0, 3.0)
    assert (policy.taint_effect, policy.delete_machine, policy.out_of_service) == ("NoExecute", True, True)
    assert (policy.dry_run, policy.acknowledge, chosen.poll, chosen.max_age) == (True, False, 0.5, 86400.0)
    assert chosen.own_pod == "ns/p"
    assert not chosen.events, "a dry run writes no events either"


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--cloud", "oracle"),
        ("--on-preempt", "panic"),
        ("--poll-interval", "1h"),
        ("--poll-interval", "0s"),
        ("--force-after", "2"),
        ("--force-after", "-1"),
        ("--taint-effect", "NoFun"),
        ("--metadata-url", "https://example.com"),
        ("--metadata-url", "169.254.169.254"),
        ("--metadata-url", "http://"),
        ("--metadata-url", "http://169.254.169.254:http"),
        ("--metadata-url", "http://[::1"),
        ("--metrics-port", "70000"),
        ("--delete-machine", "maybe"),
        ("--pod-grace", "soon"),
    ],
)
def test_a_bad_value_names_its_flag(flag, value):
    with pytest.raises(BadInput, match=flag):
        read(f"{flag}={value}")


def test_a_bad_variable_is_named():
    with pytest.raises(BadInput, match="ON_REBALANCE"):
        read(ON_REBALANCE="panic")


def test_it_loads_neither_the_catalog_nor_the_planner_nor_a_web_framework():
    """What is loaded is most of what the process weighs."""
    code = (
        "import sys; from dovetail.cli import handler; from dovetail.handler import lean; lean.load();"
        "from dovetail.handler import process; from dovetail.controllers import logs; from dovetail.kube import config;"
        "print('\\n'.join(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ran.stdout.split())
    assert "dovetail.handler.process" in loaded
    heavy = ("dovetail.core.catalog", "dovetail.core.scheduling", "dovetail.clouds", "aiohttp.web", "yaml")
    assert not [one for one in loaded if one.startswith(heavy)]
