"""How much of the core its tests run: every branch counted, and a sentence for each that none takes.

`left` finds the branches that were not taken, `page` makes docs/why/coverage.md of them and of `reasons.tsv`.
"""
