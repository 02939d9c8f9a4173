# SPDX-License-Identifier: Apache-2.0
"""Test that a job for another cluster gets no settings that were tuned on this cluster."""

from __future__ import annotations

import dataclasses

import pytest

from reprise.matcher.submission import JobFacts, Submission, named_clusters
from tests.unit.matcher.decision.test_decide import ask, context, record, submission
from tests.unit.matcher_daemon import SCRIPT

HERE = context(cluster="test")
ELSEWHERE = "#!/bin/sh\n#SBATCH -N1\n#SBATCH -J a -M far\nsrun ./a\n"


def told(*argv: str, script: str = SCRIPT, **env: str) -> Submission:
    return dataclasses.replace(submission(script, *argv), env=env)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (told(), ""),
        (told("-Mfar"), "far"),
        (told("-HM", "far"), "far"),
        (told("--clusters", "far"), "far"),
        (told("--cluster=far"), "far"),
        (told(SLURM_CLUSTERS="far"), "far"),
        (told(SLURM_CLUSTERS="far", SBATCH_CLUSTERS="test"), "test"),
        (told("-M", "test", SBATCH_CLUSTERS="far", script=ELSEWHERE), "test"),
        (told(script=ELSEWHERE), "far"),
        (told(script="#!/bin/sh\n#SBATCH -J M -n1\nsrun ./a -M far\n"), ""),
        (told("-M", "FAR"), "far"),
        (told(SLURM_CLUSTER_NAME="far"), ""),
        (Submission("srun", ("srun", "-M", "far", "./a"), "/", {}), "far"),
    ],
)
def test_the_clusters_are_read_from_options_environment_and_script(given: Submission, named: str) -> None:
    assert named_clusters(given) == named


def test_a_job_for_another_cluster_gets_no_settings_tuned_on_this_one() -> None:
    decision = ask(record(**HERE), of=told("-M", "far"))
    assert decision.verdict == "none"
    assert "was tuned on cluster test, and this is far" in decision.reason


def test_a_job_that_names_this_cluster_gets_its_settings() -> None:
    assert ask(record(**HERE), of=told("-M", "test")).verdict == "apply"


@pytest.mark.parametrize("clusters", ["all", "test,far"])
def test_the_decision_is_deferred_to_the_start_if_slurm_chooses_the_cluster(clusters: str) -> None:
    decision = ask(record(**HERE), of=told("-M", clusters))
    assert decision.verdict == "defer" and clusters in decision.reason


@pytest.mark.parametrize(("cluster", "verdict"), [(None, "apply"), ("test", "apply"), ("far", "none")])
def test_a_started_jobs_cluster_is_the_one_it_runs_on(cluster: str | None, verdict: str) -> None:
    started = dataclasses.replace(submission(command="batch"), argv=(), env={"SLURM_CLUSTER_NAME": "theirs"})
    decision = ask(record(**HERE), of=started, point="start", facts=JobFacts(4, 4, cluster))
    assert (decision.verdict, decision.cluster) == (verdict, cluster or "test")
