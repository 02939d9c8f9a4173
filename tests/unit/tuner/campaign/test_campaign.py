# SPDX-License-Identifier: Apache-2.0
"""Test whole campaigns without Slurm: their loop, their results, and how they resume after a kill at any point."""

from __future__ import annotations

import errno
import io
import json
import multiprocessing
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from rich.console import Console

from reprise.database.entities import (
    CampaignState,
    Json,
    Measurement,
    RecordStatus,
    Scope,
    Trial,
    TrialRole,
    TrialState,
)
from reprise.database.errors import BusyError
from reprise.database.facade import Database
from reprise.tuner.campaign import publish, session
from reprise.tuner.definition import campaign_place
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.errors import CampaignFailedError, TunerError
from reprise.tuner.executors.executor import Finished, TrialResult
from reprise.tuner.executors.local_executor import LocalExecutor
from reprise.tuner.model.component import Comparison, TrialOutput
from reprise.tuner.model.space import Parameter, Space
from reprise.tuner.report import campaign_overview
from reprise.tuner.report import text_report as text
from reprise.tuner.report.progress import LineReport
from tests import fake_component
from tests.unit.tuner_site import Command, Site
from tests.waiting import wait_for


class Interrupting(LineReport):
    """A progress report that raises KeyboardInterrupt, as Ctrl-C does, at its first trial."""

    def trial(self, *_: Any) -> None:
        raise KeyboardInterrupt


def what_was_tried(trials: list[Trial]) -> list[tuple[Any, ...]]:
    return [(t.problem, t.number, t.role, tuple(t.parametrization.items()), t.state, t.value, t.unit) for t in trials]


@pytest.mark.slow
def test_a_campaign_runs_the_default_the_search_and_the_final_pairs(site: Site) -> None:
    site.run(campaign := site.begin())
    roles = [trial.role for trial in site.trials(campaign) if trial.problem == "p/1"]
    assert roles[:10] == [TrialRole.DEFAULT] * 2 + [TrialRole.SEARCH] * 8
    pairs = [set(roles[index : index + 2]) for index in range(10, 16, 2)]
    assert pairs == [{TrialRole.FINAL_DEFAULT, TrialRole.FINAL_TUNED}] * 3
    assert all(trial.state is TrialState.COMPLETE and trial.started_at for trial in site.trials(campaign))


@pytest.mark.slow
def test_the_default_is_not_searched_again(site: Site) -> None:
    site.run(campaign := site.begin(search={"method": "exhaustive"}))
    searched = [t.parametrization for t in site.trials(campaign) if t.role is TrialRole.SEARCH and t.problem == "p/1"]
    assert len(searched) == 14 and {"size": 0, "kind": "a"} not in searched


@pytest.mark.slow
def test_a_campaign_ends_with_a_record_of_the_application(site: Site) -> None:
    (record_id,) = site.run(campaign := site.begin(search={"method": "exhaustive"}))
    assert record_id is not None
    record = site.read(lambda database: database.record(record_id))
    assert (record.scope, record.status, record.component) == (Scope.APPLICATION, RecordStatus.ACTIVE, "fake")
    assert record.metadata["user"] == "alice" and record.metadata["directory"] == str(site.directory)
    assert record.context == {"cluster": "testing", "nodes": 4}
    assert record.environment == {"SRO_SIZE": "4"} and record.campaign_id == campaign
    assert (record.gain, record.gain_low, record.default.mean, record.tuned.mean) == pytest.approx((0.5, 0.5, 2, 1))
    assert Path(site.read(lambda database: database.artifact(record.artifact_sha256)).path).is_file()
    assert site.campaign(campaign).state is CampaignState.COMPLETE


def test_a_profile_is_stored_with_the_record_of_a_campaign_that_was_interrupted(site: Site) -> None:
    kept = publish.kept_profile(7.0, "60% compute", {"version": 1, "shares": {"compute": 0.6}})
    with Database.open(site.config.database.path) as database:
        few = {"search": {"method": "random", "budget": 1}, "repetitions": {"default_runs": 1, "final_pairs": 2}}
        given = check(site.definition(settings={"problems": ["p/1"]}, **few), "test")
        campaign = session.begin(database, given, site.config, 1_000_000.0, kept).id
    with pytest.raises(KeyboardInterrupt):
        site.run(campaign, report=Interrupting(io.StringIO()))
    assert site.campaign(campaign).state is CampaignState.STOPPED
    (record_id,) = site.run(campaign)
    profile = site.read(lambda database: database.profile(record_id))
    assert (profile.at, profile.summary, profile.document["shares"]) == (7.0, "60% compute", {"compute": 0.6})


