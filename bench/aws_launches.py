"""Claims bought, looked at, tagged and ended on the benchmark's AWS, as a controller does it: all at once."""

import asyncio

from bench.aws_cold import CLASS, POOL, REGION, terms
from dovetail.clouds.aws import calls, tags
from dovetail.clouds.aws import region as regions
from dovetail.clouds.aws.access import Access
from dovetail.clouds.aws.client import Aws
from dovetail.clouds.aws.instances import Instances
from dovetail.clouds.aws.launching import Launcher
from dovetail.clouds.aws.market import AwsMarket
from dovetail.clouds.aws.resolved import Image, ResolvedClass, Subnet
from dovetail.clouds.aws.sales import Habits
from dovetail.clouds.aws.templates import Templates
from dovetail.core import labels
from dovetail.core.catalog.cache import CatalogCache
from dovetail.core.instances import Option, Order
from dovetail.core.nodeclaims import FINALIZER, Meta, NodeClaim
from dovetail.core.requirements import EMPTY

CLUSTER = "bench"
TYPES = ("m5.large", "m5.xlarge", "c5.large", "c5.xlarge", "r5.large")


async def bought_and_ended(url: str, count: int) -> int:
    """How many machines the claims bought; all of them are gone afterwards."""
    options = _options()
    async with Aws(Access(REGION, url)) as aws:
        resolved = await _resolved(aws)
        instances, templates = Instances(aws, CLUSTER), Templates(aws, CLUSTER)
        launcher = Launcher(aws, instances, templates, Habits(CLUSTER))
        claims = [_claim(f"bench-{number:04d}") for number in range(count)]
        found = await asyncio.gather(*(launcher.launch(Order(one, options, POOL), resolved) for one in claims))
        ids = [one.provider_id.rpartition("/")[2] for one in found]
        await asyncio.gather(*(instances.get(one) for one in ids))
        await asyncio.gather(*(instances.tag(one, {tags.NAME: f"node-{one}"}) for one in ids))
        await asyncio.gather(*(instances.terminate(one) for one in ids))
        await launcher.close()
        await instances.close()
    return len(set(ids))


def _options() -> tuple[Option, ...]:
    market = AwsMarket(regions.bundled(REGION))
    market.set_class(CLASS, terms(market))
    kinds = CatalogCache(market, region=REGION).catalog(POOL, 0.0).types
    found = [Option(kinds[name], row) for name in TYPES for row in kinds[name].offerings]
    on_demand = [one for one in found if one.offering.capacity_type == labels.ON_DEMAND and one.offering.launchable]
    return tuple(sorted(on_demand, key=lambda one: one.offering.order))


def _claim(name: str) -> NodeClaim:
    told = {labels.NODEPOOL: POOL.name, CLASS.label_key: CLASS.name}
    return NodeClaim(Meta(name, uid=f"uid-{name}", labels=told, finalizers=(FINALIZER,)), CLASS, EMPTY)


async def _resolved(aws: Aws) -> ResolvedClass:
    subnets = await aws.all(calls.DESCRIBE_SUBNETS)
    groups = await aws.all(calls.DESCRIBE_SECURITY_GROUPS)
    images = await aws.all(calls.DESCRIBE_IMAGES)
    plain = next(one["ImageId"] for one in images if one["Architecture"] == "x86_64")
    return ResolvedClass(
        CLASS,
        tuple(Subnet(one["SubnetId"], one["AvailabilityZone"]) for one in subnets),
        tuple(one["GroupId"] for one in groups[:1]),
        (Image(plain),),
        "test-profile",
    )
