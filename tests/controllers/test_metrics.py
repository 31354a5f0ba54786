from __future__ import annotations

import pytest

from dovetail.controllers.metrics import Metrics


def test_counters_add_up_by_their_labels():
    metrics = Metrics()
    metrics.counter("nodes_created_total", "Nodes that joined.", "nodepool", "zone")
    metrics.count("nodes_created_total", {"nodepool": "a", "zone": "z"})
    metrics.count("nodes_created_total", {"nodepool": "a", "zone": "z"}, 2)
    assert 'karpenter_nodes_created_total{nodepool="a",zone="z"} 3\n' in metrics.text()
    assert metrics.value("nodes_created_total", {"nodepool": "a", "zone": "z"}) == 3


def test_a_histogram_counts_upwards_and_ends_at_infinity():
    metrics = Metrics()
    metrics.histogram("seconds", "How long.", buckets=(1.0, 5.0))
    for value in (0.5, 1.0, 3.0, 9.0):
        metrics.observe("seconds", {}, value)
    assert metrics.text().splitlines()[2:] == [
        'karpenter_seconds_bucket{le="1"} 2',
        'karpenter_seconds_bucket{le="5"} 3',
        'karpenter_seconds_bucket{le="+Inf"} 4',
        "karpenter_seconds_sum 13.5",
        "karpenter_seconds_count 4",
    ]


def test_gauges_are_asked_for_when_somebody_looks():
    held = {"a": 1.0}
    metrics = Metrics()
    metrics.gauge("pools", "Pools.", lambda: [({"name": name}, value) for name, value in held.items()], "name")
    assert 'karpenter_pools{name="a"} 1\n' in metrics.text()
    held.clear()
    assert "{" not in metrics.text()


def test_odd_label_values_are_escaped():
    metrics = Metrics()
    metrics.counter("odd_total", "Odd.", "x")
    metrics.count("odd_total", {"x": 'a"b\\c\nd'})
    assert 'x="a\\"b\\\\c\\nd"' in metrics.text()


def test_a_label_nobody_declared_is_refused():
    metrics = Metrics()
    metrics.counter("some_total", "Some.", "x")
    with pytest.raises(ValueError, match="has the labels"):
        metrics.count("some_total", {"y": "1"})