@pytest.mark.slow
def test_a_campaign_for_the_cluster_needs_no_application(site: Site) -> None:
    (record_id,) = site.run(site.begin(scope="cluster", application=None))
    assert record_id is not None
    record = site.read(lambda database: database.record(record_id))
    assert (record.scope, record.metadata) == (Scope.CLUSTER, {})


@pytest.mark.slow
def test_a_campaign_that_finds_nothing_better_than_the_default_writes_no_record(site: Site) -> None:
    assert site.run(campaign := site.begin(settings={"flat": True})) == []
    assert site.campaign(campaign).state is CampaignState.COMPLETE
    assert site.campaign(campaign).summary["problems"][0]["note"] == "no parametrization beat the default"
    assert not {TrialRole.FINAL_TUNED} & {trial.role for trial in site.trials(campaign)}


@pytest.mark.slow
def test_a_flat_objective_stops_after_26_trials_of_the_search(site: Site) -> None:
    space = Space((Parameter("size", tuple(range(40))), Parameter("kind", ("a",))))
    component = fake_component.FakeComponent({"name": "fake", "version": "1"}, {"flat": True, "log": site.log})
    component.space = space
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fake_component, "build", lambda *_: component)
        site.run(campaign := site.begin(search={"method": "gp-ei"}))
    assert sum(trial.role is TrialRole.SEARCH for trial in site.trials(campaign)) == 26


@pytest.mark.slow
def test_the_same_seed_repeats_a_campaign_and_another_seed_does_not(site: Site) -> None:
    tried = []
    for seed in (7, 7, 8):
        site.run(campaign := site.begin(search={"method": "gp-ei", "initial": 4, "window": 3, "seed": seed}))
        tried.append(what_was_tried(site.trials(campaign)))
    assert tried[0] == tried[1] != tried[2]


@pytest.mark.slow
def test_final_pairs_come_in_both_orders(site: Site) -> None:
    site.run(campaign := site.begin(repetitions={"default_runs": 1, "final_pairs": 12}))
    roles = [t.role for t in site.trials(campaign) if t.problem == "p/1" and t.role.startswith("final")]
    assert set(roles[::2]) == {TrialRole.FINAL_DEFAULT, TrialRole.FINAL_TUNED}


@pytest.mark.slow
def test_a_campaign_continues_after_a_failed_trial(site: Site) -> None:
    before = '[ "$FAKE_POINT" != "p/1 4 c" ] || { echo "no such tree" >&2; exit 9; }'
    site.run(campaign := site.begin(search={"method": "exhaustive"}, settings={"before": before}))
    failed = [trial for trial in site.trials(campaign) if trial.state is TrialState.FAILED]
    assert [trial.message for trial in failed] == ["exit status 9: no such tree"]
    assert site.campaign(campaign).summary["problems"][0]["failed"] == 1
    assert site.campaign(campaign).summary["problems"][0]["comparison"]["winner"] != {"size": 4, "kind": "c"}


@pytest.mark.slow
def test_a_trial_that_hangs_is_timed_out(site: Site) -> None:
    before = '[ "$FAKE_POINT" != "p/1 4 c" ] || exec sleep 60'
    site.run(campaign := site.begin(
        search={"method": "exhaustive"}, settings={"before": before}, executor={"kind": "local", "max_trial_s": 0.5}
    ))  # fmt: skip
    assert [t.message for t in site.trials(campaign) if t.state is TrialState.TIMEOUT] == ["stopped after 0.5 s"]


def test_a_launcher_that_fails_names_the_other_launcher(site: Site) -> None:
    campaign = site.begin(settings={"before": "echo \"srun: error: Invalid MPI type 'pmix'\" >&2; exit 1"})
    with pytest.raises(CampaignFailedError, match=r"the default itself did not run.*'pmix'.*`launcher: mpirun`"):
        site.run(campaign)


@pytest.mark.slow
def test_output_without_the_objective_fails_the_trial(site: Site) -> None:
    before = '[ "$FAKE_POINT" != "p/1 4 c" ] || { echo nothing; exit 0; }'
    site.run(campaign := site.begin(search={"method": "exhaustive"}, settings={"before": before}))
    assert "0 tasks of 1 answered" in next(t for t in site.trials(campaign) if t.state is TrialState.FAILED).message


