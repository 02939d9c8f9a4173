# SPDX-License-Identifier: Apache-2.0
"""Test the component together, which tunes several components on one application: settings of trials and records."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from reprise.config import Config
from reprise.database.entities import Measurement, TrialRole, TrialState
from reprise.database.facade import Database
from reprise.database.gain_subject import subject
from reprise.tuner.campaign import session
from reprise.tuner.components import witness
from reprise.tuner.components.witness import Opened
from reprise.tuner.definition.campaign_definition import check as check_definition
from reprise.tuner.errors import CampaignFailedError, ObjectiveError, TunerError
from reprise.tuner.model.component import Comparison, FromTrials, Reviewer, TrialOutput, TrialPlan
from reprise.tuner.report import campaign_overview, following, text_report, words
from reprise.tuner.together.described_ingredient import DescribedIngredient
from reprise.tuner.together.together_component import GIVEN_FILE, TogetherComponent, build
from tests.unit.report_values import Written
from tests.unit.tuner_site import Site

FAST = """\
name: {name}
version: "1"
description: a variable that a program heeds
kind: application
{more}
parameters:
  level: {{name: {variable}, default: 0, unset: 0, values: [0, 1, 2, 3]}}
  other: {{name: {variable}_OTHER, default: 5, unset: 5, values: [5, 6], when: {{level: 2}}}}
"""
SCRIPT = """\
#!/bin/bash
#SBATCH -N 2
left=5
[ "${SRO_A:-0}" != 2 ] || left=$((left - 2))
[ "${SRO_B:-0}" != 1 ] || left=$((left - 2))
[ "${SRO_B:-0}" != 3 ] || left=$((left + 3))
sleep 0.$left
"""


@pytest.fixture
def together(site: Site) -> Site:
    (site.directory / "components/together.yaml").write_text(
        'name: together\nversion: "1"\ndescription: several\nkind: together\n'
    )
    for name, more in (("a", "conflicts: [A_*]"), ("b", "context: [nodes]")):
        text = FAST.format(name=name, variable=f"SRO_{name.upper()}", more=more)
        (site.directory / f"components/{name}.yaml").write_text(text)
    (site.directory / "app.sh").write_text(SCRIPT)
    return site


def campaign(**changes: Any) -> dict[str, Any]:
    found = {
        "component": "together",
        "search": {"method": "screening", "budget": 8, "window": 0},
        "repetitions": {"default_runs": 1, "final_pairs": 3},
    }
    return {**found, **changes}


def components(**own: Any) -> dict[str, Any]:
    return {"components": {name: {"space": space} for name, space in own.items()}}


def component(site: Site, settings: dict[str, Any] | None = None) -> TogetherComponent:
    from reprise.tuner.definition import component_registry
    from reprise.tuner.definition.campaign_definition import Application

    settings = settings or components(a={"level": [2]}, b={"level": [1, 3]})
    application = Application(script=site.directory / "app.sh", user="alice")
    read = component_registry.read("together", site.config, application, settings)
    found = build(read, settings, site.config)
    assert isinstance(found, TogetherComponent)
    return found


def begun(site: Site, changes: dict[str, Any]) -> int:
    definition = check_definition({**site.definition(), **changes}, "test")
    with Database.open(site.config.database.path) as database:
        return session.begin(database, definition, site.config, 1_000_000.0).id


def comparison(winner: dict[str, Any], low: float = 0.3) -> Comparison:
    measured = Measurement(1.0, 0.9, 1.1, 5, "s")
    return Comparison("app.sh", winner, measured, measured, 0.5, low, 0.7)


def never(plan: TrialPlan) -> TrialOutput:
    raise AssertionError


def test_the_default_is_the_unchanged_script(together: Site) -> None:
    found = component(together)
    (problem,) = found.problems()
    plan = found.plan(problem.key, problem.default)
    assert plan.script == SCRIPT and not plan.environment and not plan.preload and not plan.options
    assert plan.nodes == 2 and plan.files == {GIVEN_FILE: ""}


def test_files_are_dropped_from_memory_before_every_trial_including_the_default(together: Site) -> None:
    """If only some trials dropped files, settings would be compared with a default that reads files from memory."""
    files = [together.directory / name for name in ("a b", "gone", "pipe")]
    files[0].write_bytes(b"x" * 4096)
    os.mkfifo(files[2])
    found = component(together, {**components(a={"level": [2]}), "reads": [str(file) for file in files]})
    (problem,) = found.problems()
    plans = [found.plan(problem.key, {**problem.default, "a.level": level}) for level in (1, 2)]
    assert plans[0].before == plans[1].before != ""
    outside = {name: value for name, value in os.environ.items() if name != "SLURM_JOB_ID"}
    done = subprocess.run(
        ["bash", "-c", plans[0].before], capture_output=True, text=True, check=False, timeout=60, env=outside
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


DROPS = "before: drop all\nbefore_reads: drop {reads}"


def test_a_component_drops_no_caches_if_every_trial_does_or_nothing_is_read(together: Site) -> None:
    """The component's own command to drop caches needs sudo, and fails if one of the files is missing."""
    text = FAST.format(name="c", variable="SRO_C", more="MORE").replace("MORE", DROPS)
    (together.directory / "components/c.yaml").write_text(text)

    def before(own: dict[str, Any], **more: Any) -> str:
        found = component(together, {"components": {"c": {"space": {"level": [1]}, **own}}, **more})
        (problem,) = found.problems()
        return found.plan(problem.key, {**problem.default, "c.level": 1}).before

    assert before({}) == "drop all"
    assert "drop all" not in before({}, reads=["/data/gone"]) and "/data/gone" in before({}, reads=["/data/gone"])
    assert before({"reads": ["/data"]}, reads=["/data/mesh"]).endswith("\ndrop /data")
    script = together.directory / "app.replay.sh"
    script.write_text(SCRIPT)
    assert before({}, proxy=str(script)) == ""


