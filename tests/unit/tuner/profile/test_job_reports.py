# SPDX-License-Identifier: Apache-2.0
"""Test how the reports of a user's job are found, and that other files in the same directories do no harm."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.profile import job_profile, process_report
from reprise.tuner.profile.job_reports import find
from tests.places import ROOT
from tests.unit.profile_values import calls, mpi, report


def write(directory: Path, name: str = "node1.1.json", **changes: Any) -> Path:
    """Write a process's report as the witness does, with these changes, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(json.dumps(report(**changes).model_dump(mode="json", by_alias=True)))
    return path


def test_the_reports_of_the_jobs_last_start_are_found_in_the_first_directory_that_has_any(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for name in ("7", "7-r2", "7-r10", "77", "7-r", "7-rx", "7.json"):
        (here / f"reprise-profile-{name}").mkdir(parents=True)
    (there / "reprise-profile-8").mkdir(parents=True)
    assert find([7], [tmp_path / "gone", here, there]) == here / "reprise-profile-7-r10"
    assert find([7, 8], [there, here]) == there / "reprise-profile-8"
    assert find([9], [here, there]) is None and find([], [here]) is None


def test_the_plugin_and_the_command_use_the_same_directory() -> None:
    source = (ROOT / "spank" / "profile.c").read_text()
    assert '"%s/reprise-profile-%u%s"' in source and '"-r%u"' in source
    assert (
        '"REPRISE_PROFILE"' in (ROOT / "spank" / "profile.h").read_text()
        and process_report.VARIABLE in source + (ROOT / "spank" / "profile.h").read_text()
    )


@pytest.mark.parametrize("kind", ["fifo", "link", "directory", "empty", "text"])
def test_a_file_that_is_not_a_report_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "node1.2.json"
    write(tmp_path)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "directory":
        path.mkdir()
    else:
        path.write_text("{}" if kind == "text" else "")
    with pytest.raises(TunerError, match=r"node1\.2\.json: not a report"):
        job_profile.profile_of(tmp_path)


def test_a_file_is_read_only_up_to_the_maximum_size_of_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path)
    monkeypatch.setattr(process_report, "REPORT_BYTES", 100)
    with pytest.raises(TunerError, match="not a report"):
        job_profile.profile_of(tmp_path)


def test_files_are_checked_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user may leave 20,000 files of 8 MiB, which must not be in memory at the same time."""
    read = []

    def text(path: Path) -> bytes:
        read.append(path.name)
        return bytes(100)

    for number in range(3):
        (tmp_path / f"{number}.json").touch()
    monkeypatch.setattr(process_report, "_text", text)
    with pytest.raises(TunerError, match=r"0\.json: not a report"):
        job_profile.profile_of(tmp_path)
    assert read == ["0.json"]


def test_reports_are_read_only_up_to_their_maximum_total_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = write(tmp_path).stat().st_size
    monkeypatch.setattr(process_report, "TOTAL_BYTES", 2 * size)
    write(tmp_path, "node1.2.json")
    assert job_profile.profile_of(tmp_path).processes == 2
    write(tmp_path, "node1.3.json")
    with pytest.raises(TunerError, match=f"{tmp_path}: the reports exceed .* fewer ranks, and remove files"):
        job_profile.profile_of(tmp_path)


def test_reports_that_cannot_be_merged_are_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def merge(_: object) -> None:
        raise ZeroDivisionError

    write(tmp_path)
    monkeypatch.setattr(job_profile, "merge", merge)
    with pytest.raises(TunerError, match=r"its reports contradict each other \(ZeroDivisionError\)"):
        job_profile.profile_of(tmp_path)


@pytest.mark.parametrize("sample", [("zz", 1), ("1", 0)], ids=["no number", "no stride"])
def test_samples_that_cannot_be_grouped_are_refused(tmp_path: Path, sample: tuple[str, int]) -> None:
    path = write(tmp_path)
    kept = calls([sample[0], "allreduce", 0, 3, -1, 1, 1, 2], stride=sample[1])
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mpi": mpi(0, 2, collective_samples=kept)}))
    with pytest.raises(TunerError, match="not a report"):
        job_profile.profile_of(tmp_path)


@pytest.mark.parametrize("changes", [{"class": 10**6}, {"bytes": 10**400}])
def test_numbers_that_no_process_can_have_are_refused(tmp_path: Path, changes: dict[str, int]) -> None:
    path = write(tmp_path)
    row = {"op": "read", "fs": 1, "sequential": True, "mpi": False, "class": 3, "calls": 1, "bytes": 8, "ns": 5}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"files": [row | changes]}))
    with pytest.raises(TunerError, match="not a report"):
        job_profile.profile_of(tmp_path)


def test_a_directory_without_reports_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="no process wrote a profile"):
        job_profile.profile_of(tmp_path)
    with pytest.raises(TunerError, match="cannot be read"):
        job_profile.profile_of(tmp_path / "gone")