def test_a_default_that_fails_fails_the_campaign_with_the_cause(site: Site) -> None:
    campaign = site.begin(settings={"before": "echo libmpi.so: cannot open >&2; exit 127"})
    with pytest.raises(CampaignFailedError, match=r"p/1: the default itself did not run.*libmpi.so: cannot open"):
        site.run(campaign)
    assert site.campaign(campaign).state is CampaignState.FAILED and len(site.runs()) == 1
    with pytest.raises(TunerError, match="is failed already"):
        site.run(campaign)


def test_ten_failures_in_a_row_and_then_of_the_default_fail_the_campaign(site: Site) -> None:
    before = '[ $n -le 2 ] || { echo "fabric is down" >&2; exit 1; }'
    campaign = site.begin(search={"method": "exhaustive"}, settings={"before": before})
    with pytest.raises(
        CampaignFailedError, match=r"10 trials in a row failed, and then the default \(failed: .*fabric is down"
    ):
        site.run(campaign)
    assert len(site.runs()) == 2 + 10 + 1


@pytest.mark.slow
def test_ten_bad_points_in_a_row_do_not_fail_the_campaign(site: Site) -> None:
    before = 'case $FAKE_POINT in "p/1 0 a" | "p/1 8 c") ;; p/1*) exit 1 ;; esac'
    site.run(campaign := site.begin(search={"method": "exhaustive", "budget": 99}, settings={"before": before}))
    first = site.campaign(campaign).summary["problems"][0]
    assert (first["failed"], first["comparison"]["winner"]) == (13, {"size": 8, "kind": "c"})
    roles = [trial.role for trial in site.trials(campaign) if trial.problem == "p/1"]
    assert roles[:14] == [TrialRole.DEFAULT] * 2 + [TrialRole.SEARCH] * 10 + [TrialRole.DEFAULT, TrialRole.SEARCH]


