"""What every room of the tests may ask for, and how Hypothesis searches in all of them: without deadlines, as no test
may look at a clock, and with nothing kept on disk.
"""

from __future__ import annotations

import signal

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.order_plugin", "tests.control_plane_plugin", "tests.aws_plugin", "tests.gcp_plugin"]

settings.register_profile("house", deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")


def pytest_configure() -> None:
    """A shell that starts tests in the background has them ignore Ctrl-C, and so would every process they start and
    press it in."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
