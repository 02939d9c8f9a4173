# SPDX-License-Identifier: Apache-2.0
"""Test the component openmpi-collectives: its problems, trials, objective, and publication."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from reprise.allowlist import is_allowed
from reprise.config import Config
from reprise.database.entities import Measurement
from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.model.component import Comparison, Component, TrialOutput, TrialPlan, Wanted
from reprise.tuner.openmpi import collectives_component, rules_channel
from reprise.tuner.openmpi.algorithms import known_algorithms
from reprise.tuner.openmpi.collective_spaces import DEFAULT, FANOUTS, SEGMENTS
from reprise.tuner.openmpi.collectives_component import CollectivesComponent
from reprise.tuner.openmpi.collectives_settings import read as read_settings
from reprise.tuner.openmpi.installed_build import OpenMPIBuild
from reprise.tuner.openmpi.rules import han_file
from reprise.tuner.openmpi.rules.rules_model import BUILT_IN, Choice
from reprise.tuner.openmpi.rules_gain import combined_gain, combined_measurement
from tests.places import ROOT
from tests.unit.collectives_values import BUILD, comparison, decision, open_mpi

SETTINGS = {"collectives": ["bcast"], "sizes": [65536, 1024, 1048576], "nodes": 4}


def make(config: dict[str, Any] | None = None, build: OpenMPIBuild = BUILD, **settings: Any) -> CollectivesComponent:
    checked = read_settings({}, {**SETTINGS, **settings})
    return CollectivesComponent("openmpi-collectives", "1", checked, build, Config.model_validate(config or {}))


@pytest.fixture
def directory(place: Path) -> Path:
    """Return the path of the artifacts' directory, which the tested code creates."""
    return place / "artifacts"


def test_there_is_a_problem_for_each_collective_and_size() -> None:
    keys = [problem.key for problem in make(collectives=["bcast", "barrier"]).problems()]
    assert keys == ["bcast/1024", "bcast/65536", "bcast/1048576", "barrier/0"]


def test_the_default_is_measured_without_any_setting() -> None:
    plan = make(repetitions=50).plan("bcast/1024", DEFAULT)
    assert not plan.environment
    assert not plan.files
    calls = ["--warmup", "200", "--repetitions", "50", "--max-seconds", "10", "--passes", "4"]
    assert list(plan.argv[1:]) == [*calls, "bcast:1024"]
    assert (plan.nodes, plan.tasks_per_node) == (4, 1)


def test_one_run_evaluates_a_setting_of_every_collective_and_size() -> None:
    made = make(collectives=["reduce", "bcast"], sizes=[65536, 1024])
    assert {(problem.round, problem.family) for problem in made.problems()} == {("4x1/1", "reduce"), ("4x1/1", "bcast")}
    point = {"algorithm": 6, "segment": 512, "fanout": 4}
    plan = made.plan_round(
        [
            Wanted("bcast/65536", {**point, "segment": 1024}),
            Wanted("reduce/1024", DEFAULT, 0.5),
            Wanted("bcast/1024", point),
        ]
    )
    assert list(plan.argv[-3:]) == ["bcast:65536", "reduce:1024:0.5", "bcast:1024"]
    assert plan.timeout_s == 120 + 2 * 10 * 2
    chosen = [decision(plan.files["rules.conf"], "bcast", 4, size) for size in (1024, 65536)]
    assert [(choice.algorithm, choice.segment) for choice in chosen] == [(6, 512), (6, 1024)]
    assert decision(plan.files["rules.conf"], "reduce", 4, 1024).algorithm == 0


def test_a_run_evaluates_at_most_64_problems() -> None:
    problems = make(sizes=[4 * number for number in range(1, 81)]).problems()
    assert [problem.round for problem in problems] == ["4x1/1"] * 64 + ["4x1/2"] * 16
    assert not any(problem.round for problem in make(together=False).problems())


def test_a_problem_that_the_run_gave_up_has_a_lower_bound() -> None:
    line = '{"collective": "bcast", "size": 1024, "ranks": 4, "calls": 1, "above_s": 0.25}\n'
    sample = make().read("bcast/1024", TrialOutput(0, line, "", 1.0))
    assert (sample.value, sample.given_up) == (0.25, True)


def test_a_trial_uses_the_channel_that_jobs_will_use() -> None:
    plan = make().plan("bcast/1024", {"algorithm": 2, "segment": 512, "fanout": 3})
    assert plan.environment == {
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_dynamic_rules_filename": "{directory}/rules.conf",
    }
    text = plan.files["rules.conf"]
    assert decision(text, "bcast", 4, 1024) == Choice(2, 3, 512)
    assert decision(text, "bcast", 2, 1024) == BUILT_IN