@pytest.mark.slow
def test_a_full_disk_stops_the_campaign_and_is_not_blamed_on_a_parametrization(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = site.directory / "full"
    campaign = site.begin(settings={"before": f"[ $n != 4 ] || [ -e {full} ] || {{ touch {full}; exit 0; }}"})
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
        with pytest.raises(TunerError, match=r"its file system is full, .* free some space, then resume"):
            site.run(campaign)
    assert (site.trials(campaign)[-1].state, site.trials(campaign)[-1].attempt) == (TrialState.PLANNED, 2)
    assert site.run(campaign)
    assert {trial.state for trial in site.trials(campaign)} == {TrialState.COMPLETE}


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_reported_in_one_line_and_the_campaign_can_be_resumed(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/work/x")

    campaign = site.begin()
    with monkeypatch.context() as patch:
        patch.setattr(LocalExecutor, "start", full)
        with pytest.raises(TunerError, match=r"^/work/x: No space left on device: free some space there .* resume"):
            site.run(campaign)
    assert site.campaign(campaign).state is CampaignState.STOPPED
    assert site.run(campaign)


class LockedOnce(Database):
    """A database that another connection locks before the third trial's result is stored, until the campaign stops."""

    def update_trial(self, trial: Trial) -> None:
        if not hasattr(self, "_other") and trial.number == 2 and trial.state is TrialState.COMPLETE:
            self._other = sqlite3.connect(self.path, isolation_level=None)
            self._other.execute("BEGIN IMMEDIATE")
        super().update_trial(trial)

    def set_campaign_state(self, campaign_id: int, state: CampaignState, summary: Json | None = None) -> None:
        if state is CampaignState.STOPPED:
            self._other.close()
        super().set_campaign_state(campaign_id, state, summary)


@pytest.mark.slow
def test_a_database_that_stays_locked_stops_the_campaign_in_one_line_and_resuming_completes_it(site: Site) -> None:
    campaign = site.begin()
    with (
        LockedOnce.open(site.config.database.path, busy_timeout_s=0.2) as database,
        pytest.raises(BusyError, match=r"reprise\.db: is locked by another process: try again") as stopped,
    ):
        session.run(database, database.campaign(campaign), site.config, site.quiet())
    assert "\n" not in str(stopped.value) and len(site.runs()) == 3
    found = site.campaign(campaign)
    assert (found.state, found.summary["error"]) == (CampaignState.STOPPED, str(stopped.value))
    assert site.run(campaign)
    assert site.campaign(campaign).state is CampaignState.COMPLETE
    assert all(trial.state is TrialState.COMPLETE for trial in site.trials(campaign))


@pytest.mark.slow
def test_a_point_that_fails_when_it_is_run_again_is_not_the_winner(site: Site) -> None:
    before = '[ "$FAKE_POINT" != "p/1 4 c" ] || [ $(grep -c "p/1 4 c" "$FAKE_LOG") -le 3 ] || exit 1'
    site.run(campaign := site.begin(search={"method": "exhaustive", "budget": 99}, settings={"before": before}))
    problems = site.campaign(campaign).summary["problems"]
    assert problems[0]["comparison"] is None
    assert problems[0]["note"] == "the best parametrization failed when it was run again"
    assert problems[1]["comparison"]


@pytest.mark.slow
@pytest.mark.parametrize(("state", "times"), [(TrialState.CANCELLED, 3), (TrialState.PREEMPTED, 30)])
def test_a_trial_that_is_always_interrupted_stops_the_campaign_until_it_is_resumed(
    site: Site, monkeypatch: pytest.MonkeyPatch, state: TrialState, times: int
) -> None:
    original = LocalExecutor.poll

    def interrupted(self: LocalExecutor, timeout_s: float) -> list[Finished]:
        result = TrialResult(state, TrialOutput(-1, "", "", 0.0), None, "job 7 ended")
        return [Finished(one.key, result) for one in original(self, timeout_s)]

    campaign = site.begin()
    monkeypatch.setattr(LocalExecutor, "poll", interrupted)
    for tries in (times, 2 * times):
        with pytest.raises(TunerError, match=rf"interrupted {times} times in a row \(last: job 7 ended"):
            site.run(campaign)
        assert [trial.state for trial in site.trials(campaign)] == [state] * tries
        assert site.campaign(campaign).state is CampaignState.STOPPED
    monkeypatch.setattr(LocalExecutor, "poll", original)
    assert site.run(campaign)


KILL = "[ $n != {n} ] || [ -e {flag} ] || {{ touch {flag}; kill -9 $PPID; exec sleep 0.05; }}"


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3, 10, 13, 24, 33])
def test_a_campaign_killed_at_any_point_loses_and_repeats_no_trial(site: Site, n: int) -> None:
    site.run(whole := site.begin(settings={"log": str(site.directory / "whole")}))
    before = KILL.format(n=n, flag=shlex.quote(str(site.directory / "killed")))
    campaign = site.begin(settings={"before": before})
    assert site.killed(campaign) == -signal.SIGKILL
    interrupted = [trial.state for trial in site.trials(campaign)]
    assert set(interrupted[:-1]) <= {TrialState.COMPLETE}
    (record,) = site.run(campaign)
    assert what_was_tried(site.trials(campaign)) == what_was_tried(site.trials(whole))
    assert record is not None and site.campaign(campaign).summary == site.campaign(whole).summary
    again = Counter(site.runs()) - Counter((site.directory / "whole").read_text().splitlines())
    assert again.total() == 1  # only the interrupted trial (or proof) ran twice
    assert len([r for r in site.read(lambda d: d.records()) if r.campaign_id == campaign]) == 1


@pytest.mark.slow
def test_a_campaign_killed_between_two_trials_is_resumed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.run(whole := site.begin())
    campaign, add = site.begin(), Database.add_trial

    def stop_when_planned(self: Database, trial: Trial) -> int:
        number = add(self, trial)
        if trial.number == 5:
            raise KeyboardInterrupt
        return number

    with monkeypatch.context() as patch:
        patch.setattr(Database, "add_trial", stop_when_planned)
        with pytest.raises(KeyboardInterrupt):
            site.run(campaign)
    assert site.trials(campaign)[-1].state is TrialState.PLANNED
    assert site.campaign(campaign).state is CampaignState.STOPPED
    site.run(campaign)
    assert what_was_tried(site.trials(campaign)) == what_was_tried(site.trials(whole))


def test_two_coordinators_on_one_campaign_are_refused(site: Site) -> None:
    waiting = site.directory / "waiting"
    campaign = site.begin(settings={"before": f"touch {waiting}; while [ -e {waiting} ]; do sleep 0.01; done"})
    first = multiprocessing.get_context("fork").Process(target=site.run, args=(campaign,))
    first.start()
    try:
        while not waiting.exists():
            first.join(0.01)
        with pytest.raises(TunerError, match=f"campaign {campaign} is being run by process {first.pid} on"):
            site.run(campaign)
        assert campaign_place.is_running(site.campaign(campaign), site.config)
    finally:
        first.kill()
        first.join()
        waiting.unlink()
    assert not campaign_place.is_running(site.campaign(campaign), site.config)


