# SPDX-License-Identifier: Apache-2.0
"""Test the alert rules with promtool, and the dashboard's queries on a real Prometheus that reads a real matcher."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.matcher.daemon.test_metrics import free_port
from tests.unit.matcher_daemon import Daemon, mine, request
from tests.unit.monitoring.monitoring_files import RULES, alerts, dashboard, queries
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool, of Debian's package prometheus"),
]

Series = dict[str, str]
BUCKET = 'reprise_decision_seconds_bucket{{instance="m",le="{}"}}'
ENDED = 'reprise_jobs_ended_total{{instance="m",verdict="{}",failed="false"}}'
STEADY = "0+60x120"  # one a second, for two hours

CASES: dict[str, tuple[Series, Series]] = {
    "RepriseMatcherDown": ({'up{job="reprise-matcher"}': "0x120"}, {'up{job="reprise-matcher"}': "1 0 1x120"}),
    "RepriseMatcherNotScraped": ({'up{job="other"}': "1x120"}, {'up{job="reprise-matcher"}': "0x120"}),
    "RepriseDecisionsSlow": (
        {BUCKET.format("0.05"): "0+58x120", BUCKET.format("0.1"): STEADY, BUCKET.format("+Inf"): STEADY},
        {BUCKET.format("0.05"): STEADY, BUCKET.format("0.1"): STEADY, BUCKET.format("+Inf"): STEADY},
    ),
    "RepriseJobsWithoutDecision": (
        {ENDED.format("unreachable"): "0+6x120", ENDED.format("apply"): STEADY},
        {ENDED.format("unreachable"): "0+2x120", ENDED.format("apply"): STEADY},
    ),
    "RepriseRequestsFail": (
        {'reprise_requests_refused_total{why="defect"}': "0x110 1x10"},
        {'reprise_requests_refused_total{why="request"}': STEADY},
    ),
    "RepriseUserFloods": (
        {'reprise_requests_refused_total{why="rate"}': "0+120x120"},
        {'reprise_requests_refused_total{why="rate"}': "0+30x120"},
    ),
    "RepriseWritesWait": ({"reprise_writes_waiting": "3x120"}, {"reprise_writes_waiting": "3 0 5 0x117"}),
    "RepriseWritesDropped": (
        {"reprise_writes_dropped_total": "0x110 7x10"},
        {"reprise_writes_dropped_total": "7x120"},
    ),
    "RepriseRecordQuarantined": ({"reprise_quarantines_total": "0x60 1x60"}, {"reprise_quarantines_total": "5x120"}),
    "RepriseCampaignSilent": (
        {"reprise_campaign_silence_seconds": "0+60x120"},
        {"reprise_campaign_silence_seconds": "9x120"},
    ),
    "RepriseCampaignStandsStill": (
        {"reprise_campaign_standstill_seconds": "604000+60x120"},
        {"reprise_campaign_standstill_seconds": "400000+60x120"},
    ),
    "RepriseArbiterDown": ({'up{job="reprise-arbiter"}': "0x120"}, {'up{job="reprise-arbiter"}': "1x120"}),
    "RepriseForwarderDown": (
        {'reprise_arbiter_forwarder_up{address="io1:564"}': "1x20 0x100"},
        {'reprise_arbiter_forwarder_up{address="io1:564"}': "1x119 0"},
    ),
    "RepriseForwarderNotScraped": (
        {'up{job="reprise-forwarder"}': "0x120"},
        {'up{job="reprise-forwarder"}': "1x120"},
    ),
    "RepriseForwarderLostData": (
        {"reprise_forwarder_lost_bytes_total": "0x100 65536x20"},
        {"reprise_forwarder_lost_bytes_total": "65536x120"},
    ),
    "RepriseForwarderStrandedData": (
        {"reprise_forwarder_stranded_bytes": "65536x120"},
        {"reprise_forwarder_stranded_bytes": "0x120"},
    ),
    "RepriseQueueUnreadable": (
        {"reprise_arbiter_queue_failures_total": "0+2x120"},
        {"reprise_arbiter_queue_failures_total": "0x110 1x10"},
    ),
    "RepriseMapsNotWritten": (
        {"reprise_arbiter_map_failures_total": "0x115 1x5"},
        {"reprise_arbiter_map_failures_total": "4x120"},
    ),
}
"""Series for which each alert fires, and series for which it does not: a value a minute, evaluated after two hours."""


def promtool(*words: str | Path) -> str:
    done = subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rule_test(name: str, series: Series, *, fires: bool) -> dict[str, Any]:
    expression = f'count(ALERTS{{alertname="{name}",alertstate="firing"}})'
    expected = [{"labels": "{}", "value": 1}] if fires else []
    return {
        "interval": "1m",
        "input_series": [{"series": key, "values": values} for key, values in series.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": "120m", "exp_samples": expected}],
    }


def test_promtool_accepts_the_rules() -> None:
    assert f"SUCCESS: {len(alerts())} rules found" in promtool("check", "rules", RULES)


def test_every_alert_fires_in_its_case_and_not_in_the_other(tmp_path: Path) -> None:
    assert set(CASES) == set(alerts())
    tests = [rule_test(name, case[not fires], fires=fires) for name, case in CASES.items() for fires in (True, False)]
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    assert "SUCCESS" in promtool("test", "rules", file)


def test_no_alert_fires_when_nobody_submits_jobs(tmp_path: Path) -> None:
    """Quotients and quantiles without events are NaN, which must not count as above a limit."""
    quiet = {'up{job="reprise-matcher"}': "1x120", ENDED.format("apply"): "5x120"}
    quiet |= {BUCKET.format(at): "5x120" for at in ("0.05", "+Inf")}
    idle = rule_test("", quiet, fires=False)
    idle["promql_expr_test"][0]["expr"] = 'count(ALERTS{alertstate="firing"})'
    file = tmp_path / "tests.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [idle]}))
    assert "SUCCESS" in promtool("test", "rules", file)


class Server:
    """A Prometheus that reads a matcher every second, with the alert rules."""

    def __init__(self, directory: Path, matcher: int) -> None:
        self.port = free_port()
        scrape = {"job_name": "reprise-matcher", "static_configs": [{"targets": [f"127.0.0.1:{matcher}"]}]}
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(RULES)],
            "scrape_configs": [scrape],
        }
        (directory / "prometheus.yml").write_text(yaml.safe_dump(config))
        self.log = directory / "prometheus.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    "prometheus",
                    f"--config.file={directory}/prometheus.yml",
                    f"--storage.tsdb.path={directory}/data",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                ],
                stdout=log,
                stderr=log,
                cwd=directory,
            )

    def get(self, path: str, **words: str) -> Any:
        """Return the data of the answer to a request."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def value(self, query: str) -> float | None:
        """Return the first value of a query's result, if it has any."""
        found = self.get("query", query=query)["result"]
        return float(found[0]["value"][1]) if found else None

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)


