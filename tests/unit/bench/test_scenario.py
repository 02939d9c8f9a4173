# SPDX-License-Identifier: Apache-2.0
"""Test the plan and the results of the benchmark scenario of matched jobs, without a cluster or a disk."""

from __future__ import annotations

import dataclasses
import re
import statistics
import subprocess
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from bench.scenario.__main__ import MORE_PAIRS, assure
from bench.scenario.oracle import FINALISTS, PAIRS, ROUNDS, oracle_gain
from bench.scenario.result_tables import Match, Result, by_quality, by_score, is_slowed, summary
from bench.scenario.scenario_page import render
from bench.scenario.scenario_plan import NODES, SCALES, SMALL, THESIS, plan, script
from bench.small_reads import PROGRAM
from reprise.matcher.evaluation.thesis_scenario import PROFILES
from reprise.tuner.model.space import Parameter, Parametrization, Space

OPERATIONS = 6000
JOB = Result("alice", "ant_1", 2, 1, False, None, None, (1.0, 1.0), (0.5, 0.5), 0.6)
RIGHT = Match(0.9, "ant_1", 2, True)


def rng() -> Random:
    return Random(1)  # noqa: S311 - not used for security


def job(gain: float = 0.5, match: Match | None = RIGHT, **changes: object) -> Result:
    given = (1 - gain,) * 2
    changes.setdefault("without_own", match)
    return dataclasses.replace(JOB, match=match, given=given, **changes)  # type: ignore[arg-type]


# -- the plan --------------------------------------------------------------------------------------------------------


def test_a_seed_decides_a_scenario() -> None:
    assert plan(SMALL, 3, OPERATIONS) == plan(SMALL, 3, OPERATIONS) != plan(SMALL, 4, OPERATIONS)


def test_the_thesis_users_draw_as_many_jobs_as_in_the_thesis() -> None:
    profiles = [(one.draws, one.jobs, one.tuned) for one in THESIS.profiles.values()]
    assert profiles == list(PROFILES.values())
    plans = [plan(THESIS, seed, OPERATIONS) for seed in range(40)]
    assert 370 < sum(len(one.jobs) for one in plans) / 40 < 400, "366 in the thesis"
    assert 110 < sum(len(one.tuned) for one in plans) / 40 < 135, "124 in the thesis"
    assert 38 < sum(len({job.application for job in one.jobs}) for one in plans) / 40 < 44, "41 in the thesis"


@pytest.mark.parametrize("scale", SCALES.values(), ids=SCALES)
def test_every_drawn_application_has_a_tuned_job_and_unknown_applications_have_none(scale: object) -> None:
    made = plan(scale, 1, OPERATIONS)  # type: ignore[arg-type]
    drawn = {(job.user, job.application) for job in made.jobs}
    assert {(job.user, job.application) for job in made.tuned} == drawn
    assert made.strangers and not {job.application for job in made.strangers} & {
        application for _, application in drawn
    }
    assert all(job.stranger and not job.tuned for job in made.strangers)


def test_names_contain_adjectives_and_node_counts_as_often_as_in_the_thesis() -> None:
    jobs = [job for seed in range(5) for job in plan(THESIS, seed, OPERATIONS).jobs]
    forms = Counter(re.sub(job.application.name, "X", job.name) for job in jobs)
    adjective = sum(count for form, count in forms.items() if not form.startswith("X"))
    suffix = sum(form.endswith(f"X_{nodes}") * count for form, count in forms.items() for nodes in NODES)
    assert 0.62 < adjective / len(jobs) < 0.71 and 0.29 < suffix / len(jobs) < 0.38
    assert all(job.name.endswith(f"_{job.nodes}") or job.name.endswith(job.application.name) for job in jobs)


def test_users_take_turns() -> None:
    users = [job.user for job in plan(THESIS, 1, OPERATIONS).jobs]
    assert sum(a != b for a, b in pairwise(users)) > len(users) / 3