NEWER = OpenMPIBuild("5.0.7", BUILD.algorithms, {"han": 35, "tuned": 30}, known_algorithms("han", "5.0"))
BY_HAN = "OMPI_MCA_coll_han_dynamic_rules_filename"


def test_han_passes_only_the_tuned_size_if_it_would_hide_tuned() -> None:
    plan = make(build=NEWER).plan("bcast/1024", {"algorithm": 2, "segment": 512, "fanout": 3})
    assert plan.environment[BY_HAN] == "{directory}/han.conf"
    assert plan.environment["OMPI_MCA_coll_han_use_dynamic_file_rules"] == "1"
    assert not any("priority" in name for name in plan.environment)
    assert component_of(plan.files["han.conf"], 1023) == "han"
    assert component_of(plan.files["han.conf"], 1024) == "tuned"
    assert not make(build=NEWER).plan("bcast/1024", DEFAULT).environment


def test_in_a_run_with_other_settings_the_default_is_measured_as_han_decides_it() -> None:
    point = {"algorithm": 2, "segment": 512, "fanout": 3}
    plan = make(build=NEWER).plan_round([Wanted("bcast/1024", DEFAULT), Wanted("bcast/65536", point)])
    sizes = (8, 1024, 65535, 65536)
    assert [component_of(plan.files["han.conf"], size) for size in sizes] == ["han", "han", "han", "tuned"]


def test_a_record_where_han_is_first_has_both_files_and_changes_only_the_sizes_with_a_gain(directory: Path) -> None:
    (found,) = make(build=NEWER).publish(COMPARISONS[:2], open_mpi(), directory)
    (other,) = found.other_artifacts
    assert found.environment[BY_HAN] == other.path
    assert found.parametrization["other_artifacts"] == [other.sha256]
    text = Path(other.path).read_text()
    assert [component_of(text, size) for size in (8, 1024, 65536, 1 << 20)] == ["han", "han", "tuned", "han"]
    assert component_of(text, 65536, ranks=3) == component_of(text, 65536, ranks=5) == "han"
    assert all(is_allowed(name) for name in found.environment)


def component_of(text: str, size: int, ranks: int = 4) -> str:
    rules = han_file.read(text.encode(), True, NEWER.han_algorithms)
    row = han_file.decide(rules, "bcast", "global_communicator", ranks, size)
    assert row
    return row.component


def result(size: int = 1024, slowest: str = "1.5e-3") -> str:
    times = f'"avg_s": 1e-4, "max_s": {slowest}, "batches_s": [1e-3, 2e-3]'
    return f'{{"collective": "bcast", "size": {size}, "ranks": 4, {times}}}'


def test_the_objective_is_the_mean_over_the_ranks() -> None:
    sample = make().read("bcast/1024", TrialOutput(0, f"noise\n{{no json\n{result()}\n", "", 1.0))
    assert (sample.value, tuple(sample.samples), sample.unit) == (1.5e-3, (1e-3, 2e-3), "s")


def test_the_line_of_the_last_pass_counts() -> None:
    lines = [result(slowest=f"{number}e-3").replace('"ranks"', f'"pass": {number}, "ranks"') for number in (1, 2, 3)]
    assert make().read("bcast/1024", TrialOutput(0, "\n".join(lines), "", 1.0)).value == 3e-3
    with pytest.raises(ObjectiveError, match="has 2 times"):
        make().read("bcast/1024", TrialOutput(0, f"{lines[0]}\n{lines[0]}", "", 1.0))


def line(size: int, number: int, repetitions: int, planned: int = 8) -> str:
    counts = f'"pass": {number}, "repetitions": {repetitions}, "planned": {planned}, "ranks"'
    return result(size, f"{number}e-3").replace('"ranks"', counts)


FIRST = [line(1024, 1, 2), line(65536, 1, 1, 1), line(1048576, 1, 2)]
SECOND = ['{"begins": 2}', line(1024, 2, 4), line(1048576, 2, 4)]


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (FIRST, (1e-3, 1e-3, 1e-3)),
        ([*FIRST, SECOND[0]], (None, 1e-3, 1e-3)),
        ([*FIRST, *SECOND[:2]], (2e-3, 1e-3, None)),
        ([*FIRST, *SECOND], (2e-3, 1e-3, 2e-3)),
        ([*FIRST, *SECOND, '{"begins": 3}', line(1024, 3, 8)], (3e-3, 1e-3, None)),
        (['{"begins": [1]}', '{"begins": 1, "collective": {}}', *FIRST], (1e-3, 1e-3, 1e-3)),
    ],
)
def test_a_problem_in_whose_call_the_run_ended_has_no_value_from_earlier_passes(
    lines: list[str], values: tuple[float | None, ...]
) -> None:
    """Only a problem that completed all of its calls before the run ended keeps its value."""
    found: list[float | None] = []
    for problem in ("bcast/1024", "bcast/65536", "bcast/1048576"):
        try:
            found.append(make().read(problem, TrialOutput(-9, "\n".join(lines), "", 1.0)).value)
        except ObjectiveError:
            found.append(None)
    assert tuple(found) == values


