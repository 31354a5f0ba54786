"""Manifests as a user of the peer writes them are taken by a real API server, and by the embedded one."""

from __future__ import annotations

from tests.clouds.aws import manifests
from tests.contract.crds.putting import define
from tests.contract.kubernetes.raw_api import Answer, Api, Server, asked

from dovetail.api.kinds import EC2_NODE_CLASSES, NODE_POOLS

_KINDS = {one.name: one for one in (EC2_NODE_CLASSES, NODE_POOLS)}


def test_every_manifest_is_taken_as_it_is(server: Server) -> None:
    async def posted(api: Api) -> dict[str, Answer]:
        await define(api)
        return {
            name: await api.post(_KINDS[wire["kind"]].path(), wire, dryRun="All", fieldValidation="Strict")
            for name, wire in manifests.written().items()
        }

    answers = asked(server, posted)
    assert answers.keys() == set(manifests.NAMES)
    for name, answer in answers.items():
        kept = answer.ok()
        wrote = manifests.written()[name]["spec"]
        assert {key: kept["spec"][key] for key in wrote if key != "template"}.keys() == wrote.keys() - {"template"}
