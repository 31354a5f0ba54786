"""What moto works out anew for every request, and what does not change: the methods of a class, its own folders."""

from __future__ import annotations

from functools import cache

from moto import backends
from moto.core import responses

_folders = backends.list_of_moto_modules


@cache
def _modules() -> tuple[str, ...]:
    return tuple(_folders())


def graft() -> None:
    backends.list_of_moto_modules = _modules
    if not hasattr(responses.method_names_from_class, "cache_info"):
        responses.method_names_from_class = cache(responses.method_names_from_class)
