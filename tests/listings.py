"""Listings, read once for all tests: they are frozen, so sharing them is safe."""

from __future__ import annotations

from functools import cache

from dovetail.clouds.load import load

load_once = cache(load)
