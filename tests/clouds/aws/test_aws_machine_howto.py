"""What `docs/howto/spot-workers-aws.md` prints works: its policy allows what is called and no more, its manifests are
bought as they stand."""

from __future__ import annotations

import ast
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml
from tests.clouds.aws.single import BOOT, Process, order, processed, spec
from tools.aws_server import Account, AwsServer

import dovetail.clouds.aws.machines
from dovetail.clouds.aws import calls, ends
from dovetail.clouds.aws.calls import Call
from dovetail.clouds.aws.machines import marks, specs

HOWTO = Path(__file__).parents[3] / "docs" / "howto" / "spot-workers-aws.md"
ROOM = Path(dovetail.clouds.aws.machines.__file__).parent
#: What IAM asks for beside the calls: tags are written with what is made, and nodes are given their role.
BESIDE = {"ec2:CreateTags", "iam:PassRole"}


def block(kind: str) -> str:
    return str(re.findall(rf"```{kind}\n(.*?)```", HOWTO.read_text(), re.DOTALL)[0])


def statements() -> dict[str, dict[str, Any]]:
    return {one["Sid"]: one for one in json.loads(block("json"))["Statement"]}


def actions(one: dict[str, Any]) -> set[str]:
    told = one["Action"]
    return {told} if isinstance(told, str) else set(told)


def called() -> set[str]:
    """Every call that is named in the room, and where instances are ended."""
    found: set[str] = set()
    for path in (*ROOM.glob("*.py"), Path(ends.__file__)):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "calls":
                value = getattr(calls, node.attr)
                found |= {value.permission} if isinstance(value, Call) else set()
    return found


def test_the_policy_allows_what_is_called_and_nothing_else() -> None:
    allowed = set().union(*(actions(one) for one in statements().values()))
    assert allowed == called() | BESIDE


def test_what_is_made_carries_the_tag_the_policy_asks_for(aws_server: AwsServer, aws_account: Account) -> None:
    """Each kind that is tagged when it is made may be tagged, under the tag it is made with."""
    buy = statements()["Buy"]
    ((key, value),) = buy["Condition"]["StringEquals"].items()
    assert key == f"aws:RequestTag/{marks.kubernetes('my-cluster')}"

    async def scenario(one: Process) -> None:
        await one.machines.create(order(spec(aws_account), price=""), BOOT)

    processed(aws_server, scenario)
    (asked,) = aws_server.world.runs
    for made in asked["TagSpecifications"]:
        resource = f"arn:aws:ec2:us-east-1:123456789012:{made['ResourceType']}/x"
        assert any(fnmatchcase(resource, each) for each in buy["Resource"]), made["ResourceType"]
        assert {"Key": marks.kubernetes("c"), "Value": value} in made["Tags"]


def test_an_instance_may_be_ended_by_the_tag_it_has() -> None:
    ((key, value),) = statements()["End"]["Condition"]["StringEquals"].items()
    assert (key, value) == (f"aws:ResourceTag/{marks.kubernetes('my-cluster')}", marks.OWNED)


def test_the_template_is_one_that_can_be_bought() -> None:
    template, machine_set, check = yaml.safe_load_all(block("yaml"))
    found = specs.read(template["spec"]["template"]["spec"])
    assert found.root is not None
    assert found.metadata == {"HttpTokens": "required", "HttpPutResponseHopLimit": 2}
    labels = machine_set["spec"]["template"]["metadata"]["labels"]
    assert machine_set["spec"]["selector"]["matchLabels"] == check["spec"]["selector"]["matchLabels"] == labels
