"""The pages about AWS say what the code does, and what they show can be applied."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from dovetail.clouds.aws import cloud, drift, errors, policy, tags
from dovetail.clouds.aws import interruption_messages as messages
from dovetail.clouds.aws.nodeclass import resolver, spec, verdicts

DOCS = Path(__file__).resolve().parents[2] / "docs"
CLASS_PAGE = (DOCS / "reference/ec2nodeclass.md").read_text()
EKS_PAGE = (DOCS / "howto/eks-in-ten-minutes.md").read_text()
RESERVATIONS_PAGE = (DOCS / "howto/use-your-capacity-reservations.md").read_text()


def test_every_feature_is_explained() -> None:
    text = (DOCS / "reference/iam.md").read_text()
    for one in set(policy.Feature) - policy.ALWAYS:
        assert f"\n| `{one}` | " in text, one


def test_every_condition_and_every_drift_is_described() -> None:
    for one in verdicts.CLASS_CONDITIONS.dependents:
        assert f"\n| `{one}` | " in CLASS_PAGE, one
    for word, _ in drift.RULES:
        assert f"`{word}`" in CLASS_PAGE, word
    for tag in (tags.NODE_CLAIM, tags.NODE_CLASS, tags.NODE_POOL, tags.CLUSTER, tags.NAME):
        assert f"`{tag}`" in CLASS_PAGE, tag


def test_reasons_in_the_table_of_conditions_are_ones_the_code_gives() -> None:
    table = CLASS_PAGE.split("## Conditions")[1].split("\n## ")[0]
    source = "".join(path.read_text() for path in Path(verdicts.__file__).parent.glob("*.py"))
    words = set(re.findall(r"`([A-Z][A-Za-z]+)`", table)) - {*verdicts.CLASS_CONDITIONS.dependents, "Ready", "Unknown"}
    missing = {word for word in words if f'"{word}"' not in source}
    assert not missing


def test_every_reason_a_launch_can_fail_for_is_described_and_none_is_made_up() -> None:
    table = CLASS_PAGE.split("## Launches that fail")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    told = {word for row in rows for word in re.findall(r"`(\w+)`", row)}
    given = {one.reason for one in errors.ROWS if one.reason}
    assert told == given | {resolver.UNKNOWN, resolver.NO_SUBNETS, cloud.NO_TYPES}


def test_the_rules_of_the_queue_send_all_that_is_read() -> None:
    for source, detail in messages._READERS:
        if "Interruptible" not in detail:  # another name for one that is there
            assert f"{source}:{detail}" in EKS_PAGE


def objects(page: str) -> list[dict[str, Any]]:
    """Manifests on a page: blocks of YAML that begin with an apiVersion, and what is handed to `kubectl apply`."""
    indented = re.findall(r"(?:^    (?:apiVersion:.*|---)\n(?:^    .*\n)+)", page, re.MULTILINE)
    shown = ["".join(f"{line[4:]}\n" for line in block.splitlines()) for block in indented]
    shown += re.findall(r"^```yaml\n(apiVersion:.*?)^```", page, re.MULTILINE | re.DOTALL)
    shown += re.findall(r"<<EOT\n(.*?)^EOT$", page, re.MULTILINE | re.DOTALL)
    return [one for text in shown for one in yaml.safe_load_all(text.replace("$CLUSTER", "prod")) if one]


@pytest.mark.parametrize(("page", "count"), [(CLASS_PAGE, 1), (RESERVATIONS_PAGE, 2), (EKS_PAGE, 2)])
def test_manifests_on_the_pages_can_be_read(page: str, count: int) -> None:
    found = objects(page)
    assert len(found) == count
    for one in found:
        if one["kind"] == "EC2NodeClass":
            read = spec.read(one)
            assert read.subnets
