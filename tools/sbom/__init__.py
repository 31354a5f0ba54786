"""What comes with dovetail, under which licence, and a bill of it beside the wheel (`make dist`)."""
