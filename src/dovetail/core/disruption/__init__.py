"""Disruption: which nodes to give up, what has to be there first, and why every other node stays.

`passes.decide(World) → Decided` is a function of a snapshot, the catalogs and the time, like `scheduling.solve`.

    zones → cron, allow_windows → budgets → timelines        when, how many at once, and when that changes
    policies, facts, refusals          what is known, and why not
    candidates ← costs, drift_checks   who may be looked at
    scenes                             the cluster settled for what-ifs, and the what-ifs
    pricing, payback, history, balanced → consolidation      what a move is worth
    commands, choosing, scanning, blocking                   which moves go together, and what holds the rest
    emptiness, drifting, static_drift, repairing, expiring   the other methods
    waves → rollouts, renewals         drift of many nodes: how far, how fast, and when it stops
    history, spot_market → recalling   what is remembered, as notes on claims
    spot_market → returning            fallback nodes go back to spot
    interrupting                       machines a cloud takes away
    rebooting, legacy_repair           a reboot from request to end; repair as it was before
    trimming, deletion_costs           static pools that have too many; which pods go first when owners scale down
    validation, orchestration          a command judged again before it starts, and on its way
    waking                             when to look though nothing happens
"""
