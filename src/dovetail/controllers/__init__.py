"""The loops: each watches something, asks the core what follows, and has it done."""
