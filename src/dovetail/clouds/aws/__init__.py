"""Amazon EC2: what it sells and how its answers are read."""
