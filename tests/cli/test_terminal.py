"""Lines for people: whatever is in the text, one safe line that fits."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout

from hypothesis import given
from hypothesis import strategies as st

from interlock.cli.terminal import PIPED_WIDTH, Terminal
from interlock.policies.text import visible


@given(st.text(max_size=400), st.sampled_from(["", "action", "would run"]))
def test_any_text_is_one_line_that_fits_and_hides_nothing(text: str, label: str) -> None:
    with redirect_stdout(io.StringIO()) as out:
        Terminal(as_json=False).line(text, label=label)
    written = out.getvalue()
    assert written.endswith("\n")
    line = written[:-1]
    assert len(line.splitlines()) <= 1
    assert len(line) <= PIPED_WIDTH
    assert visible(line) == line


def test_a_text_that_is_wanted_whole_keeps_its_lines_under_their_label() -> None:
    with redirect_stdout(io.StringIO()) as out:
        Terminal(as_json=False).line("one\ntwo " + "x" * 300, label="answer", whole=True)
    assert out.getvalue() == f"  answer    one\n            two {'x' * 300}\n"


def test_json_output_holds_no_lines_for_people() -> None:
    with redirect_stdout(io.StringIO()) as out:
        terminal = Terminal(as_json=True)
        terminal.line("for people")
        with terminal.kept_clean():
            print("from a tool", file=sys.stderr)
        terminal.document({"a": 1})
    assert out.getvalue() == '{\n  "a": 1\n}\n'


def test_pieces_of_a_line_go_on_until_something_else_is_written() -> None:
    with redirect_stdout(io.StringIO()) as out:
        terminal = Terminal(as_json=False)
        terminal.piece("Ana ", label="thought")
        terminal.piece("is\ndue\x1b[2J")
        terminal.piece("anew", label="thought")
        terminal.line("step 2")
    assert out.getvalue() == "  thought   Ana is due\\u001b[2J\n  thought   anew\nstep 2\n"


@given(st.lists(st.text(max_size=60), min_size=1, max_size=9))
def test_pieces_of_any_text_make_one_line_that_fits_and_hides_nothing(texts: list[str]) -> None:
    with redirect_stdout(io.StringIO()) as out:
        terminal = Terminal(as_json=False)
        for number, text in enumerate(texts):
            terminal.piece(text, label="" if number else "thought")
        terminal.line("end")
    line, end, *rest = out.getvalue().split("\n")
    assert (end, rest) == ("end", [""])
    assert len(line.splitlines()) == 1
    assert len(line) <= PIPED_WIDTH
    assert visible(line) == line
