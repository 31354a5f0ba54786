"""Network facts DescribeInstanceTypes does not tell: bandwidth as a number, and branch interfaces."""

from __future__ import annotations

from typing import Any

from . import go_text
from .output import Catalogue, Provenance
from .sources import Sources

BANDWIDTH = "pkg/providers/instancetype/zz_generated.bandwidth.go"
LIMITS = "pkg/providers/instancetype/zz_generated.vpclimits.go"


def write(catalogue: Catalogue, sources: Sources) -> None:
    module = sources.karpenter_aws
    limits_text = module.text(LIMITS)
    bandwidth = go_text.integers(module.text(BANDWIDTH))
    limits = go_text.struct_fields(limits_text)
    rows = []
    for name in sorted(bandwidth.keys() | limits.keys()):
        row: dict[str, Any] = {"instanceType": name}
        if name in bandwidth:
            row["bandwidthMbps"] = bandwidth[name]
        branches = int(limits.get(name, {}).get("BranchInterface", "0"))
        if branches:
            row["branchEnis"] = branches
        if limits.get(name, {}).get("IsTrunkingCompatible") == "true":
            row["isTrunkingCompatible"] = True
        rows.append(row)
    provenance = Provenance(
        f"{module.cite(BANDWIDTH)}, {LIMITS}",
        go_text.generated_on(limits_text),
        module.license,
        "A missing bandwidth is unknown; a missing branch count is 0; missing trunking is false.",
    )
    catalogue.write("aws/network.jsonl.gz", rows, provenance)
