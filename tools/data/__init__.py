"""Makes the bundled catalogue in `src/dovetail/data` from published packages: `python -m tools.data`."""
