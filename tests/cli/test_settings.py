"""Settings: a flag beats its variable, a variable the default, and nonsense is refused by name."""

from __future__ import annotations

from argparse import Namespace
from fractions import Fraction

import pytest

from dovetail import settings
from dovetail.core.errors import BadInput


def read(environment: dict[str, str] | None = None, **flags: object) -> settings.Settings:
    return settings.read(Namespace(**flags), environment or {})


def test_prices_live_in_the_users_data_directory():
    assert read({"DOVETAIL_HOME": "/a", "XDG_DATA_HOME": "/b"}).data_dir == "/a"
    assert read({"XDG_DATA_HOME": "/b"}).data_dir == "/b/dovetail"
    assert read({"XDG_DATA_HOME": "relative"}).data_dir.endswith("/.local/share/dovetail")


def test_colour_can_be_refused_three_ways():
    assert not read().no_color
    assert read({"NO_COLOR": "1"}).no_color
    assert read({"TERM": "dumb"}).no_color
    assert read(no_color=True).no_color


@pytest.mark.parametrize(("text", "columns"), [("80", 80), ("1", 20), ("9" * 40, 500), ("wide", None), ("", None)])
def test_columns_is_believed_within_reason(text, columns):
    assert read({"COLUMNS": text}).columns == columns


def test_the_vm_overhead_is_a_share_and_the_flag_beats_the_variable():
    assert read({"VM_MEMORY_OVERHEAD_PERCENT": "0.075"}).vm_memory_overhead == Fraction(75, 1000)
    assert read(
        {"VM_MEMORY_OVERHEAD_PERCENT": "0.075"}, vm_memory_overhead_percent="5%"
    ).vm_memory_overhead == Fraction(1, 20)
    assert read().vm_memory_overhead is None


@pytest.mark.parametrize("text", ["7.5", "1", "100%", "-0.1", "NaN", "1/2", "x", "0.1.1", "9" * 40])
def test_an_overhead_that_is_no_share_is_refused(text):
    with pytest.raises(BadInput, match="VM_MEMORY_OVERHEAD_PERCENT"):
        read({"VM_MEMORY_OVERHEAD_PERCENT": text})


def test_gates_are_on_or_off_and_the_flag_has_the_last_word_S0_4():
    assert read().gate("InstanceTypeCaching")
    assert not read({"FEATURE_GATES": "InstanceTypeCaching=false,NodeRepair=true"}).gate("InstanceTypeCaching")
    assert read({"FEATURE_GATES": "InstanceTypeCaching=false"}, feature_gates="InstanceTypeCaching=true").gate(
        "InstanceTypeCaching"
    )


@pytest.mark.parametrize("text", ["InstanceTypeCaching", "InstanceTypeCaching=maybe"])
def test_a_gate_that_is_neither_on_nor_off_is_refused(text):
    with pytest.raises(BadInput, match="FEATURE_GATES"):
        read({"FEATURE_GATES": text})


def test_a_gate_nobody_knows_is_refused_where_it_is_typed_and_tolerated_in_a_chart():
    with pytest.raises(BadInput, match="--feature-gates: there is no gate 'Nonsense'"):
        read({}, feature_gates="Nonsense=true")
    assert read({"FEATURE_GATES": "Nonsense=true,NodeRepair=true"}).gate("NodeRepair")
