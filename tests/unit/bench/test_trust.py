# SPDX-License-Identifier: Apache-2.0
"""Test short versions of the attacks of `make bench-trust`, in which several users send requests to a real daemon."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.trust import holdout_steering, lies, words

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as several users"),
]


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Yield a directory that all users can enter, unlike pytest's directories."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="reprise-test-trust-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_invented_reports_do_not_quarantine_or_protect_a_record_or_change_a_gain(scratch: Path) -> None:
    assert lies.measure(scratch / "lies", 300) == {"lies_quarantined": 0, "lies_shielded": 0, "gain_moved_pct": 0.0}


def test_requests_of_another_user_do_not_affect_which_jobs_are_held_out(scratch: Path) -> None:
    assert holdout_steering.measure(scratch / "holdout", 40)["holdout_steered"] <= 0.06, (
        "in blocks of ten, 1 of 10 jobs is held out"
    )


def test_answers_reveal_no_word_of_another_user(scratch: Path) -> None:
    assert words.measure(scratch / "words", 5, 300)["words_recovered"] == 0