def test_a_trial_is_given_the_settings_of_all_components_that_it_changes(together: Site) -> None:
    found = component(together)
    (problem,) = found.problems()
    plan = found.plan(problem.key, {**problem.default, "a.level": 2, "b.level": 3})
    assert plan.environment == {"SRO_A": "2", "SRO_B": "3"} and plan.files == {GIVEN_FILE: "a\nb\n"}
    alone = found.plan(problem.key, {**problem.default, "b.level": 3})
    assert alone.environment == {"SRO_B": "3"} and alone.files == {GIVEN_FILE: "b\n"}


def test_points_that_differ_only_without_effect_are_one_point(together: Site) -> None:
    found = component(together, components(a={"level": [2], "other": [6]}, b={"level": [1]}))
    (problem,) = found.problems()
    assert problem.space.key({**problem.default, "a.other": 6}) == problem.space.key(problem.default)
    assert len(problem.space.points) == 6


def test_the_record_has_the_settings_of_the_components_that_the_winner_changes(together: Site, tmp_path: Path) -> None:
    found = component(together)
    default = found.problems()[0].default
    (one,) = found.publish([comparison({**default, "a.level": 2, "b.level": 1})], never, tmp_path)
    assert one.environment == {"SRO_A": "2", "SRO_B": "1"} and (one.gain, one.gain_low) == (0.5, 0.3)
    assert set(one.conflicts) == {"SRO_A", "SRO_A_OTHER", "A_*", "SRO_B", "SRO_B_OTHER"}
    assert one.component == "a+b" and list(one.parametrization) == ["parts"]
    (alone,) = found.publish([comparison({**default, "b.level": 1})], never, tmp_path)
    assert alone.environment == {"SRO_B": "1"} and alone.component == "b"
    assert found.publish([comparison({**default, "b.level": 1}, low=-0.1)], never, tmp_path) == []


@pytest.mark.parametrize(
    ("more", "script", "note"),
    [
        ("options: [fastio=yes]", "", "no record: Reprise cannot set --fastio=yes in a job: add it"),
        ("options: [fastio=yes]", "#SBATCH --fastio=yes\n", "only for jobs that set --fastio=yes themselves"),
        ("directives: ['#SBB a=b']", "", "no record: Reprise cannot set `#SBB a=b`"),
        ("directives: ['#SBB a=b']", "#SBB a=b\n", "only for jobs that set `#SBB a=b` themselves"),
        ("preload: [/opt/x.so]", "", "no record: Reprise cannot set LD_PRELOAD=/opt/x.so"),
        ("library: sro", "", ""),
    ],
)
def test_settings_that_need_something_neither_script_nor_jobs_have_give_no_record(
    together: Site, tmp_path: Path, more: str, script: str, note: str
) -> None:
    """Jobs that lack what the settings need would not benefit; Reprise itself can give jobs only its own libraries."""
    (together.directory / "libreprise_sro.so").touch()
    together.settings["tuner"]["preload_directory"] = str(together.directory)
    together.config = Config.model_validate(together.settings)
    text = FAST.format(name="a", variable="SRO_A", more=f"activation: {{{more}}}")
    (together.directory / "components/a.yaml").write_text(text)
    (together.directory / "app.sh").write_text(SCRIPT.replace("left=5", f"{script}left=5"))
    found = component(together)
    default = found.problems()[0].default
    (one,) = found.publish([comparison({**default, "a.level": 2, "b.level": 1})], never, tmp_path)
    if note.startswith("no record"):
        assert not one.environment and one.note.startswith(note)
    else:
        library = {"REPRISE_PRELOAD": "sro"} if "library" in more else {}
        assert one.environment == {"SRO_A": "2", "SRO_B": "1", **library} and one.note == note


