"""A soak: everything at once, for minutes, with chaos on, and then nothing must be left.

    python -m tools.soak --minutes 10

An API server, simulated machines and their kubelets, and the controller under its lease, in one process. Load comes and
goes, calls and machines fail, the API server refuses, breaks off and goes away, the controller is ended and begins
anew. In the end everything is scaled to zero, and claims, Nodes, machines and the market's ledger must be empty, the
controller must remember nobody, and memory must not have grown.
"""
