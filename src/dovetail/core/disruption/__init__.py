"""Disruption: which nodes to give up, what has to be there first, and why every other node stays.

`passes.decide(World) → Decided` is a function of a snapshot, the catalogs and the time, like `scheduling.solve`.

    cron → budgets                     when, and how many at once
    policies, facts, refusals          what is known, and why not
    candidates ← costs, drift_checks   who may be looked at
    scenes                             the cluster settled for what-ifs, and the what-ifs
    pricing, payback, history, balanced → consolidation      what a move is worth
    commands, choosing, scanning, blocking                   which moves go together, and what holds the rest
    emptiness, drifting, static_drift, repairing, expiring   the other methods
    trimming                           static pools that have too many
    validation, orchestration          a command judged again before it starts, and on its way
"""
