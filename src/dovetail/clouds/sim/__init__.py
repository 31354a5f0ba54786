"""A cloud that exists only here: a market with stock, and prices that move when told to."""
