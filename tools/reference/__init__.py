"""The parts of docs/reference that are made from the code: `python -m tools.reference`, or `make manifests`.

What stands between two marks of a page is made; the rest of it is written by hand. `pages.PAGES` says who makes what.
Pages that are made as a whole come from tools/deploy (custom resources), tools/requirements and bench.
"""
