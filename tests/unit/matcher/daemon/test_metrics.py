# SPDX-License-Identifier: Apache-2.0
"""Test the metrics that a real daemon exports to Prometheus."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from reprise.database import Database
from reprise.matcher.daemon.prometheus import CLIENTS
from reprise.matcher.wire import protocol
from tests.places import ROOT
from tests.unit.database_values import campaign
from tests.unit.matcher_daemon import SCRIPT, Daemon, mine, request
from tests.waiting import wait_for

PAGE = ROOT / "docs/reference/metrics.md"
LABELS = {"verdict", "le", "why", "state", "failed", "component", "status", "mode", "version", "table"}
HOSTILE = 'x"} 1\nreprise_evil 1\n#'

Told = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def told(daemon: Daemon, port: int) -> Iterator[Daemon]:
    """Run a daemon with metrics and one record."""
    daemon.configure(f'metrics = "127.0.0.1:{port}"', "holdout = 0.0")
    daemon.add(mine())
    daemon.start()
    yield daemon


def text(port: int, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        return str(answer.read().decode())


def scraped(port: int) -> Told:
    families = text_string_to_metric_families(text(port))
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for of in families for one in of.samples}


def report(told: Daemon, decision: str) -> None:
    """Report that a job with injected settings started and failed."""
    job = {"id": 7, "array_task": None, "uid": os.getuid(), "cluster": "test"}
    said = {"v": 1, "kind": "outcome", "decision": decision, "verdict": "apply", "applied": 2, "job": job}
    told.ask({**said, "state": "started"})
    told.ask({**said, "state": "ended", "elapsed_s": 1.0, "exit_status": 256})


def test_requests_and_reports_are_counted(told: Daemon, port: int) -> None:
    replies = [told.ask(request()) for _ in range(3)]
    told.ask(request(script=SCRIPT.replace("lattice", "other").replace("alice", "zoe")))
    told.ask({"v": 1, "kind": "nonsense"})
    report(told, replies[0]["id"])
    found = scraped(port)
    assert found["reprise_decisions_total", (("verdict", "apply"),)] == 3
    assert found["reprise_decisions_total", (("verdict", "none"),)] == 1
    assert found["reprise_decision_seconds_count", ()] == 4
    assert found["reprise_decision_seconds_bucket", (("le", "+Inf"),)] == 4
    assert found["reprise_requests_refused_total", (("why", "request"),)] == 1
    assert found["reprise_outcomes_total", (("state", "started"),)] == 1
    assert found["reprise_jobs_ended_total", (("failed", "true"), ("verdict", "apply"))] == 1
    assert found["reprise_records", (("component", "openmpi-collectives"), ("status", "active"))] == 1
    assert found["reprise_records_known", ()] == 1
    assert [found["reprise_mode", (("mode", mode),)] for mode in ("on", "observe", "off")] == [1, 0, 0]
    assert found["reprise_database_bytes", ()] > 4096 and found["reprise_newest_record_age_seconds", ()] > 0
    assert found["process_open_fds", ()] > 3


def test_an_answer_whose_client_has_gone_is_late(told: Daemon, port: int) -> None:
    """A plugin closes its connection at its deadline, so a reply that finds the connection closed counts as late."""
    assert told.process
    os.kill(told.process.pid, signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX) as plugin:
        plugin.connect(str(told.socket))
        plugin.sendall(protocol.frame(request(), protocol.REQUEST_LIMIT))
    os.kill(told.process.pid, signal.SIGCONT)
    wait_for("the answer to be late", lambda: scraped(port)["reprise_answers_late_total", ()] == 1)
    assert scraped(port)["reprise_decisions_total", (("verdict", "apply"),)] == 1
    assert told.ask(request())["verdict"] == "apply"
    assert scraped(port)["reprise_answers_late_total", ()] == 1


def test_rows_and_the_size_including_the_write_ahead_log_are_exported(told: Daemon, port: int) -> None:
    assert scraped(port)["reprise_rows", (("table", "decision"),)] == 0
    for _ in range(3):
        reply = told.ask(request())
    report(told, reply["id"])
    wait_for("the decisions", lambda: scraped(port)["reprise_rows", (("table", "decision"),)] == 3)
    wait_for("the outcome", lambda: scraped(port)["reprise_rows", (("table", "outcome"),)] == 1)
    log = Path(f"{told.database}-wal").stat().st_size
    assert log and scraped(port)["reprise_database_bytes", ()] == told.database.stat().st_size + log


def test_a_campaign_whose_coordinator_was_killed_is_exported(told: Daemon, port: int) -> None:
    assert scraped(port)["reprise_campaigns_running", ()] == 0
    assert scraped(port)["reprise_campaign_silence_seconds", ()] == 0
    with Database.open(told.database) as database:
        database.add_campaign(campaign(created_at=time.time() - 500, heartbeat_at=time.time() - 300))
    found = scraped(port)
    assert found["reprise_campaigns_running", ()] == 1
    assert 300 <= found["reprise_campaign_silence_seconds", ()] < 400
    assert 500 <= found["reprise_campaign_standstill_seconds", ()] < 600


def test_the_page_lists_the_exported_metrics(told: Daemon, port: int) -> None:
    told.ask(request())
    told.ask({"v": 1, "kind": "nonsense"})
    page = PAGE.read_text().partition("\n## Arbiter\n")[0]
    listed = dict(re.findall(r"^\| `(reprise_\w+)` \| (\w+) \|", page, re.MULTILINE))
    types = dict(re.findall(r"^# TYPE (reprise_\w+) (\w+)$", text(port), re.MULTILINE))
    assert {name: kind for name, kind in types.items() if not name.endswith("_created")} == listed


def test_names_that_users_choose_are_not_exported(told: Daemon, port: int) -> None:
    told.ask(request(script=SCRIPT.replace("job-name=lattice", f"job-name='{HOSTILE}'")))
    assert "evil" not in text(port) and "lattice" not in text(port)


def test_no_label_could_name_a_user_or_a_job(told: Daemon, port: int) -> None:
    told.ask({"v": 1, "kind": "nonsense"})
    report(told, told.ask(request())["id"])
    labels = set(re.findall(r'[{,]([a-z_]+)="', text(port)))
    assert labels == LABELS
    values = re.findall(r'[{,](?!component|version|le)[a-z_]+="([^"]*)"', text(port))
    assert not [value for value in values if re.search(r"[^a-z]", value)], (
        "every value is a fixed word, not a name from a request"
    )


@pytest.mark.slow
def test_a_client_that_hangs_or_sends_nonsense_delays_nobody(told: Daemon, port: int) -> None:
    hanging = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    with socket.create_connection(("127.0.0.1", port)) as other:
        other.sendall(os.urandom(4096) + b"\r\n\r\n")
    assert told.ask(request(), timeout_s=1)["verdict"] == "apply"
    assert "reprise_decisions_total" in text(port)
    for one in hanging:
        one.close()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        text(port, "/")
    assert "Traceback" not in told.text()


def test_metrics_are_exported_without_those_of_a_missing_database(told: Daemon, port: int) -> None:
    told.database.rename(told.database.with_suffix(".away"))
    found = scraped(port)
    assert found["reprise_records_known", ()] == 1 and ("reprise_database_bytes", ()) not in found


def test_a_port_in_use_is_reported_in_one_line(daemon: Daemon, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        daemon.configure(f'metrics = "127.0.0.1:{port}"')
        daemon.spawn()
        wait_for("the warning in the log", lambda: "metrics cannot be served" in daemon.text())
    (said,) = [words for words in daemon.text().splitlines() if "metrics" in words]
    assert f"127.0.0.1:{port}: metrics cannot be served there (Address already in use): set matcher.metrics" in said


def test_the_daemon_starts_although_the_metrics_address_is_not_up_yet(daemon: Daemon) -> None:
    daemon.configure('metrics = "192.0.2.1:9817"')
    daemon.start()
    assert "event=address-missing address=192.0.2.1:9817" in daemon.text()


@pytest.mark.slow
def test_a_daemon_without_metrics_does_not_import_prometheus() -> None:
    code = "import sys, reprise.matcher.daemon.daemon; sys.exit('prometheus_client' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PAGE.parents[1])


@pytest.mark.slow
def test_many_incomplete_requests_block_no_scrape_and_use_few_descriptors(told: Daemon, port: int) -> None:
    assert told.process
    descriptors = Path(f"/proc/{told.process.pid}/fd")
    before = len(list(descriptors.iterdir()))
    asking = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS + 40)]
    for connection in asking:
        connection.sendall(b"GET /metrics HTTP/1.1\r\n")
    wait_for("the first connections to be closed", lambda: len(list(descriptors.iterdir())) <= before + CLIENTS)
    assert scraped(port)["reprise_mode", (("mode", "on"),)] == 1
    for connection in asking:
        connection.close()
