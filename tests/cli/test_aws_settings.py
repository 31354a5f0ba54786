"""The options of `--cloud aws`: every one by its flag and by its variable, and what each makes of a node."""

from __future__ import annotations

from argparse import ArgumentParser
from fractions import Fraction

import pytest

from dovetail.cli.place_aws import node_rules
from dovetail.core.catalog.density import KUBERNETES_DENSITY, ByInterface
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.errors import BadInput
from dovetail.settings import aws
from dovetail.settings.aws import AwsSettings


def read(*arguments: str, **environment: str) -> AwsSettings:
    parser = ArgumentParser()
    aws.add_flags(parser)
    return aws.read(parser.parse_args(arguments), environment)


def test_nothing_has_to_be_said():
    assert read() == AwsSettings()


def test_the_environment_sets_what_the_chart_sets():
    found = read(
        AWS_REGION="eu-west-1",
        CLUSTER_ENDPOINT="https://example.test",
        CLUSTER_CA_BUNDLE="Q0E=",
        INTERRUPTION_QUEUE="events",
        RESERVED_ENIS="1",
        AWS_ENI_LIMITED_POD_DENSITY="true",
        ISOLATED_VPC="true",
        DISABLE_DRY_RUN="true",
    )
    assert found == AwsSettings("eu-west-1", "https://example.test", "Q0E=", "events", 1, isolated=True, dry_runs=False)


def test_a_flag_wins_over_the_environment():
    assert read("--reserved-enis", "2", RESERVED_ENIS="1").reserved_interfaces == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CLUSTER_ENDPOINT", "example.test"),
        ("RESERVED_ENIS", "-1"),
        ("ISOLATED_VPC", "maybe"),
        ("AWS_ENI_LIMITED_POD_DENSITY", "perhaps"),
    ],
)
def test_a_bad_option_names_its_variable(name: str, text: str):
    with pytest.raises(BadInput, match=f"^{name}: "):
        read(**{name: text})


def test_nodes_are_set_up_as_was_said():
    assert node_rules(AwsSettings(), None).density == ByInterface()
    assert node_rules(AwsSettings(reserved_interfaces=1), None).density == ByInterface(1)
    assert node_rules(AwsSettings(prefix_delegation=True), None).density == ByInterface(0, True)
    assert node_rules(AwsSettings(by_interface=False), None).density == KUBERNETES_DENSITY
    assert node_rules(AwsSettings(), Fraction(1, 20)).vm_overhead == FlatOverhead(Fraction(1, 20))
