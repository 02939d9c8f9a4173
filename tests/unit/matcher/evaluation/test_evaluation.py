# SPDX-License-Identifier: Apache-2.0
"""Test `reprise match evaluate`: made-up sites, correct answers, confidence intervals, and the documented results."""

from __future__ import annotations

import json
import math
import random
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bench.evaluation_page import SUMMARIES, TABLES, blocks, summary
from reprise.cli.main import reprise
from reprise.cli.match_evaluate import NAMES
from reprise.matcher.evaluation import hard_scenario, thesis_scenario
from reprise.matcher.evaluation.evaluation_report import Report, Table, details, table_markdown
from reprise.matcher.evaluation.measurement import Answer, Verdict, measure
from reprise.matcher.evaluation.scenario import LabelledJob, Query, Scenario, scenario
from reprise.matcher.evaluation.scenario_catalogue import SCENARIOS, evaluate
from reprise.matcher.evaluation.share_interval import share
from reprise.matcher.linkage import LinkableRecord, load
from reprise.matcher.submission.metadata import JobMetadata
from tests.places import ROOT

MEASURES = ("right_application", "right_nodes", "unknown_matched", "precision", "recall")


def job(nodes: int = 1, program: str = "solver") -> JobMetadata:
    return JobMetadata(user="ann", program=program, nodes=nodes)


def command(*words: str) -> Result:
    return CliRunner().invoke(reprise, ["match", "evaluate", *words])


# -- scenarios ---------------------------------------------------------------------------------------------------------


def test_a_tuned_job_asks_with_its_own_record_left_out() -> None:
    tuned = [LabelledJob("", "a", job(1)), LabelledJob("", "a", job(2)), LabelledJob("", "b", job(1))]
    asked = scenario(4, tuned, []).queries
    assert [(query.own, query.application, query.same_nodes) for query in asked] == [
        (0, "a", False),
        (1, "a", False),
        (2, None, False),
    ]


def test_a_record_with_the_jobs_node_count_is_one_of_its_application() -> None:
    tuned = [LabelledJob("", "a", job(1)), LabelledJob("", "b", job(2))]
    asking = [LabelledJob("", name, job(nodes)) for name, nodes in (("a", 1), ("a", 2), ("b", 2), ("c", 2))]
    assert [query.same_nodes for query in scenario(4, tuned, asking).queries[2:]] == [True, False, True, False]


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_equal_seeds_make_equal_sites_and_different_seeds_do_not(name: str) -> None:
    assert SCENARIOS[name](7) == SCENARIOS[name](7) != SCENARIOS[name](8)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_site_has_tuned_and_unknown_applications_that_fit_its_nodes(name: str) -> None:
    site = SCENARIOS[name](0)
    assert len(site.records) == len(site.applications) > 50
    assert {query.application is None for query in site.queries} == {True, False}
    assert all(1 <= (query.job.nodes or 0) <= site.cluster_nodes for query in site.queries)
    assert [record.id for record in site.records] == list(range(len(site.records)))


@pytest.mark.slow
def test_the_thesis_scenario_has_the_sources_proportions() -> None:
    sites = [thesis_scenario.generate(seed) for seed in range(20)]

    def mean(of: list[int]) -> float:
        return sum(of) / len(of)

    assert mean([len(set(site.applications)) for site in sites]) == pytest.approx(41, abs=2)
    assert mean([len(site.records) for site in sites]) == pytest.approx(124, rel=0.1)
    scenario_jobs = ("left out", "again", "resized")
    jobs = [sum(query.kind in scenario_jobs for query in site.queries) for site in sites]
    assert mean(jobs) == pytest.approx(366, rel=0.1)
    names = [record.metadata.job_name for site in sites for record in site.records]
    assert sum(re.match(rf"({'|'.join(thesis_scenario.ADJECTIVES)})_", name) is not None for name in names) / len(
        names
    ) == pytest.approx(2 / 3, abs=0.05)
    assert sum(re.search(r"_\d+$", name) is not None for name in names) / len(names) == pytest.approx(1 / 3, abs=0.05)
    assert all(re.match(r"/home/u[123]/(\w+)_\d{10}/\1$", r.metadata.path) for site in sites for r in site.records)


