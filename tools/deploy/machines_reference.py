"""The upper half of docs/reference/cluster-api.md: how `dovetail machines` is run, its options, metrics and rights."""

from __future__ import annotations

from typing import Final

from tools.controller_reference import table

from dovetail.api import kinds
from dovetail.api.install import machine_rights
from dovetail.api.install.permissions import Permission
from dovetail.controllers.cluster_api import gauges
from dovetail.controllers.cluster_api.stores import MachineStores
from dovetail.controllers.metrics import Metrics
from dovetail.settings import machines as settings

_HEAD: Final = """\
# Cluster API

Made by `make manifests`. `dovetail machines` looks after Cluster API's infrastructure machines of one cloud: it buys
one instance for each, watches it, and removes it. [Why it is built so](../why/cluster-api.md).

## Run it

    dovetail install --machines aws --core own           # definitions, policy, account, roles, two replicas
    dovetail machines --cloud aws --core own             # the same from a desk, with your kubeconfig

Without a cloud, `dovetail machines --cloud sim --core own` keeps instances in memory and makes Nodes of them; it takes
machines of all three kinds. `kubectl annotate node NAME dovetail.dev/take-away=now` has its cloud take one away.
Without a cluster, `dovetail apiserver` serves all the kinds it needs.

One process looks after one cloud; for two clouds run two. Each has its own lease, and with our core each looks after
the Machines of its own kind: a MachineSet by its template, a MachineHealthCheck by its first Machine.

| `--core` | Machines, MachineSets and MachineHealthChecks are looked after by |
|---|---|
| `own` | dovetail. Definitions are in `deploy/cluster-api/machines`; the machines join the cluster it runs in |
| `upstream` | Cluster API's own controllers, installed before; dovetail is their infrastructure provider |
| `auto` | whichever is installed, told by the label Cluster API's installer puts on its definitions |

Both at once is refused: where Cluster API's controllers are installed, `--core own` says so and exits with 2, and so
does `install --machines` before it applies anything. A process whose core is replaced while it runs ends with the same
sentence within a minute.

Keep control planes on demand. A machine that may be taken away takes a member of etcd with it; with the second of three
the cluster is lost. The policy refuses such machines, and the loops refuse what slipped past it.

Nothing makes networks. An AWSCluster, GCPCluster or AzureCluster is marked ready as it is written, unless it has the
annotation `cluster.x-k8s.io/managed-by`: then whoever that is says when. With our core a Cluster is up as soon as its
infrastructure is; bootstrap data comes from `spec.bootstrap.dataSecretName`.

| condition | of | is False or Unknown where |
|---|---|---|
| `InstanceReady` | an infrastructure machine | no instance runs; Unknown while its cloud cannot be asked |
| `Ready` | the same | no instance runs; what ran stays ready while its cloud cannot be asked |
| `Permitted` | the same | a control plane runs on spot already: told of, and not ended. Otherwise not there |
| `MachinesCreated` | a MachineSet | machines are missing and cannot be made; it says why. Otherwise not there |
| `RemediationBackoff` | a MachineHealthCheck | (True) machines fail before they are nodes, and the next one waits |

A MachineSet with `bootstrap.configRef` is refused by that condition under our core: nobody makes the data.

It serves `/healthz`, `/readyz` and `/metrics` as [the controller](controller.md) does, logs JSON lines, and on SIGTERM
stops, gives its lease back and exits with 0. What it was at is found again by the next process.

## Options

"""
_KINDS_HEAD: Final = """\
## The kinds

Made from the structs in `src/dovetail/api/crds/cluster_api`. `deploy/cluster-api/infrastructure`
has the infrastructure machines, which Cluster API's own controllers or ours drive; `deploy/cluster-api/machines` has
the core's kinds for a cluster without Cluster API, and is never installed beside it. `deploy/cluster-api/policy.yaml`
refuses control planes on machines that may be taken away. `deploy/cluster-api/own` and `deploy/cluster-api/upstream`
have what runs, by cloud.

"""


def text(kinds_text: str) -> str:
    """The whole page, with the kinds below."""
    return "".join((_HEAD, _options(), _metrics(), _rights(), _KINDS_HEAD, kinds_text))


def _options() -> str:
    rows = [
        f"| `--{one.name}` | `{one.variable}` | {one.help} |\n"
        for one in (*settings.OPTIONS, *settings.PROCESS_OPTIONS)
    ]
    return "".join(("| flag | variable | what for (default) |\n|---|---|---|\n", *rows, "\n"))


def _metrics() -> str:
    metrics = gauges.declare(Metrics())
    gauges.declare_gauges(metrics, MachineStores(kinds.INFRA_MACHINES, core=True))
    every = sorted(metrics.families(), key=lambda one: one.name)
    head = "## Metrics\n\nBeside those of the process, which every `/metrics` has:\n\n"
    return f"{head}{table(every)}\n"


def _rights() -> str:
    """By resource, for a real cloud; the difference between the two cores is what a core needs."""
    less = _granted(machine_rights.everywhere("aws", machine_rights.UPSTREAM))
    more = _granted(machine_rights.everywhere("aws", machine_rights.OWN))
    rows = [
        f"| `{resource}` | {', '.join(less.get(resource, ())) or 'nothing'} | {', '.join(more[resource])} |\n"
        for resource in sorted(more)
    ]
    head = (
        "## Rights\n\nAs `install --machines aws` grants them, with Cluster API's core and with ours. The tests run it "
        "under exactly these.\n\n| resource | `--core upstream` | `--core own` |\n|---|---|---|\n"
    )
    tail = (
        "\nThe definition is that of Machine alone, and Secrets can be read by name and not listed: bootstrap data\n"
        "lies in them. On GCP, whose preemptible machines end within a day, Machines may be deleted beside Cluster\n"
        "API's core too. `sim` plays kubelet and may do what that takes. In its own namespace it may make leases, and\n"
        "change the one named `dovetail-machines-CLOUD`.\n\n"
    )
    return "".join((head, *rows, tail))


def _granted(rules: tuple[Permission, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for rule in rules:
        for resource in rule.resources:
            held = found.setdefault(f"{resource}.{rule.group}" if rule.group else resource, [])
            held.extend(verb for verb in rule.verbs if verb not in held)
    return {resource: tuple(verbs) for resource, verbs in found.items()}
