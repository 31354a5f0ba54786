"""The options of `--cloud aws`: every one by its flag and by its variable, and what each makes of a node."""

from __future__ import annotations

from argparse import ArgumentParser
from fractions import Fraction

import pytest

from dovetail.cli.place_aws import Surroundings, node_rules, options_of
from dovetail.clouds.aws.bootstrap import Home
from dovetail.clouds.aws.intervals import Intervals
from dovetail.core.catalog.density import KUBERNETES_DENSITY, ByInterface
from dovetail.core.catalog.overhead import FlatOverhead
from dovetail.core.errors import BadInput
from dovetail.settings import Settings, aws
from dovetail.settings.aws import AwsSettings

HOME = Home("prod", "", "")


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


def test_how_often_ec2_is_asked_is_at_least_a_minute():
    found = read("--subnet-refresh-interval", "10m", AMI_REFRESH_INTERVAL="1h30m", SECURITY_GROUP_REFRESH_INTERVAL="1m")
    assert (found.image_seconds, found.subnet_seconds, found.group_seconds) == (5400.0, 600.0, 60.0)
    with pytest.raises(BadInput, match=r"^SUBNET_REFRESH_INTERVAL: '59s' is less than a minute"):
        read(SUBNET_REFRESH_INTERVAL="59s")
    with pytest.raises(BadInput, match=r"^--ami-refresh-interval: "):
        read("--ami-refresh-interval", "often")


def test_what_was_said_reaches_the_cloud():
    said = read(
        *(
            "--aws-feature-gates",
            "RebootForRepair=true,NodeClassCEL=true",
            "--interruption-queue",
            "q",
            "--disable-dry-run",
        ),
        AMI_REFRESH_INTERVAL="1h",
        SUBNET_REFRESH_INTERVAL="2m",
        SECURITY_GROUP_REFRESH_INTERVAL="10m",
    )
    around = Surroundings(lambda: "1.35", lambda: "10.0.0.10")
    found = options_of(said, HOME, Settings(""), around, dry_run=True)
    assert (found.reboots, found.queue, found.probes, found.read_only, found.reserved) == (True, "q", False, True, True)
    assert found.formulas
    assert found.intervals == Intervals(images=3600.0, subnets=120.0, groups=600.0)
    assert (found.kubernetes(), found.name_server()) == ("1.35", "10.0.0.10")


def test_images_and_groups_are_not_asked_for_oftener_than_every_five_minutes():
    plain = options_of(read(), HOME, Settings(""), Surroundings(str, str), dry_run=False)
    assert plain.intervals == Intervals()
    assert (plain.intervals.images, plain.intervals.subnets, plain.intervals.groups) == (300.0, 60.0, 300.0)


def test_gates_of_aws_alone_are_off_unless_somebody_says_otherwise():
    assert not read().reboots
    assert read(AWS_FEATURE_GATES="NodeClassCEL=false, RebootForRepair=true").reboots
    assert not read("--aws-feature-gates", "RebootForRepair=false", AWS_FEATURE_GATES="RebootForRepair=true").reboots
    assert not read().formulas
    assert read("--aws-feature-gates", "NodeClassCEL=true").formulas
    with pytest.raises(BadInput, match=r"^--aws-feature-gates: there is no gate 'DRAEFA'"):
        read("--aws-feature-gates", "DRAEFA=true")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CLUSTER_ENDPOINT", "example.test"),
        ("RESERVED_ENIS", "-1"),
        ("ISOLATED_VPC", "maybe"),
        ("AWS_ENI_LIMITED_POD_DENSITY", "perhaps"),
        ("AWS_FEATURE_GATES", "RebootForRepair"),
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