def _by_application(sort: str) -> dict[str, list[JobMetadata]]:
    """Return the recorded jobs of five made-up sites by application, for applications with queries of kind `sort`."""
    found: dict[str, list[JobMetadata]] = defaultdict(list)
    for seed in range(5):
        site = hard_scenario.generate(seed)
        of_sort = {query.application for query in site.queries if query.kind == sort}
        for name, record in zip(site.applications, site.records, strict=True):
            if name in of_sort:
                found[f"{seed} {name}"].append(record.metadata)
    return found


@pytest.mark.slow
def test_the_hard_site_has_every_sort_of_code_tuned_and_untuned() -> None:
    kinds = {query.kind for seed in range(10) for query in hard_scenario.generate(seed).queries}
    assert {
        *hard_scenario.SORTS,
        *(f"{sort}, untuned" for sort in hard_scenario.SORTS),
        "shared login",
        "shared login, untuned",
    } <= kinds
    assert "left out" in kinds and any(kind.endswith(", colleague") for kind in kinds)


@pytest.mark.slow
def test_different_codes_have_the_same_name_on_the_hard_site() -> None:
    for sort in ("same name", "python driver", "wrapper", "common script"):
        programs = [jobs[0].program for jobs in _by_application(sort).values()]
        assert len(set(programs)) < len(programs), sort


@pytest.mark.slow
def test_one_code_has_different_names_on_the_hard_site() -> None:
    assert any(len({one.program for one in jobs}) > 1 for jobs in _by_application("renamed").values())


def test_new_jobs_use_versions_that_no_record_has() -> None:
    site = hard_scenario.generate(0)
    recorded = {record.metadata.path for record in site.records}
    asked = {query.job.path for query in site.queries if query.kind == "versions"}
    assert asked & recorded and asked - recorded


@pytest.mark.slow
def test_several_people_share_a_login_and_several_codes_a_directory() -> None:
    site = hard_scenario.generate(0)
    shared = [query.job for query in site.queries if query.kind.startswith("shared login")]
    assert len({one.user for one in shared}) == 1
    assert len({one.directory.split("/")[3] for one in shared if one.directory.startswith("/work/")}) > 1
    for jobs in _by_application("common script").values():
        assert {one.program for one in jobs} == {"run.sh"}


# -- what counts as a correct answer -----------------------------------------------------------------------------------


def answer(right: str | None, found: str | None, score: float = 0.9, nodes: int = 1, same: bool = True) -> Answer:
    nearest = LinkableRecord(0, job(nodes), 0.0, 0.2) if found else None
    return Answer(0, Query("kind", job(1), right, same and right is not None), nearest, found, score)


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (answer("a", "a"), Verdict.RIGHT),
        (answer("a", "a", score=0.5), Verdict.RIGHT),
        (answer("a", "a", nodes=2), Verdict.OTHER_NODES),
        (answer("a", "a", nodes=2, same=False), Verdict.RIGHT),
        (answer("a", "a", score=0.499), Verdict.MISSED),
        (answer("a", None, score=0.0), Verdict.MISSED),
        (answer("a", "b"), Verdict.CONFUSED),
        (answer("a", "b", score=0.4), Verdict.MISSED),
        (answer(None, "b"), Verdict.FALSE_MATCH),
        (answer(None, "b", score=0.4), Verdict.NO_MATCH),
        (answer(None, None, score=0.0), Verdict.NO_MATCH),
    ],
)
def test_a_job_is_judged_by_its_nearest_record(one: Answer, verdict: Verdict) -> None:
    assert one.verdict(0.5) is verdict


def test_a_threshold_of_0_matches_nothing_where_there_is_no_record() -> None:
    assert answer("a", None, score=0.0).verdict(0.0) is Verdict.MISSED


def test_each_share_counts_its_own_jobs() -> None:
    known = [answer("a", "a"), answer("a", "a", nodes=2), answer("a", "b"), answer("a", "a", 0.1, same=False)]
    measures = measure([*known, answer(None, "b"), answer(None, "b", score=0.1)], 0.5)
    stated = {name: (getattr(measures, name).value, getattr(measures, name).n) for name in MEASURES}
    assert stated == {
        "right_application": (1 / 2, 4),
        "right_nodes": (1 / 3, 3),
        "unknown_matched": (1 / 2, 2),
        "precision": (1 / 2, 4),
        "recall": (1 / 2, 4),
    }
    assert (measures.missed.value, measures.confused.value) == (1 / 4, 1 / 4)


# -- intervals ---------------------------------------------------------------------------------------------------------


def test_the_interval_of_a_single_site_is_wilsons() -> None:
    found = share([(8, 10)])
    assert [found.low, found.high] == pytest.approx([0.4902, 0.9433], abs=1e-4)


