# SPDX-License-Identifier: Apache-2.0
"""Test calibration with a site's own scripts: owners are split into halves, and too few scripts are refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.matcher.calibration import made_up_pairs, script_pairs
from reprise.matcher.calibration.calibrate import calibrate
from reprise.matcher.calibration.pairs import Pairs
from reprise.matcher.calibration.script_calibration import (
    LEAST_OWNERS,
    calibrate_to_scripts,
    is_first_half,
)
from reprise.matcher.calibration.site_template import VERSION
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation.script_folder import FoundScript, scripts_in
from reprise.matcher.evaluation.script_labels import LabelledScript
from reprise.matcher.evaluation.script_report import ScriptReport
from reprise.matcher.evaluation.script_verdicts import measure
from reprise.matcher.linkage import Model, load
from tests.unit.script_folders import write_accounting, write_files

OWNERS = 30


@pytest.fixture(autouse=True)
def few_made_up_sites(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_up_pairs, "FITTED", range(1000, 1001))
    monkeypatch.setattr(made_up_pairs, "HELD_OUT", range(1100, 1101))
    monkeypatch.setattr(made_up_pairs, "USED", ("thesis",))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[FoundScript]:
    return scripts_in(write_files(tmp_path_factory.mktemp("scripts"), OWNERS))


# -- pairs -------------------------------------------------------------------------------------------------------------


def test_pairs_match_where_the_scripts_name_the_same_application(found: list[FoundScript]) -> None:
    """Each owner has four applications. Two of these have records, and two scripts of each application are queries."""
    pairs = script_pairs.pairs([LabelledScript(script) for script in found], [1]).sure
    records, asking, strangers = 2 * OWNERS, 8 * OWNERS, OWNERS // 2
    assert pairs.counts.sum() == records * asking + strangers**2
    assert pairs.matched.sum() == 4 * OWNERS
    assert len(np.unique(pairs.patterns, axis=0)) == len(pairs.patterns)


def copied(body: str) -> list[LabelledScript]:
    """Return three scripts for each of two projects of two owners. All scripts are equal except for a number."""
    return [
        LabelledScript(FoundScript(owner, f"{owner}/{project}", f"{owner}/{project}/{number}.sh", f"{body}{number}"))
        for owner in ("ada", "bob")
        for project in ("one", "two")
        for number in range(3)
    ]


def test_another_owners_copy_is_left_out_and_a_copy_of_ones_own_is_a_doubtful_pair() -> None:
    pairs = script_pairs.pairs(copied("srun ./tide2d --case "), [1])
    assert (pairs.sure.matched.sum(), pairs.sure.others.sum()) == (4, 0)
    assert (pairs.doubtful.matched.sum(), pairs.doubtful.others.sum()) == (0, 4)


def test_doubtful_pairs_weigh_less_and_all_pairs_weigh_a_share_of_the_made_up_ones() -> None:
    pairs = script_pairs.pairs(copied("srun ./tide2d --case "), [1])
    assert pairs.all().counts.sum() == 4 + 4 * script_pairs.DOUBT
    made_up = Pairs(pairs.sure.patterns[:1], np.array([16.0]), np.array([900.0]))
    assert pairs.beside(made_up).sure.matched.sum() == pytest.approx(script_pairs.SHARE * 16)
    few = pairs.beside(Pairs(made_up.patterns, made_up.matched * 1000, made_up.others))
    assert few.sure.matched.sum() == 4 * script_pairs.MOST and few.doubtful.others.sum() == 4 * script_pairs.MOST


# -- the split ---------------------------------------------------------------------------------------------------------


def test_an_owner_is_always_in_the_same_half_whoever_the_others_are() -> None:
    owners = [f"user{number}" for number in range(2000)]
    assert 900 < sum(map(is_first_half, owners)) < 1100
    assert [is_first_half(owner) for owner in ("user0", "user1", "user2", "user3")] == [False, True, False, True]
    assert is_first_half("al\udcffice") in (True, False)


@pytest.mark.slow
def test_each_half_evaluates_the_model_that_was_fitted_to_the_other(
    found: list[FoundScript], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, set[str]]] = []
    fitted: list[set[str]] = []
    report, pairs = ScriptReport.of, script_pairs.pairs

    def judging(model: Model, scripts: Sequence[FoundScript], seeds: int) -> ScriptReport:
        asked.append((model.label, {script.owner for script in scripts}))
        return report(model, scripts, seeds)

    def pairing(scripts: Sequence[LabelledScript]) -> script_pairs.ScriptPairs:
        fitted.append({script.script.owner for script in scripts})
        return pairs(scripts)

    monkeypatch.setattr(ScriptReport, "of", judging)
    monkeypatch.setattr(script_pairs, "pairs", pairing)
    made = calibrate_to_scripts(found, name="ours")
    first, second, every = fitted
    assert not first & second and first | second == every and len(every) == OWNERS
    assert [owners for label, owners in asked if label == f"ours/{VERSION}"] == [second, first]
    shares = measure(made.judged.judged)
    assert (shares.recall.value, shares.confused.value, shares.strangers.value) == (1, 0, 0)
    assert {one.asking.script.script.owner for one in made.shipped.judged} == every
    told = made.made.model.evidence
    assert told["scripts"]["owners"] == told["halves_of_scripts"]["owners"] == OWNERS
    assert told["halves_of_scripts"]["recall"] == 100


@pytest.mark.slow
def test_the_same_scripts_give_the_same_model(found: list[FoundScript]) -> None:
    pairs = script_pairs.pairs([LabelledScript(script) for script in found])
    first, again = (calibrate(None, scripts=pairs).model for _ in range(2))
    assert first == again != calibrate(None).model


# -- too few -----------------------------------------------------------------------------------------------------------


def test_too_few_owners_are_refused(tmp_path: Path) -> None:
    few = scripts_in(write_files(tmp_path, LEAST_OWNERS - 1))
    with pytest.raises(
        MatcherError, match=r"^19 owners have scripts that name a program: .*which requires 20 or more: use"
    ):
        calibrate_to_scripts(few)


def test_owners_with_one_script_of_each_program_are_too_few_to_evaluate(tmp_path: Path) -> None:
    single = scripts_in(write_files(tmp_path, OWNERS, variants=1))
    with pytest.raises(MatcherError, match=r"^in one half of the owners, only 0 have two scripts of one program: "):
        calibrate_to_scripts(single)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_reads_the_output_of_sacct_and_reports_the_quality_of_both_models(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    folder = write_accounting(tmp_path / "scripts", OWNERS)
    output = tmp_path / "ours.toml"
    done = CliRunner().invoke(reprise, ["match", "calibrate", str(output), "--scripts", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"{output}: model ours/1, threshold " in done.output
    assert "Model site/3, threshold 0.8," in done.output and "Model ours/1, threshold " in done.output
    assert done.output.count("own other") == 2 and "for example" not in done.output
    assert load(output).evidence["scripts"]["doubt"] == script_pairs.DOUBT
    assert "user1" not in output.read_text() and "kelp" not in output.read_text()
    judged = CliRunner().invoke(reprise, ["match", "evaluate", "--model", str(output), "--scripts", str(folder)])
    assert judged.exit_code == 0 and "own other" in judged.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--made-up"], "--scripts and --made-up are mutually exclusive: give one"),
        (
            ["--weights", "ecm"],
            "--weights ecm learns from jobs of unknown applications, not from --scripts",
        ),
        ([], "contains 0 batch scripts as OWNER/PROJECT/PATH: 20 or more are needed, or sacct's output in "),
    ],
)
def test_invalid_requests_are_refused_and_write_nothing(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "empty").mkdir()
    output = tmp_path / "ours.toml"
    done = CliRunner().invoke(
        reprise, ["match", "calibrate", str(output), "--scripts", str(tmp_path / "empty"), *words]
    )
    assert isinstance(done.exception, MatcherError) and said in str(done.exception)
    assert not output.exists()