@pytest.mark.parametrize(
    "text", ["", result(size=65536), "{}", result(slowest="0"), result(slowest="NaN"), "[1]", "{" * 9]
)
def test_an_output_without_the_time_is_an_error_and_not_zero(text: str) -> None:
    with pytest.raises(ObjectiveError, match="bcast/1024"):
        make().read("bcast/1024", TrialOutput(1, text, "mpirun: lost a node", 1.0))


COMPARISONS = [
    comparison("bcast/1024", 7, 0.02, -0.05, 0.08),
    comparison("bcast/65536", 4, 0.75, 0.70, 0.80, 32768),
    comparison("bcast/1048576", 3, 0.50, 0.45, 0.55, 8192),
]


def test_only_gains_beyond_noise_are_published(directory: Path) -> None:
    (published,) = make().publish(COMPARISONS, open_mpi(), directory)
    assert published.artifact
    path = Path(published.artifact.path)
    assert path.name == f"{published.artifact.sha256}.conf"
    assert path.stat().st_mode & 0o777 == 0o644
    assert published.environment["OMPI_MCA_coll_tuned_dynamic_rules_filename"] == str(path)
    found = [decision(path.read_text(), "bcast", 4, size) for size in (1024, 65535, 65536, 1 << 20)]
    assert [choice.algorithm for choice in found] == [0, 0, 4, 3]
    assert math.isclose(published.gain, 1 - math.sqrt(0.25 * 0.5))
    rules_of_record = published.parametrization["rules"]
    assert isinstance(rules_of_record, list)
    assert [row["applied"] for row in rules_of_record] == [False, True, True]


@pytest.mark.parametrize("others", [[comparison("bcast/1048576", 3, 0.1, -0.1, 0.2)], []], ids=["unsure", "none"])
def test_a_size_without_gain_ends_the_rule_of_the_size_below(others: list[Comparison], directory: Path) -> None:
    comparisons = [COMPARISONS[1], *others]
    (published,) = make().publish(comparisons, open_mpi(), directory)
    assert published.artifact
    assert decision(Path(published.artifact.path).read_text(), "bcast", 4, 1 << 20) == BUILT_IN


def test_a_record_applies_to_the_release_and_the_nodes_that_were_measured() -> None:
    assert make().context() == {"nodes": 4, "tasks_per_node": 1, "openmpi": ["4.1.4"]}


LAYOUTS: dict[str, Any] = {"nodes": [4, 1, 2], "tasks_per_node": [2, 1], "sizes": [65536]}


def test_each_number_of_nodes_is_measured_with_each_number_of_tasks_and_one_task_alone_is_not() -> None:
    made = make(**LAYOUTS)
    keys = [f"{layout}/bcast/65536" for layout in ("1x2", "2x1", "2x2", "4x1", "4x2")]
    assert [problem.key for problem in made.problems()] == keys
    plans = [made.plan(key, DEFAULT) for key in keys]
    assert [f"{plan.nodes}x{plan.tasks_per_node}/bcast/65536" for plan in plans] == keys
    with pytest.raises(TunerError, match="one task cannot communicate"):
        make(nodes=1)


def test_layouts_share_a_family_and_have_separate_rounds() -> None:
    problems = make(**LAYOUTS).problems()
    assert {problem.family for problem in problems} == {"bcast"}
    assert len({problem.round for problem in problems}) == 5
    assert problems[-1].context == {"size": 65536, "nodes": 4, "tasks_per_node": 2}


