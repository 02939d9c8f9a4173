# SPDX-License-Identifier: Apache-2.0
"""Test the comparison of the programs that the parser finds with the programs that a human reader named."""

from __future__ import annotations

import re
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from bench.recognition import read_by_hand
from bench.recognition.read_by_hand import Verdict, answers, judged, labels, measure

SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2\nsrun ./flow case.in\n"


def labelled(monkeypatch: pytest.MonkeyPatch, folder: Path, text: str, *names: str) -> None:
    """Write a script below `folder`, and replace all labels with one label, which names this script's programs."""
    file = folder / "anna/project/runs/job.sh"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    monkeypatch.setattr(read_by_hand, "labels", lambda _draw=None: {sha256(text.encode()).hexdigest(): names})


@pytest.mark.parametrize(
    ("got", "expected", "verdict"),
    [
        ({"flow"}, ("flow",), "right"),
        ({"flow"}, ("mesh", "flow"), "right"),
        ({"Flow"}, ("flow",), "wrong"),
        ({"run", "flow"}, ("flow",), "right"),
        ({""}, ("flow",), "unknown"),
        ({""}, ("",), "right"),
        ({"flow"}, ("",), "wrong"),
        ({""}, ("flow", ""), "right"),
    ],
)
def test_a_verdict_of_right_needs_the_name_in_the_same_letter_case(
    got: set[str], expected: tuple[str, ...], verdict: Verdict
) -> None:
    assert judged(got, expected) == verdict


def test_the_labels_are_hashes_with_base_names() -> None:
    found = labels()
    assert len(found) >= 200
    assert all(re.fullmatch(r"[0-9a-f]{64}", digest) for digest in found)
    assert all(names and len(set(names)) == len(names) for names in found.values())
    assert not [name for names in found.values() for name in names if "/" in name or " " in name]


def test_no_script_is_in_two_draws() -> None:
    by_draw = {draw: labels(draw) for draw in read_by_hand.draws()}
    assert sum(map(len, by_draw.values())) == len(labels())


def test_a_script_is_submitted_by_its_owner_from_its_own_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled(monkeypatch, tmp_path, SCRIPT, "flow")
    (answer,) = answers(tmp_path, read_by_hand.labels())
    assert (answer.path, answer.job.user, answer.job.directory) == (
        "anna/project/runs/job.sh",
        "anna",
        "/anna/project/runs",
    )


def test_shares_refer_to_labeled_scripts_and_a_copy_counts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled(monkeypatch, tmp_path, SCRIPT, "flow")
    (tmp_path / "anna/project/runs/copy.sh").write_text(SCRIPT)
    (tmp_path / "anna/project/runs/other.sh").write_text(SCRIPT + "date\n")
    assert measure(tmp_path) == {"program_right": 1.0, "program_wrong": 0.0, "program_unknown": 0.0, "read": 1}


def test_a_folder_without_a_labelled_script_measures_nothing(tmp_path: Path) -> None:
    assert measure(tmp_path) == {"program_right": 0.0, "program_wrong": 0.0, "program_unknown": 0.0, "read": 0}


def test_the_list_shows_scripts_whose_programs_are_not_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    labelled(monkeypatch, tmp_path, SCRIPT, "solver", "")
    monkeypatch.setattr(sys, "argv", ["read_by_hand", str(tmp_path), "--list"])
    assert read_by_hand.main() == 0
    assert "wrong\tanna/project/runs/job.sh\tsolver | (nothing)\tflow\n" in capsys.readouterr().out