def test_a_gain_of_a_figure_in_the_output_is_not_promised_as_one_of_the_run_time(
    together: Site, tmp_path: Path
) -> None:
    rate = {"pattern": r"rate: (\S+)", "unit": "MB/s", "direction": "maximize"}
    found = component(together, {**components(a={"level": [2]}), "objective": rate})
    (one,) = found.publish([comparison({**found.problems()[0].default, "a.level": 2})], never, tmp_path)
    assert subject(one.parametrization) == "a figure in the application's output (MB/s)"


@pytest.mark.parametrize(("variable", "more"), [("SRO_A", ""), ("SRO_C", "conflicts: [SRO_A*]"), ("A_C", "")])
def test_components_that_set_the_same_thing_are_never_combined(together: Site, variable: str, more: str) -> None:
    text = FAST.format(name="c", variable=variable, more=more)
    (together.directory / "components/c.yaml").write_text(text)
    found = component(together, components(a={"level": [2]}, c={"level": [3]}))
    (problem,) = found.problems()
    both = {**problem.default, "a.level": 2, "c.level": 3}
    assert found.plan(problem.key, both).environment == {"SRO_A": "2"}
    assert problem.space.key(both) == problem.space.key({**problem.default, "a.level": 2})
    assert len(problem.space.points) == 3


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"components": {}}, "components"),
        (components(a={"speed": [1]}), "'speed' is not a parameter of this component"),
        (components(nobody={}), "nobody"),
        ({**components(a={"level": [1]}), "colour": 1}, "colour"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(together: Site, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(TunerError, match=says) as refused:
        component(together, settings)
    assert "\n" not in str(refused.value)


def test_a_component_of_another_kind_is_refused(together: Site) -> None:
    with pytest.raises(TunerError, match="of kind landscape cannot be tuned together with others"):
        text = 'name: land\nversion: "1"\ndescription: recorded\nkind: landscape\n'
        (together.directory / "components/land.yaml").write_text(text)
        component(together, components(land={}))


@pytest.mark.slow
def test_a_campaign_finds_what_helps_together_and_promises_the_gain_of_that(together: Site) -> None:
    settings = components(a={"level": [1, 2]}, b={"level": [3, 1]})
    number = begun(together, {**campaign(), "settings": settings})
    (record,) = together.run(number)
    found = together.read(lambda database: database.record(record))
    assert found.environment == {"SRO_A": "2", "SRO_B": "1"}
    assert found.context == {"cluster": "testing", "nodes": 2}
    assert found.component == "a+b" and found.gain == pytest.approx(0.75, abs=0.2)
    searched = [t.parametrization for t in together.trials(number) if t.role == "search"]
    assert [sum(value != 0 for key, value in one.items() if key.endswith("level")) for one in searched[:5]] == [
        1
    ] * 4 + [2]
    assert json.loads(json.dumps(found.parametrization))["parts"]["a"]["parametrization"]["parameters"]["level"] == 2


@pytest.mark.slow
def test_a_record_has_the_conditions_of_its_own_settings_only(together: Site) -> None:
    """The record has settings of `a` only, although `b` depends on the number of nodes.

    With a condition on the number of nodes, the record would not apply to jobs that do not state this number.
    """
    number = begun(together, {**campaign(), "settings": components(a={"level": [2]}, b={"level": [3]})})
    (record,) = together.run(number)
    found = together.read(lambda database: database.record(record))
    assert found.component == "a" and found.environment == {"SRO_A": "2"}
    assert found.context == {"cluster": "testing"}


def test_a_trial_whose_settings_were_not_in_effect_fails_unless_it_had_none(
    together: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = component(together)

    def check(output: TrialOutput) -> None:
        raise CampaignFailedError("not in effect")

    monkeypatch.setattr(found._ingredients[0], "check", check)
    (tmp_path / GIVEN_FILE).write_text("b\n")
    assert found.read("app.sh", TrialOutput(0, "", "", 2.5, tmp_path)).value == 2.5
    (tmp_path / GIVEN_FILE).write_text("a\nb\n")
    with pytest.raises(ObjectiveError, match="not in effect"):
        found.read("app.sh", TrialOutput(0, "", "", 2.5, tmp_path))


def test_remarks_of_a_component_on_its_trials_name_the_component(
    together: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hinted = "verify: mpiio\nactivation: {hints: SRO_HINTS}"
    text = FAST.format(name="a", variable="SRO_A", more=hinted).replace("SRO_A, ", "cb_nodes, via: hint, ")
    (together.directory / "components/a.yaml").write_text(text)
    (together.directory / "reprise-witness.so").touch()
    tuner = together.config.tuner.model_copy(update={"libexec": together.directory})
    together.config = together.config.model_copy(update={"tuner": tuner})
    found = component(together)
    assert isinstance(found, Reviewer) and found.review({}, []) == []
    seen = [Opened("/data/x", {}, {"cb_nodes": "2"}), Opened("/data/y", {"cb_nodes": "7"}, {"cb_nodes": "7"})]
    monkeypatch.setattr(witness, "seen_in", lambda _: seen)
    (tmp_path / "hints").write_text("cb_nodes 2\n")
    (tmp_path / GIVEN_FILE).write_text("a\nb\n")
    for _ in range(2):
        found.read("app.sh", TrialOutput(0, "", "", 2.5, tmp_path))
    assert found.review({}, []) == ["a: /data/y: the program sets cb_nodes to 7 itself, which overrides the hints file"]


def objecting(name: str, after: int = 0) -> Callable[[DescribedIngredient, TrialOutput], None]:
    """Return a check that fails for the component `name`, except in the component's first `after` trials."""
    seen: list[TrialOutput] = []

    def check(ingredient: DescribedIngredient, output: TrialOutput) -> None:
        if ingredient.name == name:
            seen.append(output)
            if len(seen) > after:
                raise CampaignFailedError(f"component {name}: the program sets it itself, which wins")

    return check


@pytest.mark.slow
def test_a_component_that_has_no_effect_does_not_keep_the_others_from_a_record(
    together: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DescribedIngredient, "check", objecting("a"))
    number = begun(together, {**campaign(), "settings": components(a={"level": [2]}, b={"level": [1]})})
    (record,) = together.run(number)
    assert together.read(lambda database: database.record(record)).environment == {"SRO_B": "1"}
    failed = [trial for trial in together.trials(number) if trial.state is TrialState.FAILED]
    assert failed and all(trial.parametrization["a.level"] == 2 for trial in failed)
    assert failed[0].message == "not in effect: component a: the program sets it itself, which wins"


@pytest.mark.slow
def test_a_winner_that_had_no_effect_when_it_was_run_again_gets_no_record(
    together: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DescribedIngredient, "check", objecting("a", after=2))
    number = begun(together, {**campaign(), "settings": components(a={"level": [2]})})
    assert together.run(number) == []
    (problem,) = together.described(number)["problems"]
    assert "failed when it was run again" in json.dumps(problem)


@pytest.mark.parametrize(
    ("a", "b", "more", "says"),
    [
        ({"nodes": 4}, {"nodes": 8}, {}, "a and b are for different jobs, nodes 4 and 8: "),
        # b states no number of nodes, so the number in the script counts
        ({"nodes": 4}, {}, {}, "a and b are for different jobs, nodes 4 and 2: "),
        ({"tasks_per_node": 4}, {"tasks_per_node": 2}, {"nodes": 2}, "a and b are for different jobs, tasks_per_node"),
        ({"nodes": 4}, {"nodes": 4}, {"nodes": 2}, "the campaign and a are for different jobs, nodes 2 and 4: "),
    ],
)
def test_components_that_say_different_sizes_of_the_application_are_refused_before_anything_runs(
    together: Site, a: dict[str, int], b: dict[str, int], more: dict[str, int], says: str
) -> None:
    for name in "ab":
        text = FAST.format(name=name, variable=f"SRO_{name.upper()}", more="context: [nodes, tasks_per_node]")
        (together.directory / f"components/{name}.yaml").write_text(text)
    own = components(a={"level": [2]}, b={"level": [1]})["components"]
    settings = {"components": {"a": {**own["a"], **a}, "b": {**own["b"], **b}}, **more}
    with pytest.raises(TunerError, match=f"^settings: components: {says}") as refused:
        component(together, settings)
    assert "\n" not in str(refused.value)


def test_the_context_of_a_campaign_combines_those_of_its_components(
    together: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts = {
        "a": {"nodes": 2, "openmpi": ["4.1.4", "4.1.6"]},
        "b": {"openmpi": ["4.1.4"], "processors": FromTrials()},
    }
    monkeypatch.setattr(DescribedIngredient, "context", lambda ingredient: contexts[ingredient.name])
    assert component(together).context() == {"nodes": 2, "openmpi": ["4.1.4"]}
    contexts["a"] |= {"tasks_per_node": 4}
    contexts["b"] |= {"tasks_per_node": FromTrials(1)}
    assert component(together).context()["tasks_per_node"] == 4
    contexts["a"].clear()
    assert component(together).context() == {"openmpi": ["4.1.4"], "tasks_per_node": 1}


def test_points_that_come_first_are_completed_by_the_default_and_refused_off_the_axes(together: Site) -> None:
    settings = {**components(a={"level": [2]}, b={"level": [1]}), "first": [{"a.level": 2}]}
    (problem,) = component(together, settings).problems()
    assert list(problem.first) == [{**problem.default, "a.level": 2}]
    for wrong in ({"a.level": 9}, {"c.level": 1}):
        with pytest.raises(TunerError, match="is not a point of the space"):
            component(together, {**settings, "first": [wrong]})


TIME = {"pattern": '"slowest_s": ([0-9.]+)'}


def test_a_replay_gets_the_same_settings_and_gives_no_record(together: Site, tmp_path: Path) -> None:
    script = together.directory / "app.replay.sh"
    script.write_text("#!/bin/bash\nmpirun reprise-replay app.mix\n")
    settings = {**components(a={"level": [2]}, b={"level": [1]}), "proxy": str(script), "objective": TIME}
    found = component(together, settings)
    (problem,) = found.problems()
    plan = found.plan(problem.key, {**problem.default, "a.level": 2})
    assert plan.script == script.read_text() and plan.environment == {"SRO_A": "2"} and plan.nodes == 2
    (tmp_path / GIVEN_FILE).write_text("")
    assert found.read(problem.key, TrialOutput(0, 'x\n{"slowest_s": 0.5}\n', "", 9.0, tmp_path)).value == 0.5
    with pytest.raises(ObjectiveError):
        found.read(problem.key, TrialOutput(0, "", "no such file", 9.0, tmp_path))
    winner = comparison({**problem.default, "a.level": 2})
    assert found.publish([winner], never, tmp_path) == []


def test_reports_show_only_differences_from_the_unchanged_script(together: Site) -> None:
    settings = components(a={"level": [1, 2], "other": [6]}, b={"level": [3, 1], "other": [6]})
    written = Written(together, begun(together, {**campaign(), "settings": settings}))
    default = written.campaign.spec["problems"][0]["default"]
    point = {**default, "a.level": 2, "b.other": 6}
    written.trial(TrialRole.DEFAULT, default, 2.0, "app.sh")
    written.trial(TrialRole.SEARCH, point, 1.0, "app.sh")
    written.trial(TrialRole.SEARCH, {**default, "b.level": 3}, 3.0, "app.sh")
    written.trial(TrialRole.SEARCH, {**default, "a.level": 1}, None, "app.sh", state=TrialState.RUNNING)
    described = written.described()
    out = Console(file=io.StringIO(), width=300)
    out.print(campaign_overview.table(described))
    out.print(following.picture(described, 40))
    assert isinstance(out.file, io.StringIO)
    for text in (out.file.getvalue(), text_report.render(described)):
        assert "a.level=2 b.other=6" in text and "a.other=" not in text
    assert "b.level=3" in text_report.render(described), "the report lists b.level=3 among the best points"
    assert "a.level=1" in out.file.getvalue(), "the overview lists a.level=1 among running trials"
    assert words.settings(default, default) == "the default"
