"""Which requirement is proven by which test: `python -m tools.requirements` makes docs/reference/requirements.md.

The requirements and their numbers stand in `wording.tsv`. A test cites one in its name (`…_S3_4`) or in its own or its
module's docstring (`S3.4`, `R10`).
"""
