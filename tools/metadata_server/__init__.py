"""A metadata server of three clouds on loopback, with every odd answer they are known for, for tests and benchmarks."""
