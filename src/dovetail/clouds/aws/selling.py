"""Node classes resolved, and what they can buy told to the market: the one step from `nodeclass` to `market`.

A class that is not ready for now keeps its place in the market: its machines still have prices, and launching asks the
resolver, who knows better. A class that is gone has nothing to sell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dovetail.clouds.aws.class_terms import terms_of
from dovetail.clouds.aws.market import AwsMarket
from dovetail.clouds.aws.nodeclass import Resolver
from dovetail.clouds.port import ClassReport, CloudError
from dovetail.core.nodeclaims import NodeClaim
from dovetail.core.nodepools import NodeClassRef


@dataclass(frozen=True, slots=True)
class SellingClasses:
    """`clouds.port.NodeClasses`: the resolver's, with a market that follows. Without `reserved` no reservation is
    sold, whatever classes select."""

    resolver: Resolver
    market: AwsMarket
    reserved: bool = True

    async def resolve(self, ref: NodeClassRef, wire: Mapping[str, object], claims: Sequence[NodeClaim]) -> ClassReport:
        report = await self.resolver.resolve(ref, wire, claims)
        self._sell(ref)
        return report

    async def release(self, ref: NodeClassRef, wire: Mapping[str, object]) -> None:
        await self.resolver.release(ref, wire)
        self.market.set_class(ref, None)

    async def sweep(self, claims: Iterable[NodeClaim]) -> None:
        await self.resolver.sweep(claims)

    def note(self, ref: NodeClassRef, wire: Mapping[str, object] | None) -> None:
        """A class as the API server has it now, None when it is gone."""
        self.resolver.note(ref, wire)
        if wire is None:
            self.market.set_class(ref, None)

    def _sell(self, ref: NodeClassRef) -> None:
        spec = self.resolver.spec(ref)
        try:
            resolved = self.resolver.resolved(ref)
        except CloudError:
            return
        if spec is not None:
            terms = terms_of(resolved, spec.family, spec.ephemeral_bytes, spec.raid0)
            self.market.set_class(ref, terms, resolved.reservations.values() if self.reserved else ())
