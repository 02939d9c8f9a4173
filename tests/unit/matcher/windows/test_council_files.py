# SPDX-License-Identifier: Apache-2.0
"""Test the council's files: knowledge is whole, and recorded reports are bounded and can be replayed."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from reprise.matcher.council.council_settings import CouncilSettings
from reprise.matcher.council.learned_windows import document
from reprise.matcher.council.recorded_metrics import line, read
from reprise.matcher.errors import CouncilError, ServiceError
from reprise.matcher.windows.council_files import LEARNED, RECORDED, RECORDED_BEFORE, CouncilFiles
from tests.unit.matcher.council.council_values import council, report, rounds

SETTINGS = CouncilSettings()
LINE = line(1.0, report("ion1:0", 500))


def held(path: Path, most_bytes: int = 10_000) -> CouncilFiles:
    files = CouncilFiles(path / "council", most_bytes)
    files.hold()
    return files


def test_knowledge_is_read_after_a_restart(tmp_path: Path) -> None:
    files = held(tmp_path)
    assert files.learned(SETTINGS) is None
    of = council(SETTINGS)
    rounds(of, 20, lambda window: 100.0 + window / 100)
    files.store(document(of.learned))
    files.release()
    found = held(tmp_path).learned(SETTINGS)
    assert found and document(found) == document(of.learned)


def test_a_store_that_fails_leaves_the_knowledge_before(tmp_path: Path) -> None:
    files = held(tmp_path)
    files.store({"version": 1})
    with pytest.raises(TypeError):
        files.store({"version": object()})
    assert (files.path / LEARNED).read_text() == '{"version": 1}'


def test_damaged_knowledge_is_refused_and_stays(tmp_path: Path) -> None:
    files = held(tmp_path)
    (files.path / LEARNED).write_text("{")
    with pytest.raises(CouncilError, match="remove it to learn again"):
        files.learned(SETTINGS)
    assert (files.path / LEARNED).read_text() == "{"


def test_only_one_council_holds_a_directory(tmp_path: Path) -> None:
    files = held(tmp_path)
    with pytest.raises(ServiceError, match="another council is running"):
        held(tmp_path)
    files.release()
    held(tmp_path)


def test_a_directory_that_cannot_be_made_is_reported_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match=r"^[^\n]*council\.directory to another one$"):
        held(tmp_path / "missing")


def test_recorded_reports_can_be_replayed_and_are_bounded(tmp_path: Path) -> None:
    files = held(tmp_path)
    for _ in range(50):
        files.record([LINE] * 10)
    sizes = [(files.path / name).stat().st_size for name in (RECORDED, RECORDED_BEFORE)]
    assert min(sizes) > 0 and max(sizes) <= 10_000
    for name in (RECORDED, RECORDED_BEFORE):
        with (files.path / name).open("rb") as file:
            assert set(read(file, name)) == {report("ion1:0", 500)}
    assert sorted(one.name for one in files.path.iterdir()) == [".lock", RECORDED_BEFORE, RECORDED]


def test_nothing_is_recorded_if_the_size_is_0(tmp_path: Path) -> None:
    files = held(tmp_path, 0)
    files.record([LINE])
    assert not (files.path / RECORDED).exists()


@pytest.mark.parametrize("left", [LINE[:50], f"{LINE}\n{LINE[:50]}", ""])
def test_the_half_of_a_line_that_a_killed_council_left_is_removed(tmp_path: Path, left: str) -> None:
    files = held(tmp_path)
    files.record([LINE])
    with (files.path / RECORDED).open("a") as file:
        file.write(left)
    files.release()
    files = held(tmp_path)
    files.record([LINE])
    with (files.path / RECORDED).open("rb") as file:
        assert len(list(read(file, "metrics"))) == 2 + left.count("\n")


def test_a_full_file_system_leaves_no_half_line(tmp_path: Path) -> None:
    files = held(tmp_path)
    files.record([LINE])
    size = (files.path / RECORDED).stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            files.record([LINE])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (files.path / RECORDED).stat().st_size == size
