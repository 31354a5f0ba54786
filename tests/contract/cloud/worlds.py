"""What the contract suite needs of a cloud besides the port: a way to order, and to bring about what tests are about.

A cloud joins the suite by a `World` of its own, added to `WORLDS` in `conftest`. The suite only ever calls the port and
this; nothing in it knows which cloud it looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from dovetail.clouds.port import Cloud, NotFound
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.instances import Instance, Option, Order
from dovetail.core.nodeclaims import FINALIZER, Meta, NodeClaim
from dovetail.core.nodepools import NodeClassRef, NodePool
from dovetail.core.requirements import Requirements, is_in


class World(Protocol):
    """One cloud, made afresh for each test, with a node class that can be launched with. One whose machines are never
    restarted says so with `restarts = False`."""

    cloud: Cloud
    node_class: NodeClassRef

    def another(self) -> Cloud:
        """The same cloud as a second process sees it."""

    def sell_out(self, options: tuple[Option, ...]) -> None:
        """None of these can be had from now on."""

    def break_class(self) -> None:
        """The node class says that it cannot be launched with."""

    def remove_class(self) -> None: ...

    def throttle(self) -> None:
        """The next call is refused: too many calls."""

    async def foreign(self, name: str) -> str:
        """A machine of somebody else that has this name; returns its id."""

    async def boots(self, instance: Instance) -> str:
        """Something that differs after every restart of the machine."""


def claim(
    world: World, name: str = "general-a1b2c", wanted: Mapping[str, str] | None = None, provider_id: str = ""
) -> NodeClaim:
    """A claim of the pool `general` for one amd64 machine, or a narrower one."""
    said = {labels.ARCH: "amd64", labels.OS: "linux", **(wanted or {})}
    told = {labels.NODEPOOL: "general", world.node_class.label_key: world.node_class.name}
    return NodeClaim(
        Meta(name, uid=f"uid-{name}", labels=MappingProxyType(told), finalizers=(FINALIZER,)),
        world.node_class,
        Requirements(is_in(key, value) for key, value in said.items()),
        provider_id=provider_id,
    )


def order(world: World, name: str = "general-a1b2c", wanted: Mapping[str, str] | None = None, most: int = 5) -> Order:
    """The cheapest `most` ways to fill such a claim."""
    one = claim(world, name, wanted)
    pool = NodePool("general", world.node_class)
    options = [
        Option(kind, row)
        for kind in CatalogCache(world.cloud.market).catalog(pool, 0.0).types.values()
        for row in kind.offerings
        if row.launchable
        and kind.requirements.intersects(one.requirements)
        and row.requirements.intersects(one.requirements)
    ]
    options.sort(key=lambda option: (option.offering.order, option.instance_type.name))
    return Order(one, tuple(options[:most]), pool)


async def returned(cloud: Cloud, ended: NodeClaim, patience: int = 50) -> int:
    """Return a machine until the cloud says that it is gone; how often that was asked."""
    for count in range(1, patience + 1):
        try:
            await cloud.terminate(ended)
        except NotFound:
            return count
    raise AssertionError(f"{ended.name} is not gone after {patience} times of asking")
