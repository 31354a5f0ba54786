"""Worlds and walks: what is there, what happens, and what can be seen; shared by the demo, tests and benchmarks."""
