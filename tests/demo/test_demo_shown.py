"""What the demo says of a decision, and what it draws."""

from __future__ import annotations

import io
import re
from collections import Counter

import pytest

from dovetail.core.catalog.shortages import Shortage
from dovetail.demo import screen, sentences
from dovetail.demo.seen import BOOTING, ORDERED, READY, Machine, Seen
from dovetail.demo.witness import Bought, GivenUp, Joined
from dovetail.views.paint import PLAIN, Paint
from dovetail.views.table import display_width

ANSI = re.compile(r"\x1b\[\??[0-9;]*[A-Za-z]")
CENT = 10_000_000


def bought(kind: str = "m5.large", zone: str = "z-1", cents: int = 5, **changed) -> Bought:
    return Bought(
        **{"name": "a", "pods": 2, "capacity_type": "spot"} | changed, type=kind, zone=zone, nanodollars=cents * CENT
    )


def machine(name: str = "a", kind: str = "m5.large", state: str = READY, **changed) -> Machine:
    return Machine(name, "general", kind, changed.pop("zone", "us-east-1a"), "spot", 5 * CENT, state, 2)


def seen(*machines: Machine) -> Seen:
    return Seen(machines, 40, 3, Counter(web=40))


# ---- sentences


def test_machines_of_one_type_are_told_together_with_their_zones_and_prices():
    (told,) = sentences.of([bought(), bought(zone="z-2", cents=6), bought("c5.large", capacity_type="on-demand")])
    assert told == (
        "3 machines bought for 6 pods, $0.1600/h together: "
        "2× m5.large spot in z-1, z-2 at $0.0500–$0.0600/h; c5.large on-demand in z-1 at $0.0500/h."
    )


def test_one_machine_is_told_without_a_sum():
    assert list(sentences.of([bought(pods=1)])) == ["1 machine bought for 1 pod: m5.large spot in z-1 at $0.0500/h."]


def test_a_machine_for_nobody_yet_is_not_said_to_be_for_none():
    assert list(sentences.of([bought(pods=0)])) == ["1 machine bought: m5.large spot in z-1 at $0.0500/h."]


def test_a_purchase_says_what_was_sold_out_before_it():
    (told,) = sentences.of([bought(missed=(Shortage("m4.large", "z-3", "spot"),))])
    assert told.endswith("at $0.0500/h (m4.large spot in z-3 being sold out).")


def test_orders_nobody_could_fill_are_told_with_what_ran_out():
    gone = (Shortage(zone="z-1"),)
    assert list(sentences.of([GivenUp("a", 15, gone), GivenUp("b", 10, gone)])) == [
        "z-1 is sold out: 2 orders are given up, and 25 pods are planned elsewhere."
    ]


def test_pods_that_need_nothing_new_are_told_once():
    assert list(sentences.of([Joined(1, 1)])) == ["1 pod goes to machines that are there or on their way."]
    assert not list(sentences.of([]))


# ---- what is drawn


@pytest.mark.parametrize("columns", [10, 20, 44, 80, 200])
@pytest.mark.parametrize("paint", [PLAIN, Paint(True)])
def test_no_line_of_the_table_is_wider_than_the_terminal(columns, paint):
    many = [machine(f"n{at}", f"m{at}.16xlarge", BOOTING if at % 2 else READY) for at in range(30)]
    lines = screen.frame(12.3, seen(*many), (columns, 24), paint)
    assert all(display_width(ANSI.sub("", line)) < columns for line in lines)
    assert len(lines) <= 12


def test_machines_alike_share_a_line_and_those_only_ordered_have_none():
    lines = screen.frame(
        1.0, seen(machine("a"), machine("b", state=BOOTING), machine("c", state=ORDERED)), (99, 40), PLAIN
    )
    assert lines[1] == "3 nodes, $0.1500/h · 40 pods run, 3 wait · 1.0 s"
    (row,) = lines[3:]
    assert re.split(" +", row, maxsplit=7) == [
        *("general", "m5.large", "us-east-1a", "spot"),
        *("2", "4", "$0.0500", "1 booting, 1 ready"),
    ]


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_what_is_said_goes_above_the_table_which_is_drawn_anew():
    out = Tty()
    shown = screen.open_screen(out, {"TERM": "xterm", "NO_COLOR": "1"})
    shown.show(1.0, seen(machine()))
    height = len(screen.frame(1.0, seen(machine()), (80, 24), PLAIN))
    before = out.tell()
    shown.say(2.0, "A thing was decided.")
    drawn = out.getvalue()[before:]
    assert drawn.startswith(f"\x1b[{height}F\x1b[J  2.0 s  A thing was decided.\n")
    assert "m5.large" in drawn
    shown.close()
    assert out.getvalue().endswith(f"\x1b[{height}F\x1b[J\x1b[?25h")
    assert not re.search(r"\x1b\[[0-9;]*m", out.getvalue())


def test_colour_is_for_terminals_that_did_not_refuse_it():
    out = Tty()
    screen.open_screen(out, {"TERM": "xterm"}).say(1.0, "$ kubectl get nodes")
    assert "\x1b[32m$ kubectl get nodes\x1b[0m" in out.getvalue()


@pytest.mark.parametrize(("out", "term"), [(io.StringIO(), "xterm"), (Tty(), "dumb")])
def test_a_pipe_gets_only_sentences_one_a_line(out, term):
    shown = screen.open_screen(out, {"TERM": term})
    shown.show(1.0, seen(machine()))
    shown.say(1.0, "A thing was decided.")
    shown.close()
    assert out.getvalue() == "A thing was decided.\n"
