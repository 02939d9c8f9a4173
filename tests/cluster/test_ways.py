# SPDX-License-Identifier: Apache-2.0
"""Test every way to submit a job, with and without plugin and daemon; docs/reference/submissions.md has the results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from reprise.matcher.submission import sacct
from tests.cluster.machine import VirtualCluster
from tests.cluster.slurm_services import ACCOUNT, FAR, MEMBER
from tests.cluster.ways import WAYS, Tried
from tests.cluster.ways_measured import OURS, PAGE, TABLE, Measured, measure, site, table
from tests.waiting import wait_for

pytestmark = pytest.mark.cluster

NAMES = [way.name for way in WAYS]
GIVEN_NOTHING = {"test-only", "far-cluster", "far-stdin", "srun-jobid"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[VirtualCluster]:
    with site() as running:
        yield running


@pytest.fixture(scope="module")
def measured(cluster: VirtualCluster) -> Measured:
    return measure(cluster)


@pytest.mark.parametrize("name", NAMES)
def test_a_job_submitted_this_way_is_as_the_page_says(name: str, measured: Measured) -> None:
    written = TABLE.search(PAGE.read_text())
    assert written
    assert measured.rows[name].text in written.group().splitlines(), (
        "run `make docs-submissions` if the new behavior is right"
    )


def test_the_page_lists_every_way_and_no_other(measured: Measured) -> None:
    written = TABLE.search(PAGE.read_text())
    assert written and written.group().count("\n") == table(measured).count("\n")


def test_jobs_of_one_number_on_two_clusters_are_two_jobs_to_their_one_matcher(measured: Measured) -> None:
    here, far = ({one.job: one for one in measured.reports if one.cluster == name} for name in ("reprise", FAR))
    same = here.keys() & far.keys()
    assert len(far) == 2 and same
    assert all(here[number].decision != far[number].decision for number in same)
    assert all(one.cluster == one.decided_for for one in measured.reports)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in GIVEN_NOTHING])
def test_script_and_tasks_of_a_job_get_its_settings(name: str, measured: Measured) -> None:
    row = measured.rows[name]
    assert (row.tasks, row.variable) == ("yes", "yes")
    assert row.script == ("-" if "srun" in name else "yes")


def without_numbers(text: str) -> str:
    """Replace the numbers (job ids, ports, nodes, times) and the directory, which differ between submissions."""
    return re.sub(r"\d+", "0", re.sub(r"/home/alice/\w+/", "/home/alice/", text))


# A job's permanent number, in letters and digits, which Slurm sets since 25.11.
PER_JOB = {"SLURM_JOB_SLUID"}


def environments(tried: Tried) -> dict[str, dict[str, str]]:
    return {
        name: {key: without_numbers(value) for key, value in environment.items() if key not in OURS | PER_JOB}
        for name, environment in tried.environments.items()
    }


def assert_nothing_else_differs(plain: Tried, ours: Tried) -> None:
    assert not any(OURS & set(environment) for environment in plain.environments.values())
    assert ours.exit_status == plain.exit_status
    assert without_numbers(ours.stdout) == without_numbers(plain.stdout)
    assert without_numbers(ours.stderr) == without_numbers(plain.stderr)
    assert ours.output == plain.output
    assert environments(ours) == environments(plain)


@pytest.mark.parametrize("name", [way.name for way in WAYS if not way.recurs])
def test_nothing_else_differs_from_a_submission_without_the_plugin(name: str, measured: Measured) -> None:
    assert_nothing_else_differs(measured.without[name], measured.with_plugin[name])


def imported(cluster: VirtualCluster, command: str) -> dict[str, Any]:
    """Run an sacct command, and return the result of `reprise jobs replay` for the output."""
    told = cluster.run(command.split()).stdout
    done = cluster.run(["reprise", "jobs", "replay", "--sacct", "-", "--json"], user="reprise", stdin=told)
    return dict(json.loads(done.stdout))


@pytest.mark.usefixtures("measured")
def test_what_accounting_tells_of_these_jobs_can_be_matched_again(cluster: VirtualCluster) -> None:
    told = imported(cluster, sacct.COMMAND)
    listed = cluster.run(["sacct", "-aX", "--noheader", "--parsable2", "--format=JobIDRaw"]).stdout.split()
    assert 0 < told["total"]["jobs"] <= len(listed), "the tasks of an array count as one submission"
    assert told["unreadable"] == 0
    applied = told["verdicts"]["apply"]["jobs"]
    assert applied and [one["jobs"] for one in told["records"]] == [applied]


@pytest.mark.usefixtures("measured")
def test_accounting_as_json_tells_of_users_whom_it_knows(cluster: VirtualCluster) -> None:
    """The JSON of Slurm 22.05 names only users with an association, and only bob has an association here."""
    before = imported(cluster, sacct.JSON_COMMAND)
    assert before["total"]["jobs"] == 0 < before["unreadable"]
    cluster.write(f"/home/{MEMBER}/known.sh", "#!/bin/bash\ntrue\n", user=MEMBER)
    known = cluster.submit("known.sh", user=MEMBER)
    cluster.wait_job(known)
    assert cluster.job(known)["Account"] == ACCOUNT

    def one_more() -> bool:
        found = imported(cluster, sacct.JSON_COMMAND)
        return bool(found["total"]["jobs"] and found["without_program"] == found["total"])

    wait_for("the job", one_more)
