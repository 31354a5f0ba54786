"""An EC2NodeClass resolved, kept true, and told of.

    spec            the object → ClassSpec, parsed once;  disks      volumes, and which of them pods share
    memory          questions to AWS, remembered and asked once
    places          subnets, security groups, placement group     ┐
    amis            images, by alias, parameter or selector       │ a Look each: a value, a verdict,
    reservations    capacity reservations, counts, expiring ones  │ when to look again
    profiles        the instance profile, made and kept           ┘
    home            the cluster machines join;  booting   user data, one text for many types (S2.13)
    validation      what can be judged by reading: tags, kubelet (kubelet_rules), user data
    trials          what only AWS can judge: dry runs, with the IAM action that is missing
    rights          the same of a class that is not whole yet
    hashing         the drift hash, and claims that carry another version of it
    verdicts        conditions and their sentences;  statuses   what the status says
    resolver        `Resolver`: all of it together

Whoever puts the cloud together makes one `Resolver(Kit(aws, templates, home, kubernetes, counts, now))` and gives it as
`Cloud.node_classes`; the controller of classes calls `resolve`, `release` and `sweep` and writes what they report.

    launching     resolver.resolved(ref)      the ResolvedClass, or an error that says why not
    the market    resolver.spec(ref)          family, kubelet, ephemeral_bytes, raid0, network.interfaces …
                  resolver.resolved(ref)      zones, images (`image_for`), reservations, placement group
                  resolver.selected_reservations(ref)  with totals;  `kit.counts.left(id)` is how many are free now
                  resolver.generation         has changed when any of this has
    drift         clouds.aws.drift.drifted(claim, machine, resolver.resolved(ref), kind)
    set_node_class(ref, wire)                 resolver.note(ref, wire)
"""

from dovetail.clouds.aws.nodeclass.resolver import Kit, Resolver
from dovetail.clouds.aws.nodeclass.spec import ClassSpec

__all__ = ["ClassSpec", "Kit", "Resolver"]
