"""Messages are drawn in the terminal and as a picture, and written as data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from offbeat.base.errors import BadInput
from offbeat.presentation.pictures.algorithm import picture
from offbeat.simulation.algorithms import lookup, message_drawing
from offbeat.simulation.algorithms.inspected import Call
from offbeat.simulation.algorithms.messages import CallMessages, Message, call_messages


def drawn(name: str, p: int, count: int = 1024, *, width: int = 100, unicode: bool = True) -> list[str]:
    algorithm = lookup.find_algorithm(name)
    messages = call_messages(algorithm, Call(p=p, count=count))
    return message_drawing.draw_messages(messages, width=width, unicode=unicode)


def test_a_tree_is_drawn_round_by_round() -> None:
    assert drawn("reduce/binomial", 8) == [
        "reduce/binomial (openmpi), p = 8, root 0, 1 KiB: 7 messages of 7 KiB in all in 3 rounds",
        "",
        "round  0   1   2   3   4   5   6   7",
        "    1  ◀───●   ◀───●   ◀───●   ◀───●     1 KiB each",
        "    2  ◀───────●   ·   ◀───────●   ·     1 KiB each",
        "    3  ◀───────────────●   ·   ·   ·     1 KiB",
    ]


def test_without_unicode_every_character_is_ascii() -> None:
    lines = drawn("reduce/binomial", 4, unicode=False)
    assert lines[3:] == ["    1  <---o   <---o     1 KiB each", "    2  <-------o   .     1 KiB"]


def test_rounds_that_repeat_are_drawn_once() -> None:
    lines = drawn("allreduce/ring", 4, 400)
    assert lines[3:] == [
        "  1-6  ●───▶   ●───▶     100 B each",
        "       ·   ●───▶   ·",
        "       ◀───────────●",
    ]


def test_two_messages_that_cross_are_one_arrow() -> None:
    assert drawn("allreduce/recursive_doubling", 2, 4)[3:] == ["    1  ◀───▶     4 B"]


def test_messages_of_different_sizes_have_separate_lines() -> None:
    ends = [(0, 1, 8), (2, 3, 16), (4, 5, 8), (5, 5, 16)]
    messages = [Message(source=a, target=b, bytes=size, round=1) for a, b, size in ends]
    call = CallMessages(title="t", p=6, root=None, bytes=8, messages=messages)
    assert message_drawing.draw_messages(call)[3:] == [
        "    1  ·   ·   ●───▶   ·   ↻     16 B each",
        "       ●───▶   ·   ·   ●───▶     8 B each",
    ]


def test_drawings_too_wide_for_the_terminal_are_replaced_by_a_sentence() -> None:
    lines = drawn("allreduce/recursive_doubling", 64, 8)
    assert lines[2] == "    1  64 messages of 8 B: between ranks 1 apart"
    assert drawn("alltoall/linear", 40, 4)[2] == "    1  1560 messages of 4 B: every rank to every other"
    assert drawn("alltoall/pairwise", 40, 4)[2] == "    1  40 messages of 4 B: every rank to rank + 1"


def test_many_rounds_end_in_a_number() -> None:
    lines = drawn("alltoall/pairwise", 40, 4)
    assert lines[-1] == "  ...  600 messages in rounds 25 to 39"


def test_a_call_without_messages_has_no_picture_in_the_terminal() -> None:
    assert drawn("reduce/binomial", 1) == [
        "reduce/binomial (openmpi), p = 1, root 0, 1 KiB: 0 messages in 0 rounds"
    ]


def test_a_call_that_is_refused_says_why() -> None:
    with pytest.raises(BadInput, match=r"two_proc .* at p = 3 and 1 elements: two_proc is for 2 ranks"):
        drawn("alltoall/two_proc", 3, 1)


messages_of = st.integers(2, 16).flatmap(
    lambda p: st.tuples(
        st.just(p),
        st.lists(
            st.builds(
                Message,
                source=st.integers(0, p - 1),
                target=st.integers(0, p - 1),
                bytes=st.sampled_from([0, 8, 1024]),
                round=st.integers(1, 4),
            ),
            max_size=40,
        ),
    )
)


@given(messages_of, st.integers(20, 140))
def test_drawings_show_every_message_once_and_fit_their_width(
    case: tuple[int, list[Message]], width: int
) -> None:
    """Every message has a head, and every round described in words states its number of messages."""
    p, drawn_ones = case
    used = sorted({message.round for message in drawn_ones})
    messages = [replace(message, round=used.index(message.round) + 1) for message in drawn_ones]
    messages.sort(key=lambda message: (message.round, message.source, message.target))
    call = CallMessages(title="t", p=p, root=None, bytes=8, messages=messages)
    rows = [
        line for line in message_drawing.draw_messages(call, width=width)[2:] if not line.startswith("round")
    ]
    drawn_messages = 0
    repeats = 1
    for line in rows:
        label, rest = line[:5].strip(), line[7:]
        if label:
            first, _, last = label.partition("-")
            repeats = int(last or first) - int(first) + 1
        if "message" in rest:
            drawn_messages += repeats * int(rest.split()[0])
        else:
            drawn_messages += repeats * sum(rest.count(mark) for mark in "◀▶↻")
            assert len(line) <= width
    assert drawn_messages == len(messages)


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
@pytest.mark.parametrize("name", ["bcast/scatter_allgather", "alltoall/linear", "barrier/tree"])
def test_a_picture_is_written(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    algorithm = lookup.find_algorithm(name)
    count = 0 if name.startswith("barrier") else 100
    picture(call_messages(algorithm, Call(p=11, count=count)), None, path)
    assert path.stat().st_size > 3000


def test_pictures_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    messages = call_messages(lookup.find_algorithm("reduce/binomial"), Call(p=4))
    with pytest.raises(BadInput, match=r"name the picture with one of .png, .pdf, .svg"):
        picture(messages, None, tmp_path / "out.gif")
    with pytest.raises(BadInput, match="cannot write the picture"):
        picture(messages, None, tmp_path / "nowhere" / "out.png")
    many = call_messages(lookup.find_algorithm("alltoall/linear"), Call(p=200))
    with pytest.raises(BadInput, match="39800 messages are too many for a picture"):
        picture(many, None, tmp_path / "out.png")
