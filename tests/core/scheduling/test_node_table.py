"""Which nodes have which labels, looked up when somebody asks."""

from __future__ import annotations

from dovetail.core import labels
from dovetail.core.nodes import Node
from dovetail.core.requirements import Operator, Requirements, requirement
from dovetail.core.resources import Resources
from dovetail.core.scheduling.nodetable import NodeTable

OLD = "beta.kubernetes.io/arch"


def table(**told: dict[str, str]) -> NodeTable:
    return NodeTable([Node(name, one) for name, one in told.items()], (), ())


def wanting(key: str, operator: Operator, *values: str) -> Requirements:
    return Requirements([requirement(key, operator, values)])


def test_an_old_spelling_of_a_label_is_the_label() -> None:
    held = table(a={OLD: "arm64"}, b={labels.ARCH: "arm64"}, c={labels.ARCH: "amd64", OLD: "amd64"}, d={})
    assert held.domains(labels.ARCH) == {"arm64": 0b0011, "amd64": 0b0100}
    assert held.admitting(wanting(labels.ARCH, Operator.IN, "arm64")) == 0b0011
    assert held.admitting(wanting(labels.ARCH, Operator.NOT_IN, "arm64")) == 0b1100
    assert held.admitting(wanting(labels.ARCH, Operator.DOES_NOT_EXIST)) == 0b1000
    assert held.admitting(wanting(labels.ARCH, Operator.EXISTS)) == 0b0111


def test_a_label_nobody_has_is_absent_everywhere() -> None:
    held = table(a={}, b={"x": "1"})
    assert held.domains("team") == {}
    assert held.admitting(wanting("team", Operator.DOES_NOT_EXIST)) == 0b11
    assert held.admitting(wanting("team", Operator.EXISTS)) == 0


def test_hostnames_are_asked_one_by_one_and_are_no_domains() -> None:
    held = table(a={labels.HOSTNAME: "one"}, b={})
    assert held.domains(labels.HOSTNAME) == {}
    assert held.admitting(wanting(labels.HOSTNAME, Operator.IN, "one", "b")) == 0b11
    assert [held.value(number, labels.HOSTNAME) for number in (0, 1)] == ["one", "b"]


def test_what_only_some_nodes_have_is_none_of_the_others() -> None:
    nodes = [Node("a", allocatable=Resources({"cpu": 2})), Node("b", allocatable=Resources({"cpu": 1, "gpu": 4}))]
    held = NodeTable(nodes, (), ())
    assert (held.column("cpu"), held.column("gpu"), held.column("disk")) == ([2, 1], [0, 4], [0, 0])
