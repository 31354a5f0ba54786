"""§5.1: every option by its flag and by its variable."""

from __future__ import annotations

from argparse import ArgumentParser

import pytest

from dovetail.core.errors import BadInput
from dovetail.core.nodepools import MinValuesPolicy
from dovetail.core.scheduling.problem import PreferencePolicy
from dovetail.settings import operator
from dovetail.settings.operator import Operator


def read(*arguments: str, **environment: str) -> Operator:
    parser = ArgumentParser()
    operator.add_flags(parser)
    return operator.read(parser.parse_args(arguments), environment)


def test_the_defaults_are_the_peers():
    found = read()
    assert (found.metrics_port, found.health_port, found.qps, found.burst) == (8080, 8081, 200, 300)
    assert (found.batch_idle, found.batch_max) == (1.0, 10.0)
    assert (found.lease_name, found.lease_namespace) == ("karpenter-leader-election", "kube-system")
    assert (found.preferences, found.min_values) == (PreferencePolicy.RESPECT, MinValuesPolicy.STRICT)
    assert found.leader_election


def test_the_environment_sets_what_the_chart_sets():
    found = read(
        METRICS_PORT="9000",
        HEALTH_PROBE_PORT="9001",
        BATCH_MAX_DURATION="3s",
        BATCH_IDLE_DURATION="500ms",
        PREFERENCE_POLICY="Ignore",
        MIN_VALUES_POLICY="BestEffort",
        LEADER_ELECTION_NAMESPACE="karpenter",
        LOG_LEVEL="debug",
        INSTANCE_TYPES_FILE_PATH="/types.json",
        DISABLE_LEADER_ELECTION="true",
    )
    assert (found.metrics_port, found.health_port) == (9000, 9001)
    assert (found.batch_idle, found.batch_max) == (0.5, 3.0)
    assert (found.preferences, found.min_values) == (PreferencePolicy.IGNORE, MinValuesPolicy.BEST_EFFORT)
    assert found.lease_namespace == "karpenter"
    assert found.log_level == "debug"
    assert found.types_file == "/types.json"
    assert not found.leader_election


def test_a_flag_wins_over_the_environment():
    assert read("--metrics-port", "1234", METRICS_PORT="9000").metrics_port == 1234


def test_what_is_not_said_for_the_lease_is_where_the_system_is():
    assert read(SYSTEM_NAMESPACE="infra").lease_namespace == "infra"


def test_ports_are_bound_to_loopback_unless_run_inside_a_cluster():
    assert read().bind == "127.0.0.1"
    assert read(KUBERNETES_SERVICE_HOST="10.0.0.1").bind == "0.0.0.0"
    assert read("--kubeconfig", "x", KUBERNETES_SERVICE_HOST="10.0.0.1").bind == "127.0.0.1"
    assert read("--bind-address", "::1").bind == "::1"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("METRICS_PORT", "99999"),
        ("KUBE_CLIENT_QPS", "0"),
        ("DISABLE_LEADER_ELECTION", "maybe"),
        ("LOG_LEVEL", "loud"),
        ("BATCH_MAX_DURATION", "soon"),
        ("PREFERENCE_POLICY", "Sometimes"),
    ],
)
def test_a_bad_option_names_its_variable(name: str, text: str):
    with pytest.raises(BadInput, match=f"^{name}: "):
        read(**{name: text})
