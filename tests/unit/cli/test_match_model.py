# SPDX-License-Identifier: Apache-2.0
"""Test `reprise match model`, which shows a model to an administrator."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from reprise.cli.main import reprise
from reprise.matcher.linkage import load
from tests.unit.matcher.linkage.test_linkage_model import GOOD, ODDS


def run(*words: str) -> Result:
    return CliRunner().invoke(reprise, ["match", "model", *words])


def test_the_configured_model_is_shown_with_its_evidence() -> None:
    said = run("show").output
    assert said.startswith(f"Model site/3: threshold {load('site').threshold}, scoring by log-odds\n")
    assert "soft-tfidf" in said and "reprise match calibrate" in said


def test_a_model_of_means_is_shown_with_weights() -> None:
    said = run("show", "thesis").output
    assert said.startswith("Model thesis/1: threshold 0.55, scoring by mean\n")
    assert "soft-tfidf" in said and "0.0833" in said and "reprise match evaluate" in said


def test_a_model_of_log_odds_is_shown_with_bits(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(ODDS)
    said = run("show", str(tmp_path / "m.toml")).output
    assert "Prior, before any comparison: -4.00 bits" in said
    assert "-1.00 at 0, +2.00 at 1; +0.50 if unknown" in said


def test_json_contains_the_model_file(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(GOOD)
    told = json.loads(run("show", str(tmp_path / "m.toml"), "--json").output)
    assert (told["name"], told["fields"][0]["weight"]) == ("mine", 3)


def test_check_accepts_a_valid_file_and_reports_the_error_in_another(tmp_path: Path) -> None:
    path = tmp_path / "m.toml"
    path.write_text(GOOD)
    assert run("check", str(path)).output == f"{path}: model mine/2, 2 fields, threshold 0.5\n"
    told = json.loads(run("check", str(path), "--json").output)
    assert told == {"version": 1, "file": str(path), "model": "mine/2", "fields": 2, "threshold": 0.5}
    path.write_text(GOOD.replace("exact", "exakt"))
    wrong = run("check", str(path))
    assert wrong.exit_code == 1 and "exakt" in str(wrong.exception)
