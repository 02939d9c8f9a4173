# SPDX-License-Identifier: Apache-2.0
"""Test commands that preview a campaign, stop it from another process, and show whether it is alive."""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import shlex
import signal
from datetime import datetime
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from reprise.cli import main
from reprise.database.entities import CampaignState
from reprise.database.facade import Database
from reprise.tuner.campaign import session
from reprise.tuner.campaign.coordinator import Coordinator
from reprise.tuner.definition import campaign_place
from reprise.tuner.errors import TunerError
from reprise.tuner.report import campaign_overview
from reprise.tuner.report.progress import LineReport
from tests.fake_slurm import FakeSlurm
from tests.unit.tuner_site import Command, Site
from tests.waiting import wait_for


def planned(site: Site, *options: str, **changes: Any) -> str:
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(site.definition(**changes)))
    done = Command(site)("tune", "plan", str(file), *options)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


SLURM = {"kind": "slurm", "partition": "main", "max_trial_s": 36.0}


def test_a_plan_shows_the_scripts_that_would_be_submitted(site: Site) -> None:
    text = planned(site, executor=SLURM, settings={"script": True})
    body = text.removesuffix(text.splitlines()[-1] + "\n")
    head, *trials = body.split("# p/1, ")
    assert head == "" and [trial.split(":")[0] for trial in trials] == ["default", "search", "search"]
    for trial in trials:
        assert "\nsbatch --job-name=reprise-CAMPAIGN --comment=TRIAL --chdir=" in trial
        assert "\n#!/bin/bash\n" in trial and "#SBATCH --partition=main\n" in trial
        assert "export FAKE_ZERO=0\n" in trial


def test_a_plan_in_json_contains_everything_that_the_text_shows(site: Site) -> None:
    text = planned(site, "--trial-seconds", "3600", executor=SLURM, settings={"script": True})
    told = json.loads(planned(site, "--trial-seconds", "3600", "--json", executor=SLURM, settings={"script": True}))
    assert "\n".join(told["trials"]) + "\n" == text.removesuffix(text.splitlines()[-1] + "\n")
    assert (told["version"], told["problems"], told["warm_start"]) == (1, ["p/1", "p/2"], [])
    assert f"at most {told['most_trials']} trials and {told['most_node_hours']:.3g} node-hours" in text
    assert f"{told['expected_node_hours']:.3g} node-hours in {told['expected_s'] / 3600:.3g} h" in text
    unknown = json.loads(planned(site, "--json", executor=SLURM, settings={"script": True}))
    assert unknown["expected_node_hours"] is None and unknown["expected_s"] is None


STRIPES = """\
name: stripes
version: "1"
description: Stripes of what is written, and hints of how
kind: application
activation: {commands: [lfs setstripe], hints: ROMIO_HINTS}
before: sync
parameters:
  count: {via: command, flag: c, default: 1, values: [1, 4]}
  cb_nodes: {via: hint, default: 2, values: [2]}
"""


@pytest.mark.parametrize("kind", ["slurm", "local"])
def test_a_plan_shows_every_file_that_a_trial_runs_or_reads(site: Site, kind: str) -> None:
    """The plan must show the trial's copy of the script: only the copy has the commands that set a point."""
    (site.directory / "components/stripes.yaml").write_text(STRIPES)
    application = {"script": str(site.directory / "app.sh"), "user": "alice"}
    executor = {"kind": kind, "reservation": "weekend"} if kind == "slurm" else {"kind": kind}
    definition = {"name": "stripes", "component": "stripes", "application": application, "executor": executor}
    file = site.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(definition))
    text = Command(site)("tune", "plan", str(file), "--trials", "2").stdout
    default, search = text.split("# app.sh, ")[1:]
    directory = site.config.tuner.work / "CAMPAIGN/app.sh"
    assert f"\n==> {directory}/0000/before.sh\nsync\n\n" in default
    assert f"\n==> {directory}/0001/before.sh is unchanged\n\n" in search
    for number, (trial, command) in enumerate([(default, "lfs setstripe -c 1"), (search, "lfs setstripe -c 4")]):
        script = f"#!/bin/bash\n#SBATCH -J heat -N 4\n{command}\nsrun ./heat --steps 3\n"
        assert f"\n==> {directory}/000{number}/application.sh\n{script}\n" in trial
        assert f"\n==> {directory}/000{number}/hints" in trial
        assert ("\n#SBATCH --reservation=weekend\n" in trial) == (kind == "slurm")
    assert "\ncb_nodes 2\n" in default and "\ncb_nodes 2\n" not in search


