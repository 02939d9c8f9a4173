# SPDX-License-Identifier: Apache-2.0
"""Test campaign reports: their content, and that they need no other files, whatever the campaign contains."""

from __future__ import annotations

import dataclasses
import html
import json
import math
import os
import re
import statistics
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest

from reprise.database.entities import CampaignState, TrialRole, TrialState
from reprise.tuner.campaign import session
from reprise.tuner.report import analysis, campaign_overview, html_report, plots, text_report, words
from tests.places import GOLDEN
from tests.unit.report_values import DEFAULT, Written, complete, searched, written
from tests.unit.tuner_site import Command, Site

THEIR_GOLDEN = GOLDEN / "report.txt"
VOID = {"meta", "br", "link", "img", "input", "hr"}
HOSTILE = "<script>alert(1)</script> $\\frac{ \x1b[31m\n&amp; \" '"


@pytest.fixture(autouse=True)
def same_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_versions", lambda: {"reprise": "0.1", "numpy": "2.0"})


@pytest.fixture
def plain_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the drawing of pictures, which takes most of the time, in tests of the text around the pictures."""
    monkeypatch.setattr("matplotlib.layout_engine.TightLayoutEngine.execute", lambda *_: None)
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda _, buffer, **__: buffer.write("<svg ></svg>"))


@pytest.mark.slow
def test_pictures_are_drawn_by_one_thread_at_a_time() -> None:
    """Matplotlib's settings apply to the whole process, so two threads must not draw at the same time."""
    meeting = threading.Barrier(2)

    def meets(number: int) -> bool:
        with plots.figure(str(number)):
            try:
                meeting.wait(0.3)
            except threading.BrokenBarrierError:
                return False
            return True

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(meets, range(2))) == [False, False]