@pytest.fixture
def server(daemon: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    port = free_port()
    daemon.configure(f'metrics = "127.0.0.1:{port}"', "holdout = 0.0")
    daemon.add(mine())
    daemon.start()
    made = Server(tmp_path_factory.mktemp("prometheus"), port)
    try:
        wait_for("Prometheus", lambda: "Server is ready" in made.log.read_text(), timeout_s=60)
        yield made
    finally:
        made.stop()


WITHOUT_FORWARDERS = ("reprise_arbiter_", "reprise_forwarder_", "reprise_council_")


def filled_in(query: str) -> str:
    """Return a query of the dashboard with the values that Grafana puts in for its variables."""
    return query.replace("$__rate_interval", "1m").replace("$matcher", ".*").replace("[1h]", "[1m]")


def test_every_panel_of_the_matcher_shows_what_a_real_matcher_did(server: Server, daemon: Daemon) -> None:
    wait_for("the first samples", lambda: server.value("reprise_writes_waiting") is not None)
    replies = [daemon.ask(request()) for _ in range(3)]
    job = {"id": 7, "array_task": None, "uid": os.getuid(), "cluster": "test"}
    said = {"v": 1, "kind": "outcome", "decision": replies[0]["id"], "verdict": "apply", "applied": 2, "job": job}
    daemon.ask({**said, "state": "started"})
    daemon.ask({**said, "state": "ended", "elapsed_s": 1.0, "exit_status": 256})
    twice = "min(count_over_time({__name__=~'reprise_(decisions|jobs_ended)_total'}[1m])) >= 2"
    wait_for("two samples of the end", lambda: server.value("reprise_jobs_ended_total") and server.value(twice))
    assert server.value("sum(reprise_decisions_total)") == 3
    empty = []
    for title, query in queries():
        server.get("query", query=filled_in(query))  # fails if Prometheus refuses the query
        if not any(part in query for part in WITHOUT_FORWARDERS) and server.value(filled_in(query)) is None:
            empty.append(title)
    # these counters get their labels with the first such event
    assert set(empty) <= {"Jobs without an answer", "Refused requests and late answers"}
    variable = dashboard()["templating"]["list"][1]["query"]["query"]
    assert server.value(variable.removeprefix("label_values(").removesuffix(", instance)")) == 1


def test_a_killed_matcher_raises_the_alert_with_the_remedy(server: Server, daemon: Daemon) -> None:
    wait_for("the first samples", lambda: server.value('up{job="reprise-matcher"}') == 1)
    wait_for("no alert", lambda: not server.get("alerts")["alerts"])
    daemon.stop()

    def raised() -> list[Any]:
        return [one for one in server.get("alerts")["alerts"] if one["labels"]["alertname"] == "RepriseMatcherDown"]

    wait_for("the alert", lambda: bool(raised()))
    (alert,) = raised()
    assert alert["state"] == "pending" and "{{" not in json.dumps(alert)
    assert "systemctl status reprise-matcher" in alert["annotations"]["remedy"]
