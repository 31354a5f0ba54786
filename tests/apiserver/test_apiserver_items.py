"""What is kept of an object beside its JSON."""

from __future__ import annotations

import gc

from dovetail.apiserver import items
from dovetail.apiserver.items import Item

LABELS = {"app": "shared in this test"}
KEY = (("app", "shared in this test"),)


def item(name: str) -> Item:
    return Item({"metadata": {"name": name, "labels": dict(LABELS)}}, b"{}", 1, ())


def test_objects_with_the_same_labels_share_them_for_as_long_as_one_is_there() -> None:
    """Each Node has a set of its own: one that outlived its Node would be kept for nobody."""
    one, two = item("a"), item("b")
    assert one.labels is two.labels
    assert one.labels == LABELS
    del one
    assert KEY in items._shared
    del two
    gc.collect()
    assert KEY not in items._shared
