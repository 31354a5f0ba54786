"""What dovetail puts into a cluster besides its resource definitions: who it is, what it may do, how it runs.

`permissions` is the one place that says what it may do; `workload` is how it runs; `objects` puts both together. The
command, the plain manifests and the chart are all made from here.
"""
