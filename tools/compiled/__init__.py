"""The core translated to C by mypyc and compiled: the same modules, the same plans, about twice as fast."""
