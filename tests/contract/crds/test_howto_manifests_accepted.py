"""What the how-tos of spot workers print is taken as it stands; the check for Cluster API's own core adds one look."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.contract.crds.putting import define
from tests.contract.kubernetes.raw_api import Answer, Api, Server, asked

from dovetail.api.cluster_api import reading
from dovetail.api.crds import every
from dovetail.api.fields import fields
from dovetail.core.machines import names
from dovetail.core.machines.objects import Sign

PAGES = Path(__file__).parents[3] / "docs/howto"
CLOUDS = ("aws", "gcp", "azure")
KINDS = {one.kind.name: one.kind for one in every.CLUSTER_API}


def blocks(page: str) -> list[list[dict[str, Any]]]:
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    return [list(yaml.safe_load_all(one)) for one in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


@pytest.mark.parametrize("page", [*(f"spot-workers-{cloud}" for cloud in CLOUDS), "handle-spot-notices"])
def test_every_manifest_of_a_how_to_is_taken_as_it_is(server: Server, page: str) -> None:
    async def posted(api: Api) -> list[Answer]:
        await define(api)
        path = {name: kind.path(namespace="default") for name, kind in KINDS.items()}
        return [
            await api.post(path[one["kind"]], one, dryRun="All", fieldValidation="Strict")
            for block in blocks(page)
            for one in block
        ]

    answers = asked(server, posted)
    assert answers
    for answer in answers:
        answer.ok()


@pytest.mark.parametrize("cloud", CLOUDS)
def test_R40_the_check_for_cluster_apis_own_core_looks_at_infrastructure_too(cloud: str) -> None:
    first, second = blocks(f"spot-workers-{cloud}")
    (ours,), (theirs,) = ([one for one in block if one["kind"] == "MachineHealthCheck"] for block in (first, second))
    (sign,) = reading.health_check(fields(theirs)).machine_signs
    # Longer than an order that is refused is asked for: False is also what is said while an instance is bought.
    assert (sign.type, sign.status) == (names.INFRASTRUCTURE_READY, "False")
    assert sign.timeout >= 300
    del theirs["spec"]["checks"]["unhealthyMachineConditions"]
    assert theirs == ours
    assert Sign("Terminating", "True", 0.0) in reading.health_check(fields(ours)).node_signs
