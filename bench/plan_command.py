"""`dovetail plan` as a user types it: a new process, a file of a thousand pods, all that AWS sells in a region."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import yaml

from bench.report import RESULTS

PODS: Final = 1_000
_TYPED: Final = (sys.executable, "-m", "dovetail.main", "plan", "--cloud", "aws", "--output", "json", "-f")


class _Plain(yaml.SafeDumper):
    """Writes what kubectl and people write, who say a thing again: no anchors."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def seconds(form: str, repeats: int = 5) -> float:
    """The middle of some runs, by the clock. The first, which compiles our own modules, is not counted."""
    path = _file(form)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    taken = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        ran = subprocess.run((*_TYPED, str(path)), capture_output=True, env=environment, check=False)
        taken.append(time.perf_counter() - began)
        assert ran.returncode == 0, ran.stderr.decode()
        assert json.loads(ran.stdout)["totals"]["pods"] == PODS
    return statistics.median(taken[1:])


def _file(form: str) -> Path:
    path = RESULTS / f"plan-{PODS}.{form}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        objects = [_pool(), *(_pod(number) for number in range(PODS))]
        if form == "yaml":
            path.write_text(yaml.dump_all(objects, Dumper=_Plain))
        else:
            path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return path


def _pool() -> dict[str, Any]:
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"template": {"spec": {"nodeClassRef": ref, "requirements": []}}},
    }


def _pod(number: int) -> dict[str, Any]:
    """Pods of twenty workloads, of five sizes; a third spread over zones."""
    workload = number % 20
    labels = {"app": f"app-{workload}"}
    size = {"cpu": f"{250 * (1 + workload % 5)}m", "memory": f"{256 * (1 + workload % 7)}Mi"}
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "x", "resources": {"requests": size}}]}
    if workload % 3 == 0:
        spread = {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": labels}}]
    about = {"name": f"pod-{number:04}", "namespace": "default", "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec}
