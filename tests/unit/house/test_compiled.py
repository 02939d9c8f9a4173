# SPDX-License-Identifier: Apache-2.0
"""Test that pytest uses test files compiled in advance, and that the files listed in LONGEST_FIRST exist."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import compiled
from tests.cluster.conftest import LONGEST_FIRST
from tests.places import ROOT


def test_pytest_uses_the_compiled_test_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    files = [tmp_path / f"test_compiled_{name}.py" for name in ("first", "second", "third")]
    for file in files:
        file.write_text("print('seen')\n\n\ndef test_it() -> None:\n    assert 1 == 1\n")
    broken = tmp_path / "test_compiled_broken.py"
    broken.write_text("raise SystemExit(3)\n")
    assert compiled.missing([*files, broken]) == [*files, broken]
    compiled.compile_all([broken, *files], tmp_path, 2)
    assert compiled.missing(files) == []
    kept = {path.name for path in (tmp_path / "__pycache__").iterdir()}
    assert {compiled.kept(file).name for file in files} <= kept, "pytest's hook compiled them, under pytest's names"
    assert not {file.stem for file in files} & sys.modules.keys(), "this process imported none of them"


@pytest.mark.parametrize("file", LONGEST_FIRST)
def test_files_that_start_first_exist(file: str) -> None:
    assert (ROOT / "tests/cluster" / file).is_file()
