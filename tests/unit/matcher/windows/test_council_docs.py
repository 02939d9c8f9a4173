# SPDX-License-Identifier: Apache-2.0
"""Test that the pages agree with the council's metrics, and the council with the forwarder's limits."""

from __future__ import annotations

import re

from prometheus_client import generate_latest

from reprise.config import Config
from reprise.matcher.council.access_pattern import UNKNOWN
from reprise.matcher.council.council_settings import (
    DEFAULT_WINDOW,
    HARM_SHARE,
    TIMEOUT,
    WINDOWS,
    CouncilSettings,
    Learner,
)
from reprise.matcher.council.window_council import Council, Mode
from reprise.matcher.detection.job_name import STEADY
from reprise.matcher.windows import council_server
from reprise.matcher.windows.council_daemon import council_settings
from reprise.matcher.windows.council_metrics import REASONS, registry
from reprise.matcher.windows.council_server import CouncilServer
from reprise.matcher.windows.deliberation import Deliberation
from reprise.matcher.windows.job_consent import OTHERS, Consents
from reprise.matcher.windows.report_message import MOST_JOBS
from tests.places import ROOT
from tests.unit.matcher.council.council_values import seeded
from tests.unit.matcher.windows.simple_detector import SimpleDetector
from tests.unit.matcher.windows.test_council_server import Names

FORWARDER = ROOT / "accelerators/forward/forwarder"
LIMITS = dict(re.findall(r"^#define (\w+) \(?(\d+)", (FORWARDER / "limits.h").read_text(), re.MULTILINE))
EXPLANATION = (ROOT / "docs/explanation/windows.md").read_text()


def test_the_page_lists_the_councils_metrics() -> None:
    page = (ROOT / "docs/reference/metrics.md").read_text().partition("\n## Council\n")[2]
    listed = dict(re.findall(r"^\| `(reprise_\w+)` \| (\w+) \|", page, re.MULTILINE))
    deliberation = Deliberation(Council(CouncilSettings(), seeded(1)), SimpleDetector(), Consents("known"))
    text = generate_latest(registry(CouncilServer(deliberation, Names(), print), lambda: 0)).decode()
    types = dict(re.findall(r"^# TYPE (reprise_\w+) (\w+)$", text, re.MULTILINE))
    assert {name: kind for name, kind in types.items() if name != "reprise_build_info"} == listed
    assert all(f"`{word}`" in page for word in (*REASONS, *Mode))


def test_the_page_has_the_limits_of_the_server() -> None:
    refused = next(row for row in (ROOT / "docs/reference/log.md").read_text().splitlines() if "| `refused` |" in row)
    of = council_server
    assert of.REPORTS_PER_S == 4 and "more than four reports a second" in refused
    assert f"more than {of.CONNECTIONS} connections" in refused
    assert f"no report for {of.HELLO_S:.0f} s after connecting, or for {of.SILENCE_S:.0f} s" in refused
    assert f"They have {of.HELLO_S:.0f} seconds and one line" in EXPLANATION
    assert f"more than {of.CONNECTIONS:,} connections" in EXPLANATION


def test_the_configurations_defaults_are_those_of_the_learner() -> None:
    assert council_settings(Config()) == CouncilSettings()
    assert (Config().council.harm, Config().council.timeout_s) == (HARM_SHARE, TIMEOUT)
    assert Config().council.learner in list(Learner) and DEFAULT_WINDOW == 0


def test_the_forwarder_accepts_all_windows() -> None:
    least, most = int(LIMITS["WINDOW_US_MIN"]), int(LIMITS["WINDOW_US_MAX"])
    assert all(window == 0 or least <= window <= most for window in WINDOWS)


def test_the_forwarder_names_jobs_as_the_council_expects() -> None:
    assert int(LIMITS["JOBS_MAX"]) + 1 == MOST_JOBS
    assert f'"{STEADY}"' in (FORWARDER.parent / "nine.h").read_text()
    assert f'"{OTHERS}"' in (FORWARDER / "metrics.c").read_text()
    assert UNKNOWN in EXPLANATION
