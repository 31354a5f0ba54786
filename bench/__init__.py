"""Side-by-side benchmarks, the peer included.

`python -m bench` runs every `bench_*.py` of this package and renders `docs/reference/performance.md`. Such a
module has a docstring that says what it measures and why that is a fair comparison, a `NAME`, and a
`run() -> list[Row]`; nothing has to be registered.
"""