def test_sites_that_differ_widen_the_interval() -> None:
    alike, apart = share([(5, 10)] * 20), share([(0, 10), (10, 10)] * 10)
    assert alike.value == apart.value == 0.5
    assert alike.low is not None and apart.low is not None
    assert (0.5 - apart.low) > 2.5 * (0.5 - alike.low)


def test_similar_sites_do_not_narrow_the_interval_below_that_of_independent_jobs() -> None:
    alike = share([(5, 10)] * 20)
    assert alike.low is not None and alike.low < 0.5 - 1.96 * math.sqrt(0.25 / (200 + 1.96**2)) + 1e-4


def test_an_observed_share_of_zero_or_one_still_has_an_interval() -> None:
    assert share([(50, 50)] * 10).low == pytest.approx(0.99, abs=0.002)
    assert share([(0, 50)] * 10).high == pytest.approx(0.01, abs=0.002)


def test_repeated_jobs_with_equal_results_do_not_narrow_the_interval() -> None:
    assert share([(0, 50)] * 10, repeated=True).high == share([(0, 1)] * 10).high
    assert share([(50, 50)] * 10, repeated=True).low == share([(1, 1)] * 10).low
    assert share([(5, 10)] * 9 + [(4, 10)], repeated=True) == share([(5, 10)] * 9 + [(4, 10)])


def test_a_share_of_no_jobs_is_unknown() -> None:
    assert share([(0, 0)]).to_json() == {"value": None, "low": None, "high": None, "n": 0}


def test_intervals_have_their_nominal_coverage() -> None:
    """The true shares of the sites vary between 0.6 and 1.

    Intervals that treat all jobs as independent would contain the mean share only 2 times in 3.
    """
    rng = random.Random(1)  # noqa: S311 - not used for security
    covered = 0
    for _ in range(400):
        sites = []
        for _ in range(12):
            p = rng.uniform(0.6, 1)
            sites.append((sum(rng.random() < p for _ in range(40)), 40))
        found = share(sites)
        covered += found.low is not None and found.high is not None and found.low <= 0.8 <= found.high
    assert covered / 400 > 0.93


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_offers_every_scenario() -> None:
    assert tuple(SCENARIOS) == NAMES


@pytest.mark.slow
def test_json_has_every_measure_of_every_scenario_and_kind() -> None:
    said = json.loads(command("--seeds", "1", "--json").output)
    assert (said["model"], said["threshold"], said["seeds"]) == ("site/3", load("site").threshold, 1)
    for name in SCENARIOS:
        for measures in (said[name], *said[name]["kinds"].values()):
            for measured in MEASURES:
                assert measures[measured].keys() == {"value", "low", "high", "n"}
        assert said[name]["right_application"]["n"] == sum(
            measures["right_application"]["n"] for measures in said[name]["kinds"].values()
        )
        for failure in said[name]["failures"]:
            assert 0 < failure["share"]["value"] <= 1
            for example in failure["examples"]:
                assert example["score"] >= 0 and JobMetadata.from_json(example["job"])


def test_any_model_file_is_evaluated(tmp_path: Path) -> None:
    blind = tmp_path / "blind.toml"
    blind.write_text(
        'name = "blind"\nversion = 3\nthreshold = 0.5\n[evidence]\ntext = "none"\n'
        '[[fields]]\nname = "user"\nparts = [{ feature = "user", comparer = "exact" }]\n'
    )
    words = ("--model", str(blind), "--scenario", "hard", "--seeds", "1", "--json")
    said = json.loads(command(*words).output)
    assert said["model"] == "blind/3" and said.keys() == {"version", "model", "threshold", "seeds", "hard"}
    assert said["hard"]["confused"]["value"] > 0.3
    worst = said["hard"]["failures"][0]
    assert worst["outcome"] in ("confused", "false match") and worst["examples"][0]["score"] == 1.0


@pytest.mark.slow
def test_the_option_threshold_replaces_the_models_threshold() -> None:
    words = ("--scenario", "hard", "--seeds", "1", "--json")
    strict, lax = (json.loads(command(*words, "--threshold", at).output)["hard"] for at in ("1", "0"))
    assert strict["unknown_matched"]["value"] == strict["right_application"]["value"] == 0
    assert lax["unknown_matched"]["value"] == 1 and lax["missed"]["value"] == 0


