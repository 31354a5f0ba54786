"""Which types each availability zone sells.

The source lists offerings twice, by zone name and by zone id, without saying which name is which id. Both
lists were recorded in one account, so a name and an id that sell exactly the same types are one zone. Where
two zones sell the same, the pairs are made in sorted order: what is sold is right either way.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import PurePosixPath

from .output import Catalogue, Provenance
from .sources import Archive, Sources

ROOT = "moto/ec2/resources/instance_type_offerings"

Zones = dict[str, frozenset[str]]


def write(catalogue: Catalogue, sources: Sources) -> dict[str, set[str]]:
    """Write a file per region; return region → every type sold in one of its zones."""
    sold: dict[str, set[str]] = {}
    for member in sources.moto.names(f"{ROOT}/availability-zone/"):
        region = PurePosixPath(member).name.removesuffix(".json.gz")
        by_name = _offerings(sources.moto, f"{ROOT}/availability-zone/{region}.json.gz")
        by_id = _offerings(sources.moto, f"{ROOT}/availability-zone-id/{region}.json.gz")
        ids = _pair(by_name, by_id)
        rows = [
            {"Region": region, "ZoneName": name, "ZoneId": ids[name], "InstanceTypes": sorted(by_name[name])}
            for name in sorted(by_name)
        ]
        note = "Zone ids are joined to names by equal offerings; the join differs from account to account."
        provenance = Provenance(sources.moto.cite(member), sources.moto.packed_on(member), sources.moto.license, note)
        catalogue.write(f"aws/zones/{region}.jsonl.gz", rows, provenance)
        sold[region] = set().union(*by_name.values())
    return sold


def _offerings(moto: Archive, member: str) -> Zones:
    zones: dict[str, set[str]] = defaultdict(set)
    for offering in json.loads(gzip.decompress(moto.read(member))):
        zones[offering["Location"]].add(offering["InstanceType"])
    return {zone: frozenset(types) for zone, types in zones.items()}


def _pair(by_name: Zones, by_id: Zones) -> dict[str, str]:
    alike: dict[frozenset[str], list[str]] = defaultdict(list)
    for zone_id in sorted(by_id):
        alike[by_id[zone_id]].append(zone_id)
    return {name: alike[by_name[name]].pop(0) for name in sorted(by_name)}
