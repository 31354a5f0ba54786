"""Objects of a live cluster: read from the watch into values of the core, and written back as the smallest patch."""
