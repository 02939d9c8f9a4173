# SPDX-License-Identifier: Apache-2.0
"""Test that programs compiled for tests are kept until their sources or the way they are compiled change."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import once


def test_programs_are_compiled_again_only_if_a_source_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "KEPT", tmp_path / "kept")
    source, made = tmp_path / "a.c", list[Path]()
    source.write_text("int one;")
    first = [once.built_once("programs", "cc", [source], made.append) for _ in range(2)]
    source.write_text("int two;")
    other = once.built_once("programs", "cc", [source], made.append)
    assert made == [first[0], other] and first[0] == first[1] != other


def test_a_failed_compilation_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(once, "KEPT", tmp_path)
    made = list[Path]()

    def fails(_directory: Path) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        once.built_once("programs", "cc", [], fails)
    assert once.built_once("programs", "cc", [], made.append) == made[0]
