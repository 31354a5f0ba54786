"""Launch templates: what a machine is made with, said once for all machines that are made the same.

A template is named after its content, so equal ones are one, for every claim, type and process (S2.13); nothing of one
claim stands in it. It is looked up by that name, made if it is not there, and deleted when nobody has used it for a
while. What differs between the machines of one fleet (type, subnet, image) are overrides.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.errors import TEMPLATE_EXISTS, code_of
from dovetail.clouds.aws.resolved import NO_TAGS
from dovetail.clouds.port import CloudError, NotFound

PREFIX: Final = "karpenter.k8s.aws/"
#: The peer deletes after a minute and makes the same ones again and again; a region has room for 5,000.
UNUSED_SECONDS: Final = 900.0

Data = Mapping[str, Any]


def name_of(data: Data) -> str:
    """The name says the content: a digest of all of it."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return PREFIX + hashlib.sha256(text.encode()).hexdigest()[:40]


class Templates:
    """The launch templates of this cluster."""

    def __init__(self, aws: Aws, cluster: str, now: Callable[[], float] = time.monotonic) -> None:
        self._aws, self._cluster, self._now = aws, cluster, now
        self._used: dict[str, float] = {}
        self._making: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._used)

    async def ensure(self, data: Data, node_class: str, told: tags.Tags = NO_TAGS) -> str:
        """The name of the template with this content, which is there when this returns. `told` are tags it gets beside
        those of the cluster and the class: many an organization refuses to have made what lacks them."""
        name = name_of(data)
        if name not in self._used:
            making = self._making.get(name)
            if making is None:
                making = asyncio.create_task(self._make(name, data, node_class, told), name=f"template {name}")
                self._making[name] = making
                making.add_done_callback(lambda _: self._making.pop(name, None))
            await asyncio.shield(making)
        self._used[name] = self._now()
        return name

    def forget(self, name: str) -> None:
        """It is not there after all: somebody has deleted it."""
        self._used.pop(name, None)

    async def adopt(self) -> int:
        """After a start: know the templates that earlier processes made, so that unused ones go. How many there are."""
        wire = await self._aws.all(calls.DESCRIBE_TEMPLATES, Filters=self._mine())
        for one in wire:
            self._used.setdefault(one["LaunchTemplateName"], self._now())
        return len(wire)

    async def sweep(self) -> int:
        """Delete what nobody used for a while. How many went."""
        oldest = self._now() - UNUSED_SECONDS
        unused = [name for name, at in self._used.items() if at < oldest]
        problem: CloudError | None = None
        for name in unused:
            try:
                await self._delete(name)
            except CloudError as failed:
                problem = failed  # it stays known, and is tried again the next time
            else:
                self.forget(name)
        if problem is not None:
            raise problem
        return len(unused)

    async def remove_class(self, node_class: str) -> int:
        """Delete all that were made for a node class, which is going. How many there were."""
        mine = [*self._mine(), {"Name": f"tag:{tags.NODE_CLASS}", "Values": [node_class]}]
        wire = await self._aws.all(calls.DESCRIBE_TEMPLATES, Filters=mine)
        for one in wire:
            self.forget(one["LaunchTemplateName"])
            await self._delete(one["LaunchTemplateName"])
        return len(wire)

    def _mine(self) -> list[dict[str, Any]]:
        return [{"Name": f"tag:{tags.CLUSTER}", "Values": [self._cluster]}]

    async def _make(self, name: str, data: Data, node_class: str, wanted: tags.Tags) -> None:
        if await self._exists(name):
            return
        told = {**wanted, **tags.of_cluster(self._cluster), tags.NODE_CLASS: node_class}
        try:
            await self._aws.ask(
                calls.CREATE_TEMPLATE,
                LaunchTemplateName=name,
                LaunchTemplateData=data,
                TagSpecifications=[tags.specification("launch-template", told)],
            )
        except CloudError as failed:
            if code_of(failed) != TEMPLATE_EXISTS:
                raise

    async def _exists(self, name: str) -> bool:
        try:
            return bool(await self._aws.all(calls.DESCRIBE_TEMPLATES, LaunchTemplateNames=[name]))
        except NotFound:
            return False

    async def _delete(self, name: str) -> None:
        try:
            await self._aws.ask(calls.DELETE_TEMPLATE, LaunchTemplateName=name)
        except NotFound:
            return


def encoded(user_data: str) -> str:
    return base64.b64encode(user_data.encode()).decode()
