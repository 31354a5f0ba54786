"""Acting on disruption: `core.disruption` decides what is to go, these loops gather what it decides from and see to it.

    worlds      the cluster, its claims, pods and pools as one `World`
    loop        when to decide, what is kept to be judged again, and when it is started
    carrying    a command that was started: marked, replacements ordered, waited for, drained, or undone
    marks       the taint and the condition of nodes that a command has chosen; everybody else's are removed
    moves       where the pods of those nodes are to go, so that nobody plans them a second time
    conditions  Drifted and Consolidatable on claims
    telling     events and metrics

What a command has done so far stands in the cluster, never only here: nodes with the taint, claims with the condition,
replacements that name what they replace. A process that starts removes marks nobody answers for, and gives back
replacements of commands that died with another process.
"""
