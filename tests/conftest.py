"""What every room of the tests may ask for."""

from __future__ import annotations

pytest_plugins = ["tests.control_plane_plugin", "tests.aws_plugin", "tests.gcp_plugin"]
