"""Structural schemas of custom resources, enforced as a real API server enforces them."""

from __future__ import annotations

from dovetail.apiserver.errors import Cause
from dovetail.apiserver.schemas.schema import Schema
from dovetail.apiserver.schemas.schema import compile_schema as compile  # noqa: A004 - read as schemas.compile

__all__ = ["Cause", "Schema", "compile"]