def test_a_missing_model_is_reported_in_one_line() -> None:
    assert "no model 'nowhere'" in str(command("--model", "nowhere").exception)


def test_failures_are_printed_with_a_job_and_its_nearest_record() -> None:
    said = command("--model", "thesis", "--scenario", "hard", "--seeds", "1").output
    assert said.startswith("Model thesis/1, threshold 0.55, seeds 0 to 0.")
    assert "hard: most frequent errors" in said and "./run.sh" in said


def test_ids_and_own_records_do_not_leak_into_an_answer() -> None:
    report = evaluate(load("thesis"), "hard", 1)
    assert all(one.nearest is None or one.nearest.id != one.query.own for one in report.answers)


def test_a_site_without_records_leaves_every_job_unmatched(monkeypatch: pytest.MonkeyPatch) -> None:
    empty = Scenario(4, (), (), (Query("kind", job(), None, False),))
    monkeypatch.setitem(SCENARIOS, "empty", lambda _: empty)
    report = evaluate(load("thesis", threshold=0.0), "empty", 2)
    assert report.measures.unknown_matched.value == 0 and report.measures.right_application.value is None


# -- the page ----------------------------------------------------------------------------------------------------------

PAGES = blocks(TABLES)


def kinds(of: list[tuple[str, Answer]]) -> Report:
    """Return a report with these answers, each for a job of the given kind, at a threshold of 0.5."""
    found = [replace(one, query=replace(one.query, kind=kind)) for kind, one in of]
    return Report("made up", "a/1", 0.5, 1, tuple(found))


def test_kinds_without_a_wrong_answer_share_the_last_row() -> None:
    jobs = {"a": answer("a", "a"), "b": answer("a", "b"), "c": answer(None, "b", 0.1), "d": answer("a", "a", nodes=2)}
    by_kind, *_ = details(kinds([*jobs.items(), *jobs.items()]))
    assert [row[:3] for row in by_kind.rows] == [("b", "2", "0"), ("d", "2", "0"), ("a; c", "2", "2")]
    assert [cell.split()[0] for cell in by_kind.rows[-1][3:]] == ["100.0", "100.0", "0.0"]


def test_thresholds_with_equal_shares_share_a_row() -> None:
    _, by_threshold, _ = details(kinds([("a", answer("a", "a", 0.6)), ("a", answer(None, "b", 0.945))]))
    assert [row[0] for row in by_threshold.rows] == ["0.3 to 0.6", "0.65 to 0.9", "0.95 to 0.999"]
    assert len({row[1:] for row in by_threshold.rows}) == 3


def test_a_table_without_rows_says_none() -> None:
    assert table_markdown(Table("errors", ("kind",), ())) == "**errors**: none"


def test_the_summaries_are_the_beginnings_of_the_tables() -> None:
    assert blocks(SUMMARIES) == {command: summary(PAGES[command]) for command in PAGES}


def test_the_summarys_own_tables_have_figures_of_the_complete_ones() -> None:
    page, complete = SUMMARIES.read_text(), PAGES["match evaluate --model site --seeds 10 --markdown"]
    missed = re.findall(r"^\| ([\w', ]+) \| (\d+\.\d) \| [a-z].* \|$", page, re.MULTILINE)
    at = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert len(missed) == 3 and len(at) == 5
    hard = complete.split("**hard: by kind of job**")[1]
    for kind, right in missed:
        assert re.search(rf"^\| {kind} \| \d+ \| 0 \| {right} \(", hard, re.MULTILINE), kind
    for threshold, right, unknown in at:
        assert re.search(rf"^\| {threshold} \| {right} \([^|]*\|[^|]*\| {unknown} \(", hard, re.MULTILINE), threshold


def test_every_shipped_model_is_on_the_page() -> None:
    presets = {path.stem for path in (ROOT / "matcher/linkage/models").glob("*.toml")}
    assert {found[1] for line in PAGES if (found := re.search(r"--model (\S+)", line))} == presets


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.slow
@pytest.mark.parametrize("line", PAGES)
def test_the_numbers_on_the_page_are_those_that_the_command_prints(line: str, scenario: str) -> None:
    headline, of_all, *others = (
        CliRunner().invoke(reprise, [*line.split(), "--scenario", scenario]).output.split("\n\n")
    )
    assert headline in PAGES[line] and set(of_all.splitlines()) <= set(PAGES[line].splitlines())
    assert "\n\n".join(others) in PAGES[line]
