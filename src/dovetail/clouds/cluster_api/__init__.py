"""Machines of Cluster API as a `Cloud`: a NodeClaim is launched by making a Machine from a template, and ended by
deleting it.

    market    what pools with a template for a node class can buy: the template's type, one way, where its cluster is
    objects   the Machine, the infrastructure machine and the bootstrap config of a claim, and a Machine as an instance
    cloud     the port: make, wait for the instance, find, delete

One claim, one Machine, one instance (R9): all objects bear the claim's name and belong to the claim, so making them
again finds them, and no set adopts them. Who runs instances is none of its business: Cluster API's own controllers and
providers, or ours. [Why it is built so](docs/why/cluster-api.md).
"""