@pytest.mark.slow
def test_a_campaign_is_not_resumed_in_another_context(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = site.begin()
    with monkeypatch.context() as patch:
        patch.setattr(fake_component.FakeComponent, "context", lambda _: {"nodes": 8})
        with pytest.raises(
            TunerError, match=r'"testing", nodes 4, but the current context is .*nodes 8: .* start a new campaign'
        ):
            site.run(campaign)
    assert site.run(campaign)


def test_a_changed_component_does_not_resume_an_old_campaign(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    before = KILL.format(n=5, flag=site.directory / "killed")
    campaign = site.begin(settings={"before": before})
    site.killed(campaign)
    space = Space((Parameter("size", (0, 99)), Parameter("kind", ("a", "z"))))
    original = fake_component.FakeComponent.__init__

    def changed(self: Any, *arguments: Any) -> None:
        original(self, *arguments)
        self.space = space

    monkeypatch.setattr(fake_component.FakeComponent, "__init__", changed)
    with pytest.raises(TunerError, match=r"cannot be resumed: .* start a new campaign"):
        site.run(campaign)


def test_a_campaign_may_write_several_records_each_for_a_part_of_its_context(site: Site) -> None:
    contexts: list[dict[str, Any]] = [{"nodes": 2}, {"nodes": 4}]
    campaign = site.begin(settings={"contexts": contexts})
    assert site.run(campaign) == [1, 2]
    told = site.described(campaign)
    assert [(one["record"], one["context"]["nodes"]) for one in told["records"]] == [(1, 2), (2, 4)]
    assert all(one["context"]["cluster"] == "testing" for one in told["records"])
    assert (told["record"], told["artifact"]) == (1, told["records"][0]["artifact"])
    words = campaign_overview.last_words(told)
    assert "record 1, artifact" in words and "record 2, artifact" in words
    report = text.render(told)
    assert "Record 1 (active) gives jobs that have nodes 2:" in report and "jobs that have nodes 4:" in report


def test_remarks_of_a_component_are_stored_and_shown(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def review(_: Any, defaults: Mapping[str, Measurement], comparisons: Sequence[Comparison]) -> Sequence[str]:
        return [f"{len(defaults)} defaults, {len(comparisons)} comparisons"]

    monkeypatch.setattr(fake_component.FakeComponent, "review", review, raising=False)
    campaign = site.begin()
    site.run(campaign)
    told = site.described(campaign)
    assert told["remarks"] == ["2 defaults, 2 comparisons"]
    assert "Remarks\n-------\n2 defaults, 2 comparisons.\n" in text.render(told)
    assert "note: 2 defaults, 2 comparisons\n" in Command(site)("tune", "status", str(campaign)).output


def test_the_command_runs_a_file_and_ends_with_json(site: Site) -> None:
    reprise, file = Command(site), site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump({**site.definition(), "executor": {"kind": "slurm"}}))
    done = reprise("tune", "run", str(file), "--executor", "local", "--yes", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert (
        told["trials"] == 32
        and told["states"] == {"complete": 32}
        and told["record"] == 1
        and Path(told["artifact"]).is_file()
    )
    assert [problem["comparison"]["gain"] > 0 for problem in told["problems"]] == [True, True]
    assert "p/1 (1 of 2): at most" in done.stderr
    assert json.loads(reprise("tune", "status", "1", "--json").stdout.splitlines()[-1]) == told
    assert "complete" in reprise("tune", "list").stdout


@pytest.mark.slow
def test_a_killed_campaign_is_listed_as_interrupted(site: Site) -> None:
    site.killed(site.begin(settings={"before": KILL.format(n=3, flag=site.directory / "killed")}))
    reprise = Command(site)
    assert "interrupted" in reprise("tune", "list").stdout
    said = reprise("tune", "status", "1").stdout
    assert "is interrupted after 3 trials" in said and "scancel --name=reprise-1-" in said
    assert reprise("tune", "resume", "1").exit_code == 0
    assert "is complete: record 1" in reprise("tune", "status", "1").stdout


@pytest.mark.slow
def test_lines_are_not_printed_for_every_trial(site: Site) -> None:
    stream = io.StringIO()
    site.run(site.begin(), LineReport(stream, clock=lambda: 0.0))
    assert len(stream.getvalue().splitlines()) == 4  # for each of two problems, a line "started" and a line "solved"


@pytest.mark.parametrize(
    ("mean", "half", "unit", "expected"),
    [
        (2.5, 0.1, "s", "2.5 ± 0.1 s"),
        (0.0025, 0.0001, "s", "2.5 ± 0.1 ms"),
        (2.5e-5, 1e-6, "s", "25 ± 1 µs"),
        (0.5, 0.02, "us", "0.5 ± 0.02 us"),
        (631.6e-6, 690.2e-6, "s", "632 ± 690 µs"),
        (0.1234567, 0.0012345, "s", "123.5 ± 1.2 ms"),
        (7265.4, 1234.5, "s", "7265 ± 1234 s"),
        (2.0, 0.0, "s", "2 ± 0 s"),
    ],
)
def test_times_are_shown_in_units_that_a_person_reads(mean: float, half: float, unit: str, expected: str) -> None:
    measured = {"mean": mean, "low": mean - half, "high": mean + half, "n": 5, "unit": unit}
    problem = {"problem": "p", "default": measured, "comparison": None, "note": "", "failed": 0, "trials": 5}
    assert list(campaign_overview.table({"problems": [problem]}).columns[1].cells) == [expected]


def test_the_table_of_a_campaign_is_not_truncated_at_120_columns() -> None:
    def measured(mean: float) -> dict[str, Any]:
        return {"mean": mean, "low": 0.99 * mean, "high": 1.01 * mean, "n": 5, "unit": "s"}

    winner = {"algorithm": 10, "segment": 1048576, "fanout": 1024}
    gains = {"gain": 0.321, "gain_low": 0.3, "gain_high": 0.342}
    found = {"winner": winner, "default": measured(0.0241), "tuned": measured(0.0143), **gains}
    problem = {"problem": "reduce_scatter/1048576", "default": measured(0.02), "failed": 12, "trials": 139, "note": ""}
    problem["usual"] = {}
    console = Console(width=120, file=io.StringIO())
    console.print(campaign_overview.table({"problems": [{**problem, "comparison": found}]}))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text and "reduce_scatter/1048576" in text and "24.1 ± 0.24 ms" in text
    assert {"algorithm=10", "segment=1048576", "fanout=1024"} <= set(text.split())


def third(site: Site, what: str) -> str:
    """Return shell code that, in the third trial only, creates the file `waiting` and then runs `what`."""
    return f"[ $n != 3 ] || {{ touch {site.directory}/waiting; {what}; }}"


def interrupting(site: Site, file: Path, *signals: signal.Signals, ignoring: str = "") -> tuple[int, str]:
    """Run `reprise tune run`, signal the command in the third trial, and return the command's exit status and messages.

    The command starts with the signal handling of a terminal, except that it ignores the signal `ignoring`.
    """
    env = ["env", "--default-signal=INT,TERM,HUP", *([f"--ignore-signal={ignoring}"] if ignoring else [])]
    argv = [*env, sys.executable, "-m", "tests.fake_component", "--config", str(Command(site).path)]
    process = subprocess.Popen(
        [*argv, "tune", "run", str(file), "--yes"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    wait_for("the third trial", (site.directory / "waiting").exists, 30)
    for number in signals:
        process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    return process.returncode, said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_a_campaign_in_order(site: Site, number: signal.Signals) -> None:
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition(settings={"before": third(site, "exec sleep 60")})))
    status, said = interrupting(site, file, number)
    assert (status, said.splitlines()[-1]) == (130, "campaign 1 is stopped: continue with `reprise tune resume 1`")
    assert site.campaign(1).state is CampaignState.STOPPED
    assert site.campaign(1).summary == {"error": "stopped by a signal"}


@pytest.mark.slow
def test_a_second_signal_does_not_interrupt_the_cleanup(site: Site) -> None:
    slow = "trap 'sleep 1; touch cleared; exit' TERM; " + third(site, "while :; do sleep 0.1; done")
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition(settings={"before": slow})))
    status, _ = interrupting(site, file, signal.SIGINT, signal.SIGINT, signal.SIGTERM)
    assert status == 130 and list((site.directory / "work").glob("*/*/*/cleared"))


@pytest.mark.slow
def test_a_campaign_under_nohup_outlives_its_terminal(site: Site) -> None:
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition(settings={"before": third(site, "sleep 0.5")})))
    status, _ = interrupting(site, file, signal.SIGHUP, ignoring="HUP")
    assert status == 0 and site.campaign(1).state is CampaignState.COMPLETE
