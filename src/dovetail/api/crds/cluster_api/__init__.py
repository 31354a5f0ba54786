"""Cluster API's kinds as far as machines need them: the core's own, and the infrastructure machines of three clouds.

The infrastructure kinds are installed wherever machines are run; the core's kinds (`core_kinds`) only in a cluster that
does not have Cluster API's controllers, since two definitions of one kind cannot live together. Fields nobody here
looks into are kept as they are written (`schema.Open`), so that manifests written for the providers' own definitions
are accepted and lose nothing that was declared.
"""
