# SPDX-License-Identifier: Apache-2.0
"""Test explanations: the numbers add up, and the text has verdict, reason, record and variables."""

from __future__ import annotations

import dataclasses
import io
import json
import signal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console

from reprise.database.entities import Decision, Outcome, ServiceRun
from reprise.matcher.decision.decide import Question, decide
from reprise.matcher.decision.guards import Policy
from reprise.matcher.linkage.linkage_model import load
from reprise.matcher.linkage.linkage_result import PRIOR
from reprise.matcher.submission import Script, Submission
from reprise.matcher.support import explanation, explanation_console
from reprise.matcher.support.job_story import Explained, Story
from reprise.matcher.support.shortfall import shortfall
from tests.unit.matcher_daemon import SCRIPT, knowing, record


def question(user: str = "root", script: str = SCRIPT) -> Question:
    submission = Submission("sbatch", ("sbatch", "job.sh"), "/home/alice", {}, (), Script("/home/alice/job.sh", script))
    return Question(submission, user, 0, "submit", "on", 1.7e9)


def decision(user: str = "root", script: str = SCRIPT, threshold: float = 0.7) -> Decision:
    knowledge = knowing(record(id=1), model=load("thesis", threshold))
    return decide(question(user, script), knowledge, Policy("test", openmpi=("4.1.4",)), "18bcfe56800-00000000")


def shown(*decisions: Decision, width: int = 160, terminal: bool = False) -> str:
    out = Console(file=io.StringIO(), width=width, force_terminal=terminal, highlight=False, markup=False)
    explained = [Explained(one, shortfall(one)) for one in decisions]
    explanation_console.show(out, Story(explained, records={1: record(id=1)}))
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_the_steps_of_a_waterfall_add_up_to_the_score() -> None:
    made = decision(user="bob", script=SCRIPT.replace("200", "300"))
    steps = list(explanation.waterfall(made.fields))
    fields = [step for step in steps if step.depth == 0]
    assert fields[-1].total == pytest.approx(made.score)
    assert sum(step.weight for step in fields) == pytest.approx(1)
    for step in steps:
        assert step.contribution == pytest.approx(step.similarity * step.weight)


def told(text: str) -> str:
    """Return the line that lists those metadata of the job that no field of the model compares."""
    [line] = [line for line in text.splitlines() if line.startswith(("The job", "Not compared")) and "(uid" not in line]
    return line


def test_metadata_that_no_field_compares_is_listed() -> None:
    script = SCRIPT.replace("mpirun", "#SBATCH --partition=cpu --account=qcd\nmodule load openmpi/4.1.4 hdf5\nmpirun")
    assert told(shown(decision(script=script))) == (
        "Not compared: tasks 4; tasks per node 1; directory /home/alice; partition cpu; "
        "account qcd; launcher mpirun; modules openmpi/4.1.4 hdf5; script /home/alice/job.sh"
    )


def test_without_a_record_all_known_metadata_is_listed() -> None:
    made = decide(question(), knowing(model=load("site")), Policy("test"), "18bcfe56800-00000000")
    assert not made.fields and told(shown(made)) == (
        "The job: program lattice; path /home/alice/bin/lattice; options --steps 200 --size 64; nodes 4; tasks 4; "
        "tasks per node 1; directory /home/alice; job name lattice; launcher mpirun; script /home/alice/job.sh"
    )
    nothing = dataclasses.replace(made, metadata={"user": "alice", "program": "", "nodes": None, "modules": []})
    assert "The job:" not in shown(nothing)


def test_the_mpi_of_a_job_is_shown_with_its_signs() -> None:
    loads = "#!/bin/sh\nmodule load openmpi/5.0.3\nsrun ./x\n"
    assert "\nMPI: Open MPI 5.0.3 (module openmpi/5.0.3)\n" in shown(decision(script=loads))
    assert "MPI:" not in shown(decision(script="#!/bin/sh\nsrun ./x\n"))
    odd = {"modules": None, "mpi_signs": "text", "mpi_library": 3}
    assert list(explanation.mpi_text(dataclasses.replace(decision(), metadata=odd))) == []


def test_a_model_of_log_odds_is_explained_in_bits() -> None:
    made = decision()
    prior: dict[str, Any] = {**made.fields[0], "name": PRIOR, "weight": 0.0, "contribution": -7.5, "parts": []}
    made = dataclasses.replace(made, score=0.9, fields=[prior, *made.fields])
    text = shown(made)
    assert "Score 0.9000 (-6.50 bits) reaches the threshold" in text and "at most" in text
    assert next(step.total for step in explanation.waterfall(made.fields)) == -7.5


