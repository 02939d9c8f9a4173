# SPDX-License-Identifier: Apache-2.0
"""Test reports on the savings from settings: their numbers, their self-contained page, and their pictures."""

from __future__ import annotations

import json
import random
import re
import statistics
import struct
from pathlib import Path

import pytest

from reprise.matcher.benefit.production_gain import Gain
from reprise.matcher.benefit.total_saving import Given, saved_by, total
from tests.web.site import HOSTILE, WebSite


def given(record: int, hours: float, gain: float | None, half: float = 0.05, jobs: int = 10) -> Given:
    if gain is None:
        return Given(record, jobs, hours, Gain(None, None, None, jobs, 0))
    return Given(record, jobs, hours, Gain(gain, gain - half, gain + half, jobs, jobs))


def test_savings_are_the_additional_time_without_the_settings() -> None:
    assert saved_by(given(1, 70.0, 0.3))[0] == pytest.approx(30.0)  # type: ignore[index]
    assert saved_by(given(1, 70.0, -0.4))[0] == pytest.approx(-20.0)  # type: ignore[index]
    assert saved_by(given(1, 70.0, None)) is None


def test_without_measurements_no_savings_are_reported() -> None:
    found = total([given(1, 70.0, None), given(2, 30.0, None)])
    assert (found.saved, found.low, found.high, found.measured) == (None, None, None, 0.0)
    assert (found.node_hours, found.jobs) == (100.0, 20)


def test_a_sum_counts_only_measured_savings_and_is_more_certain_than_its_parts() -> None:
    parts = [given(number, 70.0, 0.3) for number in range(9)]
    found = total([*parts, given(10, 1000.0, None)])
    one = total(parts[:1])
    assert found.saved == pytest.approx(9 * 30.0) and found.measured == pytest.approx(9 * 70.0)
    assert found.node_hours == pytest.approx(9 * 70.0 + 1000.0) and found.records == 9
    assert found.saved and found.low and one.saved and one.low
    assert found.saved - found.low == pytest.approx(3 * (one.saved - one.low)), (
        "the interval grows with the square root of the number of parts"
    )


def test_the_interval_of_a_sum_has_its_nominal_coverage() -> None:
    """The true gains of 20 records range from 10 to 40 %. Each estimate has a standard error of 2 percentage points."""
    rng = random.Random(5)  # noqa: S311 (a simulation)
    truth = [0.1 + 0.3 * number / 19 for number in range(20)]
    wanted = sum(100.0 * gain / (1 - gain) for gain in truth)
    covered = []
    for _ in range(2000):
        found = total(given(n, 100.0, gain + rng.gauss(0.0, 0.02), 1.96 * 0.02) for n, gain in enumerate(truth))
        assert found.low and found.high
        covered.append(found.low <= wanted <= found.high)
    assert statistics.fmean(covered) == pytest.approx(0.95, abs=0.02)


@pytest.mark.slow
def test_a_page_of_savings_is_self_contained(filled: WebSite, tmp_path: Path) -> None:
    done = filled.reprise("report", "benefit", "--output", str(tmp_path))
    assert done.stdout == f"{tmp_path}/benefit.html\n"
    page = (tmp_path / "benefit.html").read_text()
    assert "node-hours</span> saved in 30 days" in page and page.count("<svg") == 2
    assert not re.search(r'<[^>]*\b(src|href)="(?!#)|url\((?!#)|@import|<script', page) and HOSTILE not in page


@pytest.mark.slow
def test_the_pictures_of_savings_are_png_files(filled: WebSite, tmp_path: Path) -> None:
    done = filled.reprise("report", "benefit", "--png", "--output", str(tmp_path))
    assert done.stdout.split() == [f"{tmp_path}/benefit-decisions.png", f"{tmp_path}/benefit-saved.png"]
    for path in tmp_path.iterdir():
        head = path.read_bytes()[:24]
        wide, high = struct.unpack(">II", head[16:])
        assert head[:8] == b"\x89PNG\r\n\x1a\n" and wide > 500 and high > 100


@pytest.mark.slow
def test_the_json_has_the_figures_of_the_page(filled: WebSite) -> None:
    found = json.loads(filled.reprise("report", "benefit", "--json").stdout)
    assert found["version"] == 1 and found["benefit"]["saved"] > 0 and found["classes"][0]["user"] == "carol"


@pytest.mark.slow
def test_a_site_without_jobs_has_a_page_too(empty: WebSite, tmp_path: Path) -> None:
    done = empty.reprise("report", "benefit", "--output", str(tmp_path))
    assert done.returncode == 0 and "No job with settings has ended" in (tmp_path / "benefit.html").read_text()
    assert empty.reprise("report", "benefit", "--png", "--output", str(tmp_path)).stdout == "", (
        "there is nothing to draw"
    )


@pytest.mark.slow
def test_a_page_that_cannot_be_written_is_reported(empty: WebSite) -> None:
    done = empty.reprise("report", "benefit", "--output", "/nonexistent/page.html")
    assert done.returncode == 1 and "cannot be written (No such file or directory)" in done.stderr


@pytest.mark.slow
def test_a_campaigns_pictures_are_png_files_too(empty: WebSite, tmp_path: Path) -> None:
    empty.run_campaign()
    done = empty.reprise("tune", "report", "1", "--png", "--output", str(tmp_path))
    names = [Path(line).name for line in done.stdout.splitlines()]
    assert names == ["campaign-1-work_0.sh-trajectory.png", "campaign-1-work_0.sh-best.png", "campaign-1-cost.png"]
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in names)
