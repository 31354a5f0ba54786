"""The controllers of an embedded cluster: they make it behave, and nothing in them starts a container."""

from __future__ import annotations

from dovetail.apiserver.controllers.cluster import Controllers, Options, controllers_of

__all__ = ["Controllers", "Options", "controllers_of"]