class Page(HTMLParser):
    """The elements of a page; a test fails if the elements are not closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def both(campaign: Written) -> tuple[str, str]:
    described = campaign.described()
    return html_report.render(described), text_report.render(described)


def test_the_text_equals_the_golden_file(site: Site) -> None:
    """After an intended change, run this test with REPRISE_GOLDEN=write and read the difference."""
    campaign = complete(site)
    found = text_report.render(campaign.described()).replace(str(site.directory), "/site")
    found = re.sub(r"reprise-1-[0-9a-f]{8}", "reprise-1-0a1b2c3d", found)
    if os.environ.get("REPRISE_GOLDEN") == "write":
        THEIR_GOLDEN.write_text(found)
    assert found == THEIR_GOLDEN.read_text()


@pytest.mark.slow
def test_a_page_loads_no_other_file(site: Site) -> None:
    source, _ = both(complete(site))
    assert "http" not in re.sub(r"http-equiv", "", source) and "@import" not in source
    shown = Page(source)
    assert not {tag for tag, _ in shown.elements} & {"script", "link", "img", "iframe", "object", "embed", "base"}
    attributes = [(name, value or "") for _, of in shown.elements for name, value in of.items()]
    assert not [name for name, _ in attributes if name.startswith("on") or name in ("src", "action", "formaction")]
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids)) > 10
    meant = [value.removeprefix("#") for name, value in attributes if name in ("href", "xlink:href")]
    meant += re.findall(r"url\(#([^)]*)\)", source)
    assert meant and set(meant) <= set(ids)


@pytest.mark.slow
def test_pictures_have_the_colors_of_the_page(site: Site) -> None:
    source, _ = both(complete(site))
    pictures = "".join(re.findall(r"<svg.*?</svg>", source, re.DOTALL))
    assert "var(--search)" in pictures and not re.findall(r"#[0-9a-f]{6}\b", pictures)


@pytest.mark.usefixtures("plain_pictures")
def test_page_and_text_say_what_was_found_and_what_jobs_get(site: Site) -> None:
    for report in both(complete(site)):
        assert "campaign 1 is complete: record 1, for jobs that load no module" in report
        assert "SRO_SIZE=4" in report and "app.sh of alice" in report and "cluster testing" in report
        assert "exit status 139" in report and "the budget of 8 trials is spent" in report
        assert "seed" in report and "numpy 2.0" in report


@pytest.mark.usefixtures("plain_pictures")
def test_page_and_text_say_that_a_benchmarks_gain_is_not_a_jobs(site: Site) -> None:
    campaign = complete(site, {"rules": [{"problem": "bcast/4096", "applied": True}]})
    page, text = both(campaign)
    assert "gain over the default of bcast of 4 KiB in a benchmark, not of a job's run time, with" in html.unescape(
        page
    )
    for report in (html.unescape(page), text):
        assert "is a gain in bcast of 4 KiB in a benchmark, not in a job's run time." in report


SLOW = [pytest.param(role, marks=pytest.mark.slow) for role in ("problem", "message", "value")]


@pytest.mark.parametrize("role", ["name", *SLOW])
def test_names_from_outside_are_shown_as_text(site: Site, role: str) -> None:
    settings = {"problems": [HOSTILE if role == "problem" else "p/1"]}
    campaign = written(site, settings=settings)
    key = settings["problems"][0]
    name = HOSTILE if role == "name" else "kind"
    message = HOSTILE if role == "message" else "died"
    for number, value in enumerate(["a", HOSTILE if role == "value" else "b"]):
        campaign.trial(TrialRole.SEARCH, {name: value}, 1.0 + number, key)
    campaign.trial(TrialRole.SEARCH, {name: "c"}, None, key, message=message)
    source, plain = both(campaign)
    shown = Page(source)
    assert "script" not in {tag for tag, _ in shown.elements}
    assert "<script>alert(1)" in "".join(shown.words)
    assert "\x1b" not in source and "\x1b" not in plain and "<script>alert(1)" in plain


@pytest.mark.usefixtures("plain_pictures")
def test_secrets_in_options_of_sbatch_are_not_shown(site: Site) -> None:
    options = ["--export=ALL,API_TOKEN=hunter2,B=1", "--comment=https://alice:hunter2@host/", "--nodes=4"]
    application = {"script": str(site.directory / "app.sh"), "user": "alice", "options": options}
    executor = {"kind": "local", "options": ["--export=PASSWORD=hunter2"]}
    campaign = written(site, application=application, executor=executor)
    for report in (*both(campaign), json.dumps(campaign.described())):
        assert "hunter2" not in report and "API_TOKEN=***,B=1" in report and "--nodes=4" in report


@pytest.mark.slow
@pytest.mark.parametrize("state", [CampaignState.FAILED, CampaignState.STOPPED, CampaignState.RUNNING])
@pytest.mark.parametrize("how", [written, searched])
def test_a_campaign_is_reported_on_in_any_state(
    site: Site, state: CampaignState, how: Callable[[Site], Written]
) -> None:
    campaign = how(site)
    campaign.end(state, **({} if state is CampaignState.RUNNING else {"error": "out of luck"}))
    for report in both(campaign):
        assert ("out of luck" in report) == (state is not CampaignState.RUNNING)
        assert "none so far" in report and "not started" in report


@pytest.mark.usefixtures("plain_pictures")
def test_a_campaign_of_an_older_release_that_stored_less_can_be_reported(site: Site) -> None:
    campaign = searched(site).campaign
    kept = {key: campaign.spec[key] for key in ("definition", "component", "metadata")}
    older = dataclasses.replace(campaign, spec=kept)
    described = site.read(lambda database: campaign_overview.describe(database, older, site.config, detailed=True))
    for report in (html_report.render(described), text_report.render(described)):
        assert "kind=c size=4" in report


@pytest.mark.usefixtures("plain_pictures")
def test_with_many_problems_each_problem_has_only_one_picture(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = searched(site)
    campaign.trial(TrialRole.DEFAULT, DEFAULT, 2.0, "p/2")
    few = html_report.render(campaign.described()).count("<svg")
    monkeypatch.setattr(html_report, "MANY", 1)
    assert (few, html_report.render(campaign.described()).count("<svg")) == (7, 4)


def test_an_unfinished_comparison_is_reported_with_the_figures_of_the_summary(site: Site) -> None:
    """The interim numbers equal those of the campaign's final summary."""
    number = site.begin(repetitions={"default_runs": 2, "final_pairs": 2}, settings={"problems": ["p/1"]})
    site.run(number)
    (told,) = site.campaign(number).summary["problems"]
    known = analysis.standing("p/1", site.trials(number), over=True)
    for key in ("default", "comparison", "trials", "failed", "pruned"):
        assert known[key] == told[key]


