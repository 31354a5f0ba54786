"""The pure core: values and functions of values. No I/O, clock, logging or randomness lives here."""
