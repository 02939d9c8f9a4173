# SPDX-License-Identifier: Apache-2.0
"""Test the features of a job: known, absent and unknown values."""

from __future__ import annotations

from typing import Any

import pytest

from reprise.matcher.linkage import Engine, LinkableRecord, load
from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.submission.metadata import JobMetadata


def job(user: str = "ada", **known: Any) -> JobMetadata:
    return JobMetadata(user, submit_time=1.7e9, **known)


@pytest.mark.parametrize(
    ("feature", "known", "value"),
    [
        ("modules_loaded", {"modules": ("gcc/12",), "script": "abcd"}, "some"),
        ("modules_loaded", {"script": "abcd"}, "none"),
        ("modules_loaded", {}, ""),
        ("partition", {"partition": "long"}, "long"),
        ("partition", {"script": "abcd"}, "(default)"),
        ("partition", {}, ""),
        ("named_program", {"program": "tide3d"}, "tide3d"),
        ("named_program", {"program": "main.py"}, ""),
        ("script_program", {"program": "fit_tides.py"}, "fit_tides.py"),
        ("script_program", {"program": "tide3d.x"}, ""),
        ("script_program", {"program": "train.py"}, ""),
        ("programs", {"programs": ("tide3d", "plot.py")}, {"": ("tide3d", "plot.py")}),
        ("own_project", {"directory": "/work/ada/tides/runs/3"}, "ada/tides"),
        ("own_project", {"directory": "/work/ada/tides"}, ""),
        ("own_project", {"directory": "/work/shared/tides/runs"}, ""),
        ("own_place", {"directory": "/work/ada/tides/runs", "program": "main.py"}, "ada/tides/main.py"),
        ("own_place", {"directory": "/work/ada/tides", "program": "main.py"}, "ada/tides/main.py"),
        ("own_place", {"directory": "/work/ada/tides", "program": "tide3d"}, ""),
        ("own_place", {"directory": "/work/ada/tides"}, ""),
        ("own_script", {"directory": "/work/ada", "script": "abcd"}, "ada /work/ada abcd"),
        ("own_script", {"directory": "/work/ada", "script": "abcd", "program": "tide3d"}, ""),
        ("own_script", {"directory": "/work/ada"}, ""),
    ],
)
def test_a_feature_has_its_value_or_is_unknown(feature: str, known: dict[str, Any], value: Any) -> None:
    assert FEATURES[feature].of(job(**known), None) == value


@pytest.mark.parametrize("program", ["solver", "main.py", "a.out", "run.sh"])
def test_jobs_of_different_users_with_a_generic_program_name_do_not_match(program: str) -> None:
    """A regression: the first release's model gave a score of 0.953 to two jobs that both ran only `solver`."""
    alike = {"program": program, "path": program, "programs": (program,), "nodes": 1, "tasks": 1, "tasks_per_node": 1}
    tuned = job("bob", job_name="job", directory="/home/bob/work/x", script="a" * 32, **alike)
    model = load("site")
    engine = Engine(model, [LinkableRecord(1, tuned, 0.0, 0.1)], cluster_nodes=64, timezone="UTC")
    asks = job("ada", job_name="job", directory="/home/ada/runs/y", script="b" * 32, **alike)
    assert engine.ask(asks).nearest(1).matches[0].score < model.threshold / 2


def test_a_resubmitted_script_matches_although_its_program_is_unknown() -> None:
    """The script matches only for the same user in the same directory; another user's copy does not match."""
    once = {"job_name": "tempo", "nodes": 1, "script": "abcdefgh" * 4}
    model = load("site")
    tuned = job("ada", directory="/home/ada/tempo", **once)
    engine = Engine(model, [LinkableRecord(1, tuned, 0.0, 0.1)], cluster_nodes=64, timezone="UTC")

    def score(asks: JobMetadata) -> float:
        return engine.ask(asks).nearest(1).matches[0].score

    assert score(tuned) >= model.threshold
    assert score(job("bob", directory="/home/bob/tempo", **once)) < model.threshold / 2
    assert score(job("ada", directory="/home/ada/other", **once)) < model.threshold
