"""Custom resources of the group `contract.test`, installed when first needed."""

from __future__ import annotations

from typing import Any

from tests.contract.kubernetes.raw_api import Api
from tests.contract.kubernetes.things import crd

from dovetail.api.kinds import CRDS

ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


async def install(api: Api, definition: dict[str, Any]) -> str:
    """Create the definition unless it is there, and wait until its kind is served; returns the path of all its objects.

    A real server takes two seconds to serve a new kind, so rows share kinds where they can.
    """
    made = await api.post(CRDS.path(), definition)
    assert made.status in (201, 409), made.body
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    await api.until(path, lambda answer: answer.status == 200)
    return path


def within(path: str, namespace: str, name: str = "") -> str:
    root, plural = path.rsplit("/", 1)
    return f"{root}/namespaces/{namespace}/{plural}" + (f"/{name}" if name else "")


async def forgetful(api: Api, namespace: str) -> str:
    """A kind younger than version 1, with objects `one` and `two`: nothing remembers that version of it."""
    path = await install(api, crd("relics", "Relic", ANYTHING))
    for name in ("one", "two"):
        body = {"apiVersion": "contract.test/v1", "kind": "Relic", "metadata": {"name": name}}
        (await api.post(within(path, namespace), body)).ok()
    return within(path, namespace)