def test_a_runner_up_is_compared_by_its_own_pairs(site: Site) -> None:
    """While the runner-up has fewer than two pairs, the reported comparison is the winner's."""
    campaign = searched(site)
    lucky, runner_up = {"size": 4, "kind": "c"}, {"size": 5, "kind": "c"}
    campaign.compared([(2.0, 2.2), (2.0, 2.4), (2.0, 2.3)], lucky)
    seen = []
    for _ in range(3):
        campaign.compared([(2.0, 1.0)], runner_up)
        found = analysis.standing("p/1", site.trials(campaign.number), over=True)["comparison"]
        seen.append((found["winner"], found["tuned"]["n"], found["gain"] > 0))
    assert seen == [(lucky, 3, False), (runner_up, 2, True), (runner_up, 3, True)]
    campaign.compared([(2.0, None)], runner_up)  # type: ignore[list-item]
    found = analysis.standing("p/1", site.trials(campaign.number), over=True)["comparison"]
    assert found["winner"] == lucky, "the runner-up's last pair failed, so its comparison does not count"


def details(campaign: Written) -> dict[str, object]:
    described = campaign.described()
    return dict(described["details"]["problems"]["p/1"])


def test_the_trajectory_shows_repetitions_failures_and_bounds(site: Site) -> None:
    of = details(searched(site))
    found = [(one["role"], one["state"], one["value"], one["bound"], one["run"]) for one in of["trajectory"]]  # type: ignore[attr-defined]
    assert found[3:] == [
        ("search", "complete", 1.0, False, 1),
        ("search", "complete", 1.8, False, 1),
        ("search", "failed", None, False, 1),
        ("search", "pruned", 3.0, True, 1),
        ("search", "complete", 1.2, False, 2),
        ("search", "complete", 1.4, False, 1),
    ]  # the canceled trial is left out, because it says nothing about its point
    assert [one["run"] for one in of["trajectory"][:3]] == [1, 2, 3]  # type: ignore[index]


def test_a_point_counts_once_among_the_effects_however_often_it_was_run(site: Site) -> None:
    effects = {one["name"]: one for one in details(searched(site))["effects"]}  # type: ignore[attr-defined]
    size, kind = effects["size"]["values"], effects["kind"]["values"]
    assert [(one["value"], one["points"]) for one in size] == [(4, 1), (8, 2)]
    assert [one["median"] for one in size] == pytest.approx([1.1, 1.6])
    assert [(one["value"], one["points"]) for one in kind] == [("a", 1), ("c", 2)]
    assert (effects["size"]["kind"], effects["kind"]["kind"]) == ("log", "category")


def test_the_best_so_far_counts_every_evaluation(site: Site) -> None:
    campaign = written(site)
    for value in (None, 3.0, 4.0, 2.0):
        campaign.trial(TrialRole.SEARCH, {"size": 1, "kind": "a"}, value)
    found = [(one["evaluations"], one["value"]) for one in details(campaign)["best_so_far"]]  # type: ignore[attr-defined]
    assert found == [(2, 3.0), (4, 2.0)]


def test_noise_is_pooled_over_the_points_that_were_repeated(site: Site) -> None:
    noise = searched(site).described()["details"]["noise"]
    first, second = statistics.stdev([2.0, 2.1, 1.9]) / 2.0, statistics.stdev([1.0, 1.2]) / 1.1
    assert noise == {"variation": pytest.approx(math.sqrt((2 * first**2 + second**2) / 3)), "points": 2}


@pytest.mark.usefixtures("plain_pictures")
def test_the_page_has_a_picture_of_each_kind(site: Site) -> None:
    source, _ = both(complete(site))
    titles = re.findall(r'<svg[^>]* aria-label="([^"]*)"', source)
    assert [title.split(",")[0] for title in titles] == [
        "All trials",
        "The lowest value so far",
        "Effect of kind",
        "Effect of size",
        "Runs of the same settings",
        "The default over time",
        "Node-hours by the role of trials",
    ]


def test_the_picture_of_noise_has_each_run_by_the_mean_of_its_point(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[float, float]] = []
    monkeypatch.setattr(plots, "_points", lambda _, runs, *__: shown.extend(runs))
    plots.noise(details(searched(site))["repeated"])  # type: ignore[arg-type]
    assert [place for place, _ in shown] == [1, 1, 1, 2, 2]
    assert [percent for _, percent in shown] == pytest.approx([0.0, 5.0, -5.0, -100 / 11, 100 / 11])


@pytest.mark.usefixtures("plain_pictures")
def test_without_repetitions_there_is_no_picture_of_noise(site: Site) -> None:
    campaign = written(site)
    campaign.trial(TrialRole.SEARCH, {"size": 1, "kind": "a"}, 3.0)
    assert "the least noise first" not in html_report.render(campaign.described())


