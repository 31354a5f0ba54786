"""Machines that may run for a day and no longer: they leave before they are taken, with more than half a minute's time.

Machines that were bought together would all leave together, so each goes early by a part of a quarter of an hour that
depends on its name alone.
"""

from __future__ import annotations

from typing import Final
from zlib import crc32

from dovetail.core.handler.notices import Kind, Notice

SOURCE: Final = "age"
#: Before the limit the node begins to leave; and up to so much earlier, by its name.
LEAD_SECONDS: Final = 900.0
_SPREAD_SECONDS: Final = 900.0


def too_old(booted: float, limit: float, name: str, now: float) -> tuple[Notice, ...]:
    """The notice a machine gives itself; `limit` of 0 is none. Starting it again begins a new day."""
    if limit <= 0 or now < leaves_at(booted, limit, name):
        return ()
    about = f"it may run for {limit / 3600:g} h, and has for {(now - booted) / 3600:.1f}"
    return (Notice("age-limit", Kind.AGE_LIMIT, SOURCE, booted + limit, about=about),)


def leaves_at(booted: float, limit: float, name: str) -> float:
    early = crc32(name.encode()) % 1000 / 1000 * _SPREAD_SECONDS
    return booted + max(0.0, limit - LEAD_SECONDS - early)
