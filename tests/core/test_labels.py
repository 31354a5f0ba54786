"""Label keys have one spelling, and users may not set all of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.core import labels
from dovetail.core.errors import BadInput
from dovetail.core.labels import Dialect, canonical, check_key, check_value, is_restricted
from dovetail.core.requirements import Requirements, is_in, requirement


@pytest.mark.parametrize(
    ("alias", "key"),
    [
        ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
        ("beta.kubernetes.io/os", "kubernetes.io/os"),
        ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        ("topology.ebs.csi.aws.com/zone", "topology.kubernetes.io/zone"),
    ],
)
def test_an_alias_is_the_same_constraint_as_the_key(alias: str, key: str) -> None:
    assert canonical(alias) == canonical(key) == key
    assert is_in(alias, "x") == is_in(key, "x")
    assert Requirements.of_labels({alias: "x"}) == Requirements.of_labels({key: "x"})


def test_a_provider_may_spell_values_its_own_way_once_the_key_is_canonical() -> None:
    dialect = Dialect(values={labels.ZONE: {"": "0"}})
    built = requirement("topology.disk.csi.azure.com/zone", "In", ["", "eastus-1"], dialect=dialect)
    assert built == is_in(labels.ZONE, "0", "eastus-1")
    assert Requirements.of_labels({labels.ZONE: ""}, dialect).value(labels.ZONE) == "0"
    assert requirement("other", "In", [""], dialect=dialect) == is_in("other", "")


@pytest.mark.parametrize(
    "key", ["kubernetes.io/hostname", "karpenter.sh/registered", "karpenter.sh/whatever", "deep.down.karpenter.sh/x"]
)
def test_the_hostname_and_the_reserved_domain_are_not_for_users(key: str) -> None:
    assert is_restricted(key)


@pytest.mark.parametrize(
    "key",
    [*sorted(labels.WELL_KNOWN), "kubernetes.io/anything", "k8s.io/x", "team", "notkarpenter.sh/x", "karpenter.sh"],
)
def test_well_known_and_own_keys_are_for_users(key: str) -> None:
    assert not is_restricted(key)


def test_what_a_provider_knows_well_is_for_users() -> None:
    assert not is_restricted("x.karpenter.sh/y", frozenset({"x.karpenter.sh/y"}))


@pytest.mark.parametrize("key", ["a", "A_b.C-9", "example.com/team", "x.y.z/N", "a" * 63, "a." * 126 + "a/b"])
def test_a_key_kubernetes_takes_is_taken(key: str) -> None:
    check_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/",
        "a/",
        "/a",
        "a/b/c",
        "-a",
        "a-",
        "Example.com/a",
        "a..b/c",
        "a" * 64,
        "a." * 127 + "a/b",
        "é",
        "a b",
        "a\n",
        "a" * 10**6,
        "a." * 10**6,
        "a-" * 10**6,
    ],
    ids=lambda key: key[:12],
)
def test_a_key_kubernetes_refuses_is_refused_in_a_short_sentence(key: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_key(key)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", ["", "a", "A_b.C-9", "1", "a" * 63])
def test_a_value_kubernetes_takes_is_taken(value: str) -> None:
    check_value(value)


@pytest.mark.parametrize(
    "value", ["-1", "a-", "a b", "a/b", "é", "a" * 64, "a\n", "a" * 10**6], ids=lambda value: value[:12]
)
def test_a_value_kubernetes_refuses_is_refused_in_a_short_sentence(value: str) -> None:
    with pytest.raises(BadInput) as caught:
        check_value(value)
    assert len(str(caught.value)) < 250


@given(st.text(max_size=300))
def test_any_text_is_a_key_or_refused(text: str) -> None:
    try:
        check_key(text)
    except BadInput:
        return
    assert canonical(canonical(text)) == canonical(text)
