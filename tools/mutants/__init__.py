"""Do the tests notice? Small mistakes are put into the core on purpose, one at a time, and the tests run over each.

`changes` knows the mistakes and finds where each could be made; `trial` learns which test runs which line, puts one
mistake into a copy of the process and runs the tests that reach it; `judged.tsv` has a sentence for each mistake that
no test can notice; `page` makes docs/why/mutants.md of it all.
"""
