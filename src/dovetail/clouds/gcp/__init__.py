"""Google Compute Engine: what it sells and how its answers are read."""