@pytest.mark.slow
def test_a_plan_shows_what_the_campaign_would_run(site: Site) -> None:
    """The plan shows the points and scripts that the campaign then runs, except for job names and directories."""
    campaign = site.begin(executor=SLURM, settings={"script": True})
    text = planned(site, "--trials", "4", executor=SLURM, settings={"script": True})
    slurm = FakeSlurm(site.directory / "jobs")
    site.run(campaign, slurm=slurm.commands(), sleep=lambda _: None)
    searched = [trial.parametrization for trial in site.trials(campaign) if trial.role == "search"][:3]
    shown = [line.split("search: ")[1].split() for line in text.splitlines() if line.startswith("# p/1, search")]
    assert list(map(sorted, shown)) == [[f"{name}={value}" for name, value in point.items()] for point in searched]
    job = campaign_place.job_name(
        site.campaign(campaign), directory := campaign_place.directory_of(site.campaign(campaign), site.config)
    )
    script = (directory / "p_1/0000/trial.sh").read_text()
    script = script.replace(str(directory), str(site.config.tuner.work / "CAMPAIGN")).replace(job, "reprise-CAMPAIGN")
    # the campaign first runs the default twice, but the plan shows the default's script once
    assert script in text


@pytest.mark.parametrize("kind", ["allocation", "local"])
def test_a_plan_of_every_kind_of_executor_submits_nothing(
    site: Site, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    text = planned(site, "--executor", kind)
    assert ("sbatch --nodes=1" in text) == (kind == "allocation") and "bash run.sh" in text
    assert not site.config.tuner.work.exists() and site.read(lambda database: database.campaigns()) == []


def test_a_plan_shows_the_maximum_and_the_expected_cost(site: Site) -> None:
    """The campaign has two problems on 4 nodes, each with 2 default, 8 search and 6 final trials."""
    changes: dict[str, Any] = {"executor": SLURM, "settings": {"script": True, "nodes": 4, "timeout_s": 600}}
    last = planned(site, **changes).splitlines()[-1]
    assert last.startswith("# p/1, p/2: at most 32 trials and 1.28 node-hours (give --trial-seconds")
    last = planned(site, "--trial-seconds", "9", **changes).splitlines()[-1]
    assert last.endswith("1.28 node-hours; 0.32 node-hours in 0.08 h if all take as long as the default")
    last = planned(site, "--trial-seconds", "9", **changes, budget={"node_hours": 0.16}).splitlines()[-1]
    assert last.endswith("0.16 node-hours; 0.16 node-hours in 0.04 h if all take as long as the default")
    *_, refused, last = planned(site, "--trial-seconds", "9", **changes, budget={"node_hours": 0.3}).splitlines()
    assert refused == (
        "# would be refused: 0.3 node-hours are too few to search 2 problems, at 9 s for a run of the default: give at "
        "least 0.32 node-hours, or tune fewer problems"
    )
    text = planned(site, "--trial-seconds", "9", **changes, budget={"node_hours": 0.32})
    assert "refused" not in text


@pytest.mark.slow
def test_a_plan_knows_how_long_the_default_took_before(site: Site) -> None:
    assert "give --trial-seconds" in planned(site)
    site.run(site.begin())
    assert "if all take as long as the default" in planned(site)
    assert "give --trial-seconds" in planned(site, settings={"flat": True}), "other settings make another campaign"


WAIT = "touch {waiting}; while [ -e {waiting} ]; do sleep 0.01; done"


def running(site: Site, campaign: int) -> multiprocessing.context.ForkProcess:
    """Start a coordinator in a separate process, wait for its first trial, and return the process."""

    def run() -> None:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        signal.signal(signal.SIGTERM, stop)
        site.run(campaign)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    wait_for("the first trial", (site.directory / "waiting").exists, 60)
    return process


@pytest.mark.slow
def test_a_campaign_is_stopped_by_another_process_on_its_host(site: Site) -> None:
    waiting = shlex.quote(str(site.directory / "waiting"))
    campaign = site.begin(settings={"before": WAIT.format(waiting=waiting)})
    process = running(site, campaign)
    done = Command(site)("tune", "stop", str(campaign))
    process.join(60)
    assert done.exit_code == 0 and f"continue with `reprise tune resume {campaign}`" in done.stderr
    assert site.campaign(campaign).summary == {"error": "stopped by a signal"}


def test_a_campaign_on_another_host_says_where_to_stop_it(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = site.campaign(site.begin())
    directory = campaign_place.directory_of(campaign, site.config)
    with Database.open(site.config.database.path) as database, campaign_place.locked(campaign, directory):
        monkeypatch.setattr(session.socket, "gethostname", lambda: "elsewhere")  # type: ignore[attr-defined]
        with pytest.raises(TunerError, match=rf"runs as process {os.getpid()} on .*: run `reprise tune stop 1` there"):
            session.stop(database, campaign, site.config)


@pytest.mark.slow
def test_jobs_of_a_killed_coordinator_are_cancelled_by_a_stop(site: Site) -> None:
    slurm = FakeSlurm(site.directory / "jobs")
    kill = f"[ $n != 3 ] || {{ kill -9 $(cut -d ' ' -f 2 {site.directory}/work/*/lock); sleep 60; }}"
    campaign = site.begin(executor={"kind": "slurm"}, settings={"script": True, "before": kill})
    assert site.killed(campaign, slurm=slurm.commands()) == -signal.SIGKILL
    assert len(slurm.active()) == 1
    with Database.open(site.config.database.path) as database:
        session.stop(database, site.campaign(campaign), site.config, slurm.commands(), lambda _: None)
    assert slurm.active() == [] and site.campaign(campaign).state is CampaignState.STOPPED


def test_stopping_a_campaign_that_has_ended_is_refused(site: Site) -> None:
    site.run(campaign := site.begin(settings={"problems": ["p/1"]}))
    done = Command(site)("tune", "stop", str(campaign))
    assert done.exit_code != 0 and "is complete already: there is nothing to stop" in str(done.exception)


def test_a_coordinator_without_a_recent_heartbeat_is_reported(site: Site) -> None:
    campaign = site.campaign(site.begin())
    with (
        Database.open(site.config.database.path) as database,
        campaign_place.locked(campaign, campaign_place.directory_of(campaign, site.config)),
    ):
        database.campaign_lives(campaign.id, 5000.0)
        campaign = database.campaign(campaign.id)
        lively = campaign_overview.describe(database, campaign, site.config, now=5060.0)
        silent = campaign_overview.describe(database, campaign, site.config, now=5000.0 + 7200)
    assert lively["silent_s"] == 60 and campaign_overview.last_words(lively) == "campaign 1 is running after 0 trials"
    assert "gave no sign of life for 120 minutes" in campaign_overview.last_words(silent)


def test_a_running_campaign_has_a_heartbeat_and_reports_its_cost(site: Site) -> None:
    site.run(campaign := site.begin(settings={"problems": ["p/1"]}))
    assert site.campaign(campaign).heartbeat_at is not None
    told = json.loads(CliRunner().invoke(
        main.reprise, ["--config", str(Command(site).path), "tune", "status", str(campaign), "--json"]
    ).stdout.splitlines()[-1])  # fmt: skip
    assert 0 < told["node_hours"] < 1 and told["silent_s"] is None


class Listening(LineReport):
    def __init__(self) -> None:
        super().__init__(io.StringIO())
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


def test_outside_its_hours_a_campaign_starts_nothing_and_gives_its_nodes_back(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock leaves the campaign's hours after seven readings, and is in these hours again after five pauses."""
    times = [datetime(2026, 3, 2, 23)] * 7
    pauses: list[float] = []
    original = Coordinator.__init__

    def now() -> datetime:
        return times.pop(0) if times else datetime(2026, 3, 3, 12 if len(pauses) < 5 else 21)

    def init(self: Coordinator, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **{**named, "now": now, "sleep": pauses.append})

    monkeypatch.setattr(Coordinator, "__init__", init)
    executor = {"kind": "local", "hours": "20:00-06:00", "days": ["mon", "tue"]}
    campaign = site.begin(executor=executor, settings={"problems": ["p/1"]})
    assert site.run(campaign, report := Listening())
    assert len(pauses) == 5 and len(site.trials(campaign)) == 16
    assert [words for words in report.said if "hours" in words] == [
        "outside the campaign's hours: nothing starts before Tue 2026-03-03 20:00"
    ]
