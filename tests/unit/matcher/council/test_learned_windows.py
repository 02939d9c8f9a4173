# SPDX-License-Identifier: Apache-2.0
"""Test that learned windows survive a restart, and that damaged or other files are refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reprise.matcher.council.council_settings import WINDOWS, CouncilSettings, Learner
from reprise.matcher.council.learned_windows import document, read
from reprise.matcher.council.window_council import Council
from reprise.matcher.errors import CouncilError
from tests.unit.matcher.council.council_values import READS, WRITES, council, report, rounds, seeded

REPORTS = st.lists(
    st.builds(
        report,
        st.sampled_from(["a", "b"]),
        st.sampled_from([*WINDOWS, 77]),
        st.floats(0, 1e9),
        st.sampled_from([WRITES, READS, None]),
        st.none() | st.floats(0, 1e9),
        st.booleans(),
    ),
    max_size=12,
)


@given(REPORTS, st.integers(0, 40), st.sampled_from(list(Learner)))
def test_knowledge_is_the_same_after_a_restart(reports: list[Any], memory: int, learner: Learner) -> None:
    settings = CouncilSettings(learner, memory=memory)
    before = council(settings, hosts=())
    for one in reports:
        before.round.receive(one, 0)
        before.decide()
    stored = document(before.learned)
    learned = read(json.dumps(stored), "file", settings)
    assert document(learned) == stored
    steady = dict.fromkeys(WINDOWS, 100.0)
    continued = [Council(settings, seeded(5), learned=one) for one in (before.learned, learned)]
    assert rounds(continued[0], 5, steady) == rounds(continued[1], 5, steady)


def stored() -> dict[str, Any]:
    of = council(CouncilSettings(memory=4))
    rounds(of, 20, lambda window: 100.0 + window / 100)
    return document(of.learned)


def first_arm(content: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(content["contexts"][str(WRITES)]["windows"].values()))
    return found


def test_a_smaller_memory_keeps_the_last_rewards() -> None:
    content = stored()
    first_arm(content)["recent"] = [1.0, 2.0, 3.0, 5.0]
    (context,) = read(json.dumps(content), "file", CouncilSettings(memory=2)).contexts.values()
    arm = next(arm for arm in context.bandit.arms.values() if arm.recent == (3.0, 5.0))
    assert (arm.mean, arm.peak) == (4, 5)


def test_a_mean_without_rewards_counts_once_when_a_memory_is_set() -> None:
    content = stored()
    first_arm(content).update(mean=10.0, recent=[])
    settings = CouncilSettings(memory=4)
    (context,) = read(json.dumps(content), "file", settings).contexts.values()
    window = next(window for window, arm in context.bandit.arms.items() if arm.mean == 10.0)
    context.bandit.update(window, 20)
    assert context.bandit.arms[window].mean == 15


def test_windows_that_left_the_settings_are_forgotten() -> None:
    learned = read(json.dumps(stored()), "file", CouncilSettings(windows=(50, 500), default_window=50))
    assert learned.window == 50
    assert set(learned.contexts[WRITES].bandit.arms) == {50, 500}


DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "an older version": lambda content: content.update(version=0),
    "a version that is no number": lambda content: content.update(version="1"),
    "no version": lambda content: content.pop("version"),
    "no contexts": lambda content: content.pop("contexts"),
    "another key": lambda content: content.update(more=1),
    "a wrong pattern": lambda content: content["contexts"].update({"write": content["contexts"][str(WRITES)]}),
    "an unknown pattern": lambda content: content["contexts"].update({"unknown": content["contexts"][str(WRITES)]}),
    "a negative loss": lambda content: content["contexts"][str(WRITES)].update(lost=-1),
    "a mean that is no number": lambda content: first_arm(content).update(mean=float("nan")),
    "a reward of zero": lambda content: first_arm(content).update(recent=[0.0]),
    "rewards as text": lambda content: first_arm(content).update(recent=["1"]),
    "tries as a fraction": lambda content: first_arm(content).update(tries=1.5),
    "a window that is no number": lambda content: content["contexts"][str(WRITES)]["windows"].update(
        {"1e3": first_arm(content)}
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_older_file_is_refused_in_one_line(damage: str) -> None:
    content = stored()
    DAMAGE[damage](content)
    refused(json.dumps(content))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", "[" * 100_000, b"\xff"], ids=lambda text: repr(text[:3]))
def test_a_file_that_is_no_json_object_is_refused_in_one_line(text: str | bytes) -> None:
    refused(text)


def test_a_file_that_was_cut_off_is_refused() -> None:
    refused(json.dumps(stored())[:-20])


def refused(text: str | bytes) -> None:
    with pytest.raises(CouncilError) as caught:
        read(text, "windows.json", CouncilSettings())
    message = str(caught.value)
    assert message.startswith("windows.json: learned windows") and "\n" not in message
    assert "remove it to learn again" in message
