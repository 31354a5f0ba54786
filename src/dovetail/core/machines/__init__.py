"""Machines of Cluster API: one Machine, one instance, never replaced behind its back.

Everything here is a decision: objects as they are and the time go in, effects come out (`effects`). `infra` buys and
watches one instance for one infrastructure machine; `progress` and `deletion` follow a Machine from its infrastructure
to its Node and back; `sets` keeps a count; `health` says which machines are unhealthy and `remediation` what is done
about it, ever more slowly while the market has nothing, and `external` what is, where somebody else heals them. Numbers
in brackets (R10) are the requirements of the proposal for spot instances in Cluster API.
"""
