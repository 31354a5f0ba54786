"""The machines of the kwok provider: none of them real, all of them schedulable."""
