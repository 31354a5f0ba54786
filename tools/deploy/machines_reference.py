"""The upper half of docs/reference/cluster-api.md: how `dovetail machines` is run, its options, metrics and rights."""

from __future__ import annotations

from typing import Final

from tools.reference import marks
from tools.reference.metrics import table

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
| `MachinesCreated` | a MachineDeployment | always, under our core: nobody rolls machines out; write a MachineSet |
| `RemediationBackoff` | a MachineHealthCheck | (True) machines fail before they are nodes, and the next one waits |
| `ExternalRemediationTemplateAvailable` | the same | its template cannot be used. Without one it is not there |
| `ExternalRemediationRequestAvailable` | the same | a request cannot be made. There while somebody is asked |
| `ExternallyRemediated` | a Machine | somebody else is asked to heal it, or should be; it says by which check |

The others are Cluster API's own, and mean what they mean there: `Available`, `UpToDate`, `BootstrapConfigReady`,
`InfrastructureReady`, `NodeReady`, `NodeHealthy`, `HealthCheckSucceeded`, `OwnerRemediated`, `Deleting` and `Paused` of
a Machine; `ScalingUp`, `ScalingDown`, `MachinesReady`, `MachinesUpToDate`, `Remediating`, `Deleting` and `Paused` of a
MachineSet; `RemediationAllowed` and `Paused` of a MachineHealthCheck; `ControlPlaneInitialized` of a Cluster.

Under our core nobody makes bootstrap data from a config object, nor machines for a MachineDeployment. Neither is passed
over in silence: `bootstrap.configRef` of a MachineSet is refused by `MachinesCreated`, that of a Machine by
`BootstrapConfigReady` with the reason `BootstrapConfigNotRead`, and a MachineDeployment by `MachinesCreated`; each
names the field and what to write instead, with a warning event beside it. A Machine whose config has made its Secret
already, before the core was ours, has it in `dataSecretName` and runs. With `--core upstream` both work.

MachineDrainRules are not read under our core, whose definitions have no such kind: rules of an earlier core change
nothing. Pods leave all at once, by eviction and within `nodeDrainTimeoutSeconds`; the label `cluster.x-k8s.io/drain` of
a pod is read, `skip` (it stays) or `wait-completed` (it is waited for). With `--core upstream` Cluster API drains, and
heeds the rules.

A MachineHealthCheck with `spec.remediation.templateRef` leaves unhealthy machines to somebody else, such as a
controller that reboots them, and their set does not replace them. For each machine that may be healed one object is
made from the template's `spec.template`: of the template's kind without `Template`, with the Machine's name and
namespace, owned by the Machine, labelled with its cluster. It is made once, again if somebody deletes it, ever more
slowly for machines that failed before they were nodes (`backoff`), and deleted when the machine is well again or no
longer selected. Which check made it stands in the annotation `dovetail.dev/health-check`; where two checks select one
machine, only that one deletes it, and the other leaves what the Machine says of its health alone. Where that check, or
its `templateRef`, is deleted, the next check with a template of the same kind that finds the machine well deletes it;
without one it stays, and goes with its Machine. What keeps it from being made (a kind nobody defined, a template that
is not there, a right that is missing) stands in the conditions above and in an event, and is tried again within a
minute or two. The kinds are others', so no installation grants rights to them; grant these to the account of each
`dovetail machines`:

    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: dovetail-machines-remediation}
    rules:
      - {apiGroups: [remedy.example.com], resources: [reboottemplates], verbs: [get]}
      - {apiGroups: [remedy.example.com], resources: [reboots], verbs: [list, create, delete]}
    ---
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: dovetail-machines-remediation}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: dovetail-machines-remediation}
    subjects:
      - {kind: ServiceAccount, name: dovetail-machines-aws, namespace: NAMESPACE}

