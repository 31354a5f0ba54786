"""Protobuf bodies and typed values."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.api.kinds import NODES, PODS
from dovetail.apiserver import builtin_types, cleaning, protobuf
from dovetail.apiserver.errors import ApiError


def varint(number: int) -> bytes:
    found = bytearray()
    number &= 2**64 - 1
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def part(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def envelope(api_version: str, kind: str, raw: bytes) -> bytes:
    return b"k8s\x00" + part(1, part(1, api_version) + part(2, kind)) + part(2, raw)


def test_a_pod_in_protobuf_is_the_pod_in_json() -> None:
    labels = part(1, "app") + part(2, "web")
    metadata = part(1, "p") + part(11, labels) + part(8, part(1, 1_767_225_600))
    amount = part(1, "cpu") + part(2, part(1, "100m"))
    container = part(1, "main") + part(2, "app:1") + part(8, part(2, amount))
    volume = part(1, "data") + part(2, part(2, b""))
    spec = part(1, volume) + part(2, container) + part(4, 30) + part(25, -5)
    assert protobuf.decode(envelope("v1", "Pod", part(1, metadata) + part(2, spec))) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"app": "web"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "volumes": [{"name": "data", "emptyDir": {}}],
            "containers": [{"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}],
            "terminationGracePeriodSeconds": 30,
            "priority": -5,
        },
    }


def test_a_number_or_a_text_is_read_as_the_one_it_is() -> None:
    both = [part(1, 0) + part(2, 3) + part(3, ""), part(1, 1) + part(2, 0) + part(3, "50%")]
    found = [protobuf.decode(envelope("policy/v1", "PodDisruptionBudget", part(2, part(1, one)))) for one in both]
    assert [one["spec"]["minAvailable"] for one in found] == [3, "50%"]


@given(st.binary(max_size=60))
def test_nonsense_in_protobuf_is_refused_and_nothing_worse(body: bytes) -> None:
    for sent in (body, envelope("v1", "Pod", body)):
        with contextlib.suppress(ApiError):
            assert protobuf.decode(sent)["kind"] == "Pod"


def test_an_unknown_kind_in_protobuf_is_refused() -> None:
    with pytest.raises(ApiError, match="no kind 'Nothing'"):
        protobuf.decode(envelope("v1", "Nothing", b""))


def cleaned(kind: object, obj: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    message = builtin_types.message_of(kind)  # type: ignore[arg-type]
    assert message is not None
    return obj, cleaning.clean(obj, message)


def test_unknown_fields_are_named_by_their_path_and_gone() -> None:
    obj = {"metadata": {"name": "p", "nam": "x"}, "spec": {"containers": [{"name": "a", "imag": "x"}]}}
    assert cleaned(PODS, obj) == (
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}]}},
        ["metadata.nam", "spec.containers[0].imag"],
    )


def test_times_are_written_one_way() -> None:
    condition = {"type": "Ready", "lastHeartbeatTime": "2026-01-01T01:00:00.123456789+01:00"}
    obj, _ = cleaned(NODES, {"status": {"conditions": [condition]}})
    assert obj["status"] == {"conditions": [{"type": "Ready", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}]}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ({"capacity": {"cpu": "many"}}, "quantities must match the regular expression"),
        ({"conditions": [{"lastHeartbeatTime": "today"}]}, 'parsing time "today"'),
        ({"conditions": {}}, "cannot unmarshal object into Go struct field .status.conditions"),
        ({"capacity": []}, "cannot unmarshal array"),
    ],
)
def test_a_value_of_no_type_it_could_be_is_refused(status: dict[str, object], text: str) -> None:
    with pytest.raises(cleaning.WrongType) as caught:
        cleaned(NODES, {"status": status})
    assert text in str(caught.value)