def test_an_application_reads_the_same_for_everybody_and_is_started_from_its_users_directory() -> None:
    application = plan(SMALL, 1, OPERATIONS).jobs[0].application
    alice, bob = (script(application, user, "/bin/fakeapp", "/data", "/lib/sro.so") for user in ("alice", "bob"))
    assert alice[application.name] == bob[application.name]
    assert f"mpirun /home/bob/{application.name}_{application.stamp}/{application.name}\n" in bob["sbatch"]
    assert "LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}/lib/sro.so\n" in bob["sbatch"], "appended, never replaced"


def test_every_variation_is_one_that_the_generator_takes_on_four_nodes() -> None:
    made = plan(dataclasses.replace(SMALL, pool=8), 5, OPERATIONS)
    applications = {job.application.pattern: job.application for job in (*made.jobs, *made.strangers)}
    assert set(applications) == set("abcd")
    for application in applications.values():
        words = [str(PROGRAM), "--show", "--size=5G", *application.words]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        lines = shown.splitlines()
        assert 0.6 * OPERATIONS < len(lines) < 1.5 * OPERATIONS, application
        assert len({line.split()[0] for line in lines}) >= max(NODES)


# -- the results -----------------------------------------------------------------------------------------------------


def test_gains_are_those_of_the_pairs() -> None:
    found = summary([job(0.5), job(0.2), job(0.3)], [])
    assert (found["gain_median"], found["gain_mean"], found["oracle_gain_median"]) == (0.3, 0.3333, 0.6)
    assert found["unknown_matched"] is None and found["slowed"] == 0


def test_a_job_is_slowed_only_beyond_noise() -> None:
    noisy = dataclasses.replace(JOB, given=(0.7, 1.5))
    slower = dataclasses.replace(JOB, given=(1.2, 1.21))
    found = summary([noisy, slower], [])
    assert (found["slowed"], found["slower_at_all"]) == (1, 2)


def test_a_job_given_nothing_is_not_matched_right() -> None:
    found = summary([job(match=None), job(match=dataclasses.replace(RIGHT, applied=False)), job()], [])
    assert found["right_application"] == 0.3333


def test_jobs_without_any_record_of_their_application_count_only_by_themselves() -> None:
    found = summary([job(), job(0.0, None, records=0)], [RIGHT, None, None, None])
    assert (found["right_application"], found["right_nodes"]) == (1.0, 1.0)
    assert found["without_a_record"]["jobs"] == 1 and found["unknown_matched"] == 0.25


def test_own_records_are_left_out_if_other_records_remain() -> None:
    other = Match(0.7, "bee_1", 2, True)
    results = [
        job(own=True, records=1, without_own=other),  # the application has no other record, so this job does not count
        job(own=True, records=2, without_own=other),
        job(own=False, records=1),
    ]
    found = summary(results, [])
    assert found["own_record_left_out"]["of_jobs"] == 2 and found["own_record_left_out"]["right_application"] == 0.5
    assert found["never_tuned"]["jobs"] == 1


def test_each_job_is_in_one_row_of_quality() -> None:
    matches = [RIGHT, None] + [Match(0.5, name, nodes, True) for name in ("ant_1", "bee_1") for nodes in (1, 2)]
    rows = by_quality([job(match=match) for match in matches])
    assert [(row["application"], row["nodes"], row["jobs"]) for row in rows] == [
        (False, False, 1),
        (False, True, 1),
        (True, False, 1),
        (True, True, 2),
        (None, None, 1),
    ]