def test_each_layout_has_a_separate_file_and_record(directory: Path) -> None:
    """The layouts 2 x 2 and 4 x 1 have equally many ranks, so one file could not distinguish these layouts."""
    made = make(**LAYOUTS)
    found = [comparison("2x2/bcast/65536", 4, 0.5, 0.4, 0.6), comparison("4x1/bcast/65536", 3, 0.3, 0.2, 0.4)]
    found.append(comparison("4x2/bcast/65536", 3, 0.3, -0.2, 0.4))
    publications = made.publish(found, open_mpi(), directory)
    contexts = [{"nodes": 2, "tasks_per_node": 2}, {"nodes": 4, "tasks_per_node": 1}]
    assert [one.context for one in publications] == contexts
    texts = [Path(one.artifact.path).read_text() for one in publications if one.artifact]
    assert [decision(text, "bcast", 4, 65536).algorithm for text in texts] == [4, 3]
    assert "2 nodes, 2 tasks on each" in texts[0]
    assert made.context() == {"nodes": [4, 1, 2], "tasks_per_node": [2, 1], "openmpi": ["4.1.4"]}


def test_tasks_placed_cyclically_are_measured_so_and_the_record_says_so(directory: Path) -> None:
    made = make(tasks_per_node=[1, 2], placement="node")
    assert made.plan("4x2/bcast/65536", DEFAULT).placement == "node"
    assert made.plan("4x1/bcast/65536", DEFAULT).placement == ""
    found = [comparison(f"{layout}/bcast/65536", 4, 0.5, 0.4, 0.6) for layout in ("4x1", "4x2")]
    first, second = made.publish(found, open_mpi(), directory)
    assert (first.context.get("placement"), second.context.get("placement")) == (None, "node")
    assert second.artifact and "placed by node" in Path(second.artifact.path).read_text()
    assert make(tasks_per_node=2).context() == {"nodes": 4, "tasks_per_node": 2, "openmpi": ["4.1.4"]}


def test_guideline_violations_are_remarked_on_for_the_settings_that_jobs_will_have() -> None:
    made = make(collectives=["allreduce", "reduce", "bcast"], sizes=[1024])
    defaults = {
        "allreduce/1024": Measurement(3.0, 2.9, 3.1, 5),
        "reduce/1024": Measurement(1.0, 0.9, 1.1, 5),
        "bcast/1024": Measurement(1.5, 1.4, 1.6, 5),
    }
    (remark,) = made.review(defaults, [])
    assert remark.startswith("performance guideline allreduce <= reduce + bcast: at 1024 bytes on 4 ranks")
    (remark,) = made.review(defaults, [comparison("allreduce/1024", 3, 0.5, 0.4, 0.6)])
    assert "guideline reduce <= allreduce" in remark, "with its tuned rule, allreduce takes 0.5 s"
    unsure = made.review(defaults, [comparison("allreduce/1024", 3, 0.5, -0.4, 0.6)])
    assert not unsure, "the gain is not proved, so no rule is written and the default's 1.0 s count"


def test_a_full_disk_leaves_no_partial_file_and_is_reported_in_one_line(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TunerError, match=rf"{directory}: cannot write a file \(No space left on device\)"):
        make().publish(COMPARISONS, open_mpi(), directory)
    assert not list(directory.iterdir())


def test_the_same_result_published_twice_is_one_file(directory: Path) -> None:
    (first,), (second,) = (make().publish(COMPARISONS, open_mpi(), directory) for _ in range(2))
    assert first.artifact and second.artifact
    assert first.artifact.path == second.artifact.path
    assert [path.name for path in directory.iterdir()] == [Path(first.artifact.path).name]


def test_nothing_is_published_where_nothing_is_better(directory: Path) -> None:
    def run(plan: TrialPlan) -> TrialOutput:
        raise AssertionError("nothing to prove")

    assert not make().publish([comparison("bcast/1024", 7, 0.02, -0.05, 0.08)], run, directory)
    assert not make().publish([comparison("bcast/1024", 0, 0.02, 0.01, 0.08)], run, directory)
    assert not directory.exists()


def test_an_algorithm_that_is_wrong_for_some_operations_is_never_published(directory: Path) -> None:
    tuned = make(collectives=["allreduce", "gather"], unsafe=True)
    found = [comparison("allreduce/65536", 4, 0.5, 0.4, 0.6), comparison("gather/65536", 1, 0.5, 0.4, 0.6)]
    assert not tuned.publish(found, open_mpi(), directory)


@pytest.mark.parametrize("name", ["gather", "scatter"])
def test_a_collective_without_any_safe_algorithm_is_refused_at_once(name: str) -> None:
    with pytest.raises(TunerError, match=f"a rules file for {name} would give jobs wrong results: leave it out"):
        make(collectives=[name])


