"""A pytest plugin: every Hypothesis property draws few examples, the same each time.

For runs that want to know what the tests look at, not whether they hold.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

FEW: Final = 10


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        test, machine = getattr(item, "obj", None), getattr(item, "cls", None)
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if asked is not None:
            getattr(test, "__func__", test)._hypothesis_internal_use_settings = _few(asked)
        elif getattr(machine, "settings", None) is not None:
            machine.settings = _few(machine.settings)  # a state machine of Hypothesis


def _few(asked: Any) -> Any:
    from hypothesis import Phase, settings  # not above: pytest wants to load it first, to rewrite its asserts

    return settings(
        asked,
        max_examples=min(FEW, asked.max_examples),
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),  # nothing is shrunk: a failure is a failure
    )