@pytest.mark.usefixtures("plain_pictures")
@pytest.mark.parametrize(("last", "verdict"), [(2.1, "within noise"), (4.0, "the machine changed")])
def test_a_machine_that_changed_during_the_campaign_is_reported(site: Site, last: float, verdict: str) -> None:
    campaign = searched(site)
    campaign.compared([(last, 1.0), (last * 1.02, 1.0)], {"size": 4, "kind": "c"})
    for report in both(campaign):
        assert verdict in report


def test_the_saving_by_pruning_is_estimated_from_the_trials_that_took_longer(site: Site) -> None:
    saved = searched(site).described()["details"]["cost"]["pruning"]
    assert saved["trials"] == 1 and saved["node_hours"] == pytest.approx(40 / 3600)
    assert saved["estimate"] == pytest.approx((30 - 10) * 4 / 3600)
    assert saved["most"] == pytest.approx((600 - 10) * 4 / 3600)


def test_if_no_trial_took_longer_only_a_bound_of_the_saving_is_reported(site: Site) -> None:
    campaign = written(site)
    campaign.trial(TrialRole.SEARCH, {"size": 2, "kind": "b"}, 3.0, state=TrialState.PRUNED)
    assert campaign.described()["details"]["cost"]["pruning"]["estimate"] is None
    for report in both(campaign):
        assert "saved at most 0.656 node-hours" in report


def test_the_node_hours_of_all_roles_and_states_are_the_campaign_s(site: Site) -> None:
    described = complete(site).described()
    by = described["details"]["cost"]["by"]
    assert sum(one["node_hours"] for one in by) == pytest.approx(described["node_hours"])
    assert sum(one["trials"] for one in by) == described["trials"] == 16


def test_the_winner_is_listed_though_its_mean_is_not_the_best(site: Site) -> None:
    campaign = written(site)
    for size in range(9):
        campaign.trial(TrialRole.SEARCH, {"size": size, "kind": "a"}, 1.0 + size)
    campaign.compared([(9.0, 8.0)], {"size": 7, "kind": "a"})
    listed = [(one["point"]["size"], one["won"]) for one in details(campaign)["best_points"]]  # type: ignore[attr-defined]
    assert listed == [(0, False), (1, False), (2, False), (3, False), (4, False), (7, True)]


def test_the_status_of_a_running_campaign_shows_its_progress(site: Site) -> None:
    campaign = searched(site)
    first, second = site.read(lambda db: campaign_overview.describe(db, campaign.campaign, site.config))["problems"]
    assert (first["phase"], second["phase"]) == ("search", "waiting")
    assert first["best"]["point"] == {"size": 4, "kind": "c"} and first["best"]["gain"] == pytest.approx(0.45)
    assert first["default"]["mean"] == pytest.approx(2.0) and second["default"] is None


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(0.00123456, "s", "1.235 ms"), (12.0, "s", "12 s"), (3e-7, "s", "0.3 µs"), (5, "us", "5 us")],
)
def test_single_values_have_units_that_a_person_reads(value: float, unit: str, shown: str) -> None:
    assert words.single(value, unit) == shown


# -- the command `reprise tune report` ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain_pictures")
def test_a_report_is_written_to_the_given_place(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = str(complete(site).number)
    command = Command(site)
    monkeypatch.chdir(site.directory)
    assert command("tune", "report", campaign).stdout == "campaign-1.html\n"
    (site.directory / "reports").mkdir()
    assert command("tune", "report", campaign, "--output", "reports").stdout == "reports/campaign-1.html\n"
    assert command("tune", "report", campaign, "--output", "a.txt", "--text").stdout == "a.txt\n"
    assert (site.directory / "campaign-1.html").read_text() == (site.directory / "reports/campaign-1.html").read_text()
    assert (site.directory / "a.txt").read_text() == command("tune", "report", campaign, "--text").stdout
    assert command("tune", "report", campaign, "--output", "-").stdout.startswith("<!doctype html>")
    assert json.loads(command("tune", "report", campaign, "--json").stdout)["details"]["noise"]["points"] == 2


def test_a_report_that_cannot_be_written_says_so(site: Site) -> None:
    campaign = str(written(site).number)
    done = Command(site)("tune", "report", campaign, "--output", "/nowhere/at/all.html")
    assert done.exit_code == 1
    assert str(done.exception) == (
        "/nowhere/at/all.html: cannot be written (No such file or directory): give a writable file or directory with "
        "--output"
    )