@pytest.mark.parametrize(("tasks", "words"), [(1, "4 nodes, 1 task on each"), (2, "4 nodes, 2 tasks on each")])
def test_a_file_says_where_it_was_measured(tasks: int, words: str, directory: Path) -> None:
    (published,) = make(tasks_per_node=tasks).publish(COMPARISONS, open_mpi(), directory)
    assert published.artifact
    assert f": {words}\n" in Path(published.artifact.path).read_text()


def test_nothing_is_published_without_proof(directory: Path) -> None:
    with pytest.raises(TunerError, match="not in effect"):
        make().publish(COMPARISONS, open_mpi(lambda _: {}), directory)
    assert not list(directory.iterdir())


def test_releases_that_no_file_can_serve_are_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def begin(build: OpenMPIBuild, *releases: str) -> Component:
        monkeypatch.setattr(rules_channel, "describe", lambda _: build)
        config = Config.model_validate({"openmpi": {"releases": releases}})
        return collectives_component.build({"name": "x", "version": "3"}, SETTINGS, config)

    assert begin(BUILD, "4.1.4").problems()
    assert begin(BUILD, "4.1.4", "4.1.8").context()["openmpi"] == ["4.1.4", "4.1.8"]
    newer = OpenMPIBuild("5.0.11", BUILD.algorithms, {"han": 35, "tuned": 30})
    assert begin(newer, "5.0.7").context()["openmpi"] == ["5.0.11", "5.0.7"]
    with pytest.raises(TunerError, match=r"jobs may load 5\.0\.7, but gains measured with 4\.1\.4 do not apply to it"):
        begin(BUILD, "4.1.4", "5.0.7")
    six = OpenMPIBuild("6.0.0", BUILD.algorithms, {"han": 35, "tuned": 30})
    assert begin(six).context()["openmpi"] == ["6.0.0"]
    with pytest.raises(TunerError, match=r"jobs may load 6\.1\.0, but gains measured with 6\.0\.0 do not apply to it"):
        begin(six, "6.1.0")
    with pytest.raises(TunerError, match=r"'4\.1' is not an Open MPI release"):
        begin(BUILD, "4.1")


def test_a_directory_that_jobs_cannot_enter_is_refused(directory: Path) -> None:
    directory.mkdir(mode=0o700)
    with pytest.raises(TunerError, match=r"chmod o\+x"):
        make().publish(COMPARISONS, open_mpi(), directory)


def test_combined_bounds_hold_the_gain_and_do_not_shrink_with_more_problems() -> None:
    gain, low, high = combined_gain(COMPARISONS[1:])
    assert low < gain < high
    assert combined_gain(COMPARISONS[1:2]) == pytest.approx((0.75, 0.70, 0.80))
    assert low > combined_gain([COMPARISONS[1]])[0] - 0.5
    one = Measurement(2.0, 1.0, 4.0, 3)
    both = combined_measurement([one, one])
    assert (both.mean, both.low, both.high) == pytest.approx((2.0, 1.0, 4.0))
    assert both.n == 6
    assert combined_measurement([Measurement(1.0, -0.5, 2.5, 2)]).low == 0.0


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"collectives": ["bcats"]}, "'bcats' cannot be tuned: choose from allgather"),
        ({"collectives": ["reduce"], "sizes": [6]}, "multiples of 4"),
        ({"nodes": 1}, "2 tasks or more"),
        ({"size": [1]}, "did you mean 'sizes'"),
        ({"sizes": []}, "sizes"),
        ({"sizes": [8, 8]}, "listed twice"),
        ({"nodes": "four"}, "'nodes.0': .*'four'"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(TunerError, match=why) as caught:
        make(**settings)
    assert "\n" not in str(caught.value)


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(TunerError, match="'nodes' is missing"):
        read_settings({}, {"collectives": ["bcast"], "sizes": [8]})


def test_the_shipped_component_file_states_the_defaults_of_the_code() -> None:
    definition = yaml.safe_load((ROOT / "etc/components/openmpi-collectives.yaml").read_text())
    assert definition["defaults"]["segments"] == list(SEGMENTS)
    assert definition["defaults"]["fanouts"] == list(FANOUTS)
    assert read_settings(definition["defaults"], SETTINGS) == read_settings({}, SETTINGS)


def test_build_asks_the_configured_ompi_info(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def describe(command: str) -> OpenMPIBuild:
        asked.append(command)
        return BUILD

    monkeypatch.setattr(rules_channel, "describe", describe)
    config = Config.model_validate({"openmpi": {"ompi_info": "/opt/ompi/bin/ompi_info"}})
    built = collectives_component.build({"name": "x", "version": "3"}, SETTINGS, config)
    assert (built.name, built.version, asked) == ("x", "3", ["/opt/ompi/bin/ompi_info"])
