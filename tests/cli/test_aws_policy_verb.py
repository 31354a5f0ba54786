"""`dovetail aws policy`."""

from __future__ import annotations

import json

import pytest

from dovetail.cli.exits import Exit

CLASS = """
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  instanceProfile: nodes
  amiSelectorTerms: [{alias: bottlerocket@latest}]
"""


def allowed(text: str) -> set[str]:
    return {action for one in json.loads(text)["Statement"] for action in one["Action"]}


def test_without_a_file_everything_but_the_queue_is_allowed(dovetail):
    ran = dovetail("aws", "policy", "--cluster", "prod")
    assert (ran.code, ran.err) == (Exit.OK, "")
    found = allowed(ran.out)
    assert {"ec2:CreateFleet", "iam:CreateInstanceProfile", "pricing:GetProducts"} <= found
    assert not any(one.startswith("sqs:") for one in found)


def test_a_queue_is_allowed_by_its_name(dovetail):
    ran = dovetail("aws", "policy", "--cluster", "prod", "--queue", "prod-q", "--region", "eu-west-1")
    assert "arn:aws:sqs:eu-west-1:*:prod-q" in ran.out


def test_files_narrow_it_to_what_their_classes_need(dovetail, tmp_path):
    (tmp_path / "class.yaml").write_text(CLASS)
    ran = dovetail("aws", "policy", "--cluster", "prod", "-f", str(tmp_path), "--isolated-vpc", "--no-reboots")
    found = allowed(ran.out)
    assert "ssm:GetParameter" in found
    for absent in ("iam:CreateInstanceProfile", "ec2:DescribeCapacityReservations", "pricing:GetProducts"):
        assert absent not in found
    assert "ec2:RebootInstances" not in found


def test_a_table_says_why(dovetail):
    ran = dovetail("aws", "policy", "--cluster", "prod", "-o", "table")
    assert ran.code == Exit.OK
    assert "PassTheRoleOfNodes" in ran.out
    assert "give machines the role of nodes" in ran.out


def test_files_without_a_node_class_are_no_good(dovetail, tmp_path):
    (tmp_path / "empty.yaml").write_text("kind: Pod\napiVersion: v1\nmetadata: {name: a}\n")
    ran = dovetail("aws", "policy", "--cluster", "prod", "-f", str(tmp_path / "empty.yaml"))
    assert ran.code == Exit.BAD_INPUT
    assert "no EC2NodeClass" in ran.err


@pytest.mark.parametrize(
    "strange", [["--cluster", 'a"b'], ["--account", "me"], ["--region", "EU WEST"], ["--queue", "a/b"], []]
)
def test_names_that_could_be_anything_else_are_refused(dovetail, strange):
    given = strange if "--cluster" in strange or not strange else ["--cluster", "prod", *strange]
    assert dovetail("aws", "policy", *given).code == Exit.BAD_INPUT


def test_help_has_examples(dovetail):
    assert "aws iam create-policy" in dovetail("aws", "policy", "--help").out
