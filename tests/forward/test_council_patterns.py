# SPDX-License-Identifier: Apache-2.0
"""Test that the council stores the access patterns of jobs that forwarders serve."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import pytest

from reprise.database import Database
from reprise.database.entities import JobPattern
from reprise.matcher.detection.detector_file import text_of
from tests.forward.council_site import BLOCK, Site
from tests.forward.forwarder.conftest import Place
from tests.unit.database_values import outcome
from tests.unit.detection_values import detector
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def site(place: Place) -> Iterator[Site]:
    """Yield a site with diod, a forwarder and a council, whose database has a running job 4711."""
    file = place.directory / "detector.json"
    file.write_text(text_of(detector()))
    made = Site(place, more=f'detector = "{file}"\n')
    with Database.open(place.directory / "reprise.db", create=True) as database:
        database.report_start(outcome(time.time() - 60, cluster="c", job_id=4711))
    try:
        made.start_council()
        made.start_forwarder(0)
        yield made
    finally:
        made.end()


def test_the_patterns_of_a_running_job_are_stored(site: Site) -> None:
    nine, stranger = site.client(0, "4711"), site.client(0, "4712")
    strided, other = nine.create("strided"), stranger.create("other")
    position = 0

    def seen() -> Sequence[JobPattern] | None:
        nonlocal position
        for _ in range(10):
            nine.write(strided, position * 9 * BLOCK, b"x" * BLOCK)
            stranger.write(other, position * BLOCK, b"x" * BLOCK)
            position += 1
        with Database.open(site.place.directory / "reprise.db", read_only=True) as database:
            found = database.job_patterns([1])
            assert database.counts()["job_pattern"] == len(found.get(1, ()))
            return found[1] if found else None

    found = wait_for("patterns", seen)
    assert [one.pattern for one in found] == ["write/shared/strided/4K"]
    assert 0 < found[0].bytes <= position * BLOCK and found[0].seconds > 0


def test_a_council_with_a_wrong_detector_does_not_start(place: Place) -> None:
    (place.directory / "detector.json").write_text("{}")
    Site(place, more=f'detector = "{place.directory}/detector.json"\n').configure()
    words = [sys.executable, "-m", "reprise", "--config", str(place.directory / "reprise.toml"), "council"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    (said,) = done.stderr.splitlines()
    assert done.returncode == 1 and "detector.json: setting 'version' is missing" in said