def test_groups_by_score_contain_every_matched_job_once() -> None:
    jobs = [
        job(gain=score, match=dataclasses.replace(RIGHT, score=score)) for score in (0.9, 0.1, 0.5, 0.3, 0.7, 0.6, 0.2)
    ]
    rows = by_score([*jobs, job(match=None)], steps=3)
    assert [(row["from"], row["to"], row["jobs"]) for row in rows] == [(0.1, 0.2, 2), (0.3, 0.5, 2), (0.6, 0.9, 3)]
    equal = [job(match=dataclasses.replace(RIGHT, score=score)) for score in (1.0, 0.999, 0.8, 1.0, 0.997)]
    assert [(row["from"], row["to"], row["jobs"]) for row in by_score(equal)] == [(0.8, 0.8, 1), (0.997, 1.0, 4)]
    assert by_score([job()], steps=3)[0]["jobs"] == 1 and by_score([]) == []


# -- more pairs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "later", "pairs", "slowed"),
    [
        ((1.0, 0.9), (2.0, 1.0), 2, False),  # the settings make the job faster, so no more pairs are run
        ((1.0, 2.0), (2.0, 1.0), MORE_PAIRS, False),  # the job was slower only by chance
        ((1.0, 1.5), (1.0, 1.5), MORE_PAIRS, True),
    ],
)
def test_a_job_that_seems_slower_is_run_again(
    before: tuple[float, float], later: tuple[float, float], pairs: int, slowed: bool
) -> None:
    defaults, givens = [before[0], before[0] + 0.01], [before[1], before[1] + 0.012]

    def pair() -> None:
        defaults.append(later[0] + 0.001 * len(defaults))
        givens.append(later[1] + 0.002 * len(givens))

    assure(defaults, givens, pair)
    assert (len(defaults), len(givens), is_slowed(defaults, givens)) == (pairs, pairs, slowed)
    if slowed:
        assert defaults[0] == later[0], "the first pair, which seemed slower, is discarded"


# -- the oracle ------------------------------------------------------------------------------------------------------

SPACE = Space((Parameter("x", tuple(range(10))),))
DEFAULT: Parametrization = {"x": 100}


def test_the_oracle_finds_the_best_point() -> None:
    def one(point: Parametrization) -> float:
        return 2.0 if point["x"] == DEFAULT["x"] else 1 + abs(int(point["x"]) - 4) / 10

    assert oracle_gain(SPACE, DEFAULT, one, rng()) == pytest.approx(0.5)


def test_one_lucky_run_is_not_a_gain() -> None:
    runs: Counter[object] = Counter()

    def one(point: Parametrization) -> float:
        runs[point["x"]] += 1
        return 0.1 if point["x"] == 3 and runs[3] == 1 else 1.0

    assert oracle_gain(SPACE, DEFAULT, one, rng()) == pytest.approx(0.0)
    assert sum(runs.values()) == 10 + FINALISTS * ROUNDS + 2 * PAIRS


def test_the_luck_of_choosing_the_best_point_is_not_a_gain() -> None:
    """All points are equally good, so the point that noise made the best in the search is no better in later runs."""
    noise = rng()
    found = [oracle_gain(SPACE, DEFAULT, lambda _: noise.uniform(0.5, 1.5), rng()) for _ in range(200)]
    assert statistics.fmean(found) < 0.15, "above 0 only because negative gains count as 0"


def test_if_the_default_is_best_the_gain_is_zero() -> None:
    assert oracle_gain(SPACE, DEFAULT, lambda point: 1.0 if point == DEFAULT else 2.0, rng()) == 0.0


# -- the report ------------------------------------------------------------------------------------------------------


def report(results: Sequence[Result]) -> str:
    more = {"campaigns": 3, "machine": "2 cores of <this>", "minutes": 1.5}
    return render(summary(results, [None]) | more, results)


@pytest.mark.slow
def test_the_report_is_one_self_contained_page() -> None:
    page = report([job(), job(0.1, own=True), job(0.0, None, records=0), job(-0.2, Match(0.6, "bee_1", 4, True))])
    assert page.count("<svg") == 2 and "http:" not in page and "<script" not in page
    assert "2 cores of &lt;this&gt;" in page and "28.4 %" in page and "given nothing" in page


def test_the_report_is_complete_even_if_no_job_was_matched() -> None:
    assert "given nothing" in report([job(0.0, None, records=0)])