def test_parts_of_a_field_add_up_to_it() -> None:
    for field in decision(user="bob").fields:
        assert sum(part["contribution"] for part in field["parts"]) == pytest.approx(field["contribution"])


def test_a_decision_is_shown_with_its_verdict_record_numbers_and_variables() -> None:
    text = shown(decision())
    for part in (
        "Decision 18bcfe56800-00000000: apply",
        "Settings were applied from record 1",
        "by root (uid 0)",
        "measured gain of the tuned job: 30.0% (28.0% to 32.0%)",
        "Score 1.0000 reaches the threshold 0.7000 of model thesis/1",
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
        "similarity",
    ):
        assert part in text
    assert max(len(line) for line in text.splitlines()) <= 160 and "\x1b" not in text


def test_an_explanation_states_why_a_job_got_nothing() -> None:
    text = shown(decision(user="bob", threshold=1.0))
    assert "No settings were applied: no similar tuned job is known." in text
    assert "is below the threshold 1.0000" in text
    assert "OMPI_MCA" not in text


def test_users_words_are_never_terminal_commands() -> None:
    script = SCRIPT.replace("lattice", "\x1b]0;owned\x07\x1b[31m[bold]x\u202e")
    text = shown(decision(script=script))
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text


def test_several_decisions_are_counted_and_all_shown() -> None:
    text = shown(decision(), decision(user="bob"))
    assert text.startswith("2 decisions, newest first") and text.count("Decision 18bcfe56800") == 2


@pytest.mark.parametrize(
    ("status", "text"),
    [(0, "exit status 0"), (256, "exit status 1"), (9, "killed by SIGKILL"), (15 | 128, "killed by SIGTERM")],
)
def test_wait_statuses_are_described(status: int, text: str) -> None:
    assert explanation.exit_text(status) == text


@given(st.integers(-(2**31), 2**31 - 1))
@example(0xFF)
def test_any_wait_status_is_described(status: int) -> None:
    assert explanation.exit_text(status)


def test_realtime_signals_are_described_too() -> None:
    assert explanation.exit_text(signal.SIGRTMIN + 3) == f"killed by signal {signal.SIGRTMIN + 3}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"applied": 2}, "verdict apply, 2 variables set; its end"),
        ({"applied": 2, "present": 2}, "2 variables set, and the tasks of its first step have them;"),
        (
            {"applied": 2, "present": 1},
            "but the tasks of its first step have only 1: the script, or an option of srun, removed",
        ),
        (
            {"applied": 1, "present": 1, "unreadable": 1},
            "1 variable set, but the variables name 1 file that the user cannot read on the node",
        ),
        (
            {"unreadable": 2},
            "nothing set: the variables name 2 files that the user cannot read on the node (see artifacts.",
        ),
        ({"present": 0}, "0 variables set;"),
    ],
)
def test_the_text_of_an_outcome_states_whether_settings_reached_the_tasks(changes: dict[str, Any], words: str) -> None:
    assert words in explanation.outcome_text(Outcome("c", 5, None, 30001, "apply", 1.7e9, "d1", **changes))


def run(started: float, stopped: float | None = None) -> ServiceRun:
    return ServiceRun(started, stopped or started + 100, stopped)


def test_a_missing_decision_is_explained_by_the_daemons_runs() -> None:
    said = explanation.silence_text("12", 500.0, False, run(100, 400), run(600))
    assert "was not running when job 12 was submitted" in said
    assert f"stopped {explanation.when(400)}, started {explanation.when(600)}" in said
    assert f"last seen {explanation.when(200)}" in explanation.silence_text("12", 500.0, False, run(100), None)
    assert "it had not run before" in explanation.silence_text("12", 50.0, False, None, run(100))
    assert "reprise doctor" in explanation.silence_text("12", 150.0, True, run(100), None)
    assert "check the number" in explanation.silence_text("12", None, False, None, None)


def test_a_records_profile_is_shown_unless_the_record_is_another_users() -> None:
    made = dataclasses.replace(decision(), record_id=1)
    story = Story([Explained(made)], records={1: record(id=1)}, profiles={1: "90% compute"})
    line = "Time of record 1's application: 90% compute"
    assert line in list(explanation.source_texts(story, made))
    again = Story.from_json(json.loads(json.dumps(story.to_json())))
    assert again.profiles == {1: "90% compute"}
    hidden = dataclasses.replace(story, hidden=frozenset({1}))
    assert line not in list(explanation.source_texts(hidden, made))
    assert Story.from_json(json.loads(json.dumps(hidden.to_json()))).profiles == {}
