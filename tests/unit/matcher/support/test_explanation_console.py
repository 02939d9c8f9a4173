# SPDX-License-Identifier: Apache-2.0
"""Test explanations on terminals: narrow terminals truncate nothing, and users' words are not interpreted."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable

import pytest
from rich.console import Console

from reprise.matcher.linkage import load
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support import explanation_console
from reprise.matcher.support.hidden_words import hide
from reprise.matcher.support.job_story import Story
from reprise.matcher.support.nearest_records import Top
from tests.unit.matcher.support.test_hidden_words import alices, decided, story

OWNED = "\x1b]0;owned\x07\x1b[31m[bold]x\u202e"


def printed(show: Callable[[Console], None], width: int, *, terminal: bool = True) -> str:
    out = Console(file=io.StringIO(), width=width, force_terminal=terminal, color_system=None, highlight=False)
    show(out)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def near(told: Story) -> str:
    return printed(lambda out: explanation_console.show(out, told), 160, terminal=False)


@pytest.mark.parametrize("width", [60, 80, 160])
def test_on_a_narrow_terminal_text_is_wrapped_but_not_truncated(width: int) -> None:
    told = story(decided(load("thesis"), 0.999, alices()), alices())
    text = printed(lambda out: explanation_console.show(out, told), width)
    assert "…" not in text
    assert "It lacks" in text and "below the threshold 0.9990" in text
    for number in (f"{field['contribution']:.4f}" for field in told.decisions[0].decision.fields):
        assert number in text


def test_hidden_values_are_marked_on_the_screen() -> None:
    told = hide(story(decided(load("thesis"), 0.999, alices()), alices()), 1001)
    assert near(told).count("(hidden)") == 1, "only in the legend"
    assert "The similarity to other users' jobs is not shown" in near(told)
    told = hide(story(decided(load("thesis"), 0.001, alices()), alices()), 1001)
    assert near(told).count("(hidden)") == 1 + 1, "in the line of the used record and in the legend"


def test_a_job_name_with_escape_sequences_is_shown_escaped() -> None:
    found = Top(JobMetadata(OWNED, program=OWNED), "thesis/1", 0.5, (), ())
    text = printed(lambda out: explanation_console.show_top(out, found), 80, terminal=False)
    assert "\\x1b]0;owned" in text
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_a_daemons_reply_with_escape_sequences_is_shown_escaped() -> None:
    told = story(decided(load("thesis"), 0.999, alices()), alices())
    [one] = told.decisions
    decision = dataclasses.replace(one.decision, reason=OWNED, user=OWNED, model=OWNED, injected={"SRO_A": OWNED})
    told = dataclasses.replace(told, decisions=[dataclasses.replace(one, decision=decision)], model=f"{OWNED}2")
    assert not {"\x1b", "\x07", "\u202e"} & set(near(told))
