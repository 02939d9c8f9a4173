# SPDX-License-Identifier: Apache-2.0
"""Test the program `tools/prose`, which finds phrases to rewrite in prose, and ignores code and questions."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from tests.places import ROOT


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    loader = SourceFileLoader("prose", str(ROOT / "tools/prose"))
    spec = spec_from_loader("prose", loader)
    assert spec
    module = module_from_spec(spec)
    sys.modules["prose"] = module
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "text", "phrases"),
    [
        ("a.py", '"""What a job gets."""\n', ["What"]),
        ("a.py", '"""Return it."""\nx = 1  # so many of them\n', ["so many"]),
        ("a.py", '"""Return `told`, as search.tell() does."""\nhelp = "Of Slurm."\n', ["tell", "Of"]),
        ("a.py", '"""Return it."""\ntold = tell(what=1)\n', []),
        ("tests/a.py", 'def test() -> None:\n    assert "what it tells" in x\n', []),
        ("a.md", "Who may read it? The owner.\n\n```\nWhat is it\n```\n", []),
        ("a.md", "| a | The same where it is a copy |\n", ["The same"]),
        ("a.c", "int told; // what is told\n", ["told"]),
        ("a.yaml", "key: what  # anew\n", ["anew"]),
    ],
)
def test_phrases_are_found_in_prose_only(prose: ModuleType, name: str, text: str, phrases: list[str]) -> None:
    found = prose.findings(prose.texts(Path(name), text))
    assert sorted(one.phrase for one in found) == sorted(phrases)


def test_a_finding_names_file_line_and_advice(tmp_path: Path) -> None:
    done = subprocess.run([ROOT / "tools/prose", "no/such/folder"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