That an instance is ordered stands in an annotation of its infrastructure machine, `dovetail.dev/launch-ordered`, before
it is: for which object, when, and whether the cloud has taken the order. It goes when the provider ID is on record. A
machine whose order is on record, and of which the cloud has nothing any more, has failed with `InstanceNotFound`; so
has one whose order is fifty minutes old and was never heard of. One that is deleted within three minutes of its order
keeps its finalizer until they are over, and is looked for: what was ordered may not be shown yet.

It serves `/healthz`, `/readyz` and `/metrics` as [the controller](controller.md) does, logs JSON lines, and on SIGTERM
stops, gives its lease back and exits with 0. What it was at is found again by the next process.

## Options

"""
_INFRA: Final = "infrastructure machine"
_EVENTS: Final = (
    ("SuccessfulCreate", _INFRA, "its instance was made"),
    (
        "FailedCreate",
        f"{_INFRA}, MachineSet, MachineDeployment",
        "the cloud refused an instance; machines of a set cannot be made; nobody makes those of a deployment",
    ),
    ("BootstrapConfigNotRead", "Machine", "its bootstrap data would come from an object that nobody here reads"),
    ("InvalidConfiguration", _INFRA, "it can never be had as it is written, and failed"),
    ("InstanceProvisionFailed InsufficientResources", _INFRA, "the cloud refused it for good, or too often: it failed"),
    (
        "InstanceNotFound InstanceTerminated InstanceStopped Evicted",
        _INFRA,
        "its instance is gone, was stopped, or was taken away: it failed",
    ),
    ("CloudNotAnswering InstanceDeletionFailed", _INFRA, "the cloud cannot be asked, or does not remove it"),
    ("SuccessfulSetInterruptibleNodeLabel", "Machine", "its Node may be taken away, and says so"),
    ("FailedSetNodeRef", "Machine", "several Nodes have its provider ID, and none is touched"),
    ("LifetimeEnding", "Machine", "its cloud is about to end it; it is replaced where somebody would"),
    (
        "WaitingForPreDrainHook DrainingNode WaitingForVolumeDetach WaitingForPreTerminateHook "
        "WaitingForInfrastructureDeletion WaitingForBootstrapDeletion DeletingNode",
        "Machine",
        "how far its deletion is",
    ),
    ("SuccessfulDelete", "MachineSet", "it had too many, and some go"),
    ("MachineMarkedUnhealthy", "Machine", "a health check hands it over to be replaced, or to be healed"),
    ("RemediationRestricted", "MachineHealthCheck", "too many are unhealthy, and none is replaced"),
    (
        "ExternalRemediationTemplateNotFound ExternalRemediationRequestCreationFailed",
        "MachineHealthCheck",
        "nobody can be asked to heal its machines: the template cannot be used, a request cannot be made",
    ),
    (
        "ExternalRemediationRequestDeletionFailed",
        "MachineHealthCheck",
        "a request for a machine that is well cannot be deleted",
    ),
)
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
    return "".join((_HEAD, _options(), _metrics(), _events(), _rights(), _KINDS_HEAD, kinds_text))


def _options() -> str:
    rows = [
        f"| `--{one.name}` | `{one.variable}` | {one.help} |\n"
        for one in (*settings.OPTIONS, *settings.PROCESS_OPTIONS)
    ]
    return "".join(("| flag | variable | what for (default) |\n|---|---|---|\n", *rows, "\n"))


def _metrics() -> str:
    metrics = gauges.declare(Metrics())
    gauges.declare_gauges(metrics, MachineStores(kinds.INFRA_MACHINES, core=True))
    head = "## Metrics\n\nBeside those of the process, which every `/metrics` has:\n\n"
    return f"{head}{table(metrics.families())}\n"


def _events() -> str:
    rows = [(", ".join(f"`{one}`" for one in words.split()), on, when) for words, on, when in _EVENTS]
    return f"## Events\n\n{marks.table(('reason', 'on', 'when'), rows)}\n"


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
