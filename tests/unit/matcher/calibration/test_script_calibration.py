# SPDX-License-Identifier: Apache-2.0
"""The calibration with a site's own scripts: whose are fitted to, whose judge, and when there are too few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from reprise.cli.main import reprise
from reprise.matcher.calibration import made_up_pairs, script_pairs
from reprise.matcher.calibration.script_calibration import (
    LEAST_OWNERS,
    calibrate_to_scripts,
    is_fitted,
)
from reprise.matcher.errors import MatcherError
from reprise.matcher.evaluation.script_folder import FoundScript, scripts_in
from reprise.matcher.evaluation.script_labels import LabelledScript
from reprise.matcher.evaluation.script_verdicts import measure
from reprise.matcher.linkage import load
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


def test_pairs_are_of_one_application_where_the_files_say_so(found: list[FoundScript]) -> None:
    """Four applications of each owner have two records together, and two scripts of each ask."""
    pairs = script_pairs.pairs([LabelledScript(script) for script in found], [1])
    records, asking, strangers = 2 * OWNERS, 8 * OWNERS, OWNERS // 2
    assert pairs.counts.sum() == records * asking + strangers**2
    assert pairs.matched.sum() == 4 * OWNERS
    assert len(np.unique(pairs.patterns, axis=0)) == len(pairs.patterns)


def test_a_copy_that_another_owner_has_counts_neither_way_and_ones_own_does() -> None:
    copied = [
        FoundScript(owner, f"{owner}/{project}", f"{owner}/{project}/{number}.sh", f"srun ./tide2d --case {number}")
        for owner in ("ada", "bob")
        for project in ("one", "two")
        for number in range(3)
    ]
    pairs = script_pairs.pairs([LabelledScript(script) for script in copied], [1])
    assert pairs.counts.sum() == 2 * 4 and pairs.matched.sum() == 2 * 2


def test_a_pair_may_count_more_or_less(found: list[FoundScript]) -> None:
    pairs = script_pairs.pairs([LabelledScript(script) for script in found[:24]], [1])
    assert pairs.times(0.5).counts.sum() == pairs.counts.sum() / 2
    assert pairs.times(0.5).share == pairs.share


# -- the split ---------------------------------------------------------------------------------------------------------


def test_an_owner_stays_in_one_half_whoever_else_is_there() -> None:
    owners = [f"user{number}" for number in range(2000)]
    assert 900 < sum(map(is_fitted, owners)) < 1100
    assert [is_fitted(owner) for owner in ("user0", "user1", "user2", "user3")] == [False, True, False, True]
    assert is_fitted("al\udcffice") in (True, False)


@pytest.mark.slow
def test_a_model_is_fitted_to_one_half_and_judged_on_the_other(found: list[FoundScript]) -> None:
    made = calibrate_to_scripts(found, name="ours")
    judges = {one.asking.script.script.owner for one in made.judged.judged}
    fitted = {script.owner for script in made.fitted}
    assert len(fitted | judges) == OWNERS and not fitted & judges
    assert (made.shipped.model, made.judged.model) == (load("site").label, "ours/1")
    shares = measure(made.judged.judged)
    assert (shares.recall.value, shares.confused.value, shares.strangers.value) == (1, 0, 0)
    told = made.made.model.evidence
    assert told["scripts"]["owners_fitted"] + told["held_back_scripts"]["owners"] == OWNERS
    assert told["held_back_scripts"]["recall"] == 100


@pytest.mark.slow
def test_the_same_scripts_give_the_same_model_and_others_another(found: list[FoundScript]) -> None:
    first, again = (calibrate_to_scripts(found).made.model for _ in range(2))
    assert first == again
    assert calibrate_to_scripts(found, weight=100.0).made.model != first


# -- too few -----------------------------------------------------------------------------------------------------------


def test_too_few_owners_are_refused(tmp_path: Path) -> None:
    few = scripts_in(write_files(tmp_path, LEAST_OWNERS - 1))
    with pytest.raises(
        MatcherError, match=r"^19 owners have scripts that name a program: .*which takes 20 or more: take"
    ):
        calibrate_to_scripts(few)


def test_owners_of_one_script_of_each_program_cannot_judge(tmp_path: Path) -> None:
    single = scripts_in(write_files(tmp_path, OWNERS, variants=1))
    with pytest.raises(MatcherError, match=r"^in one half of the owners, 0 have two scripts of one program: "):
        calibrate_to_scripts(single)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_takes_what_sacct_printed_and_says_how_both_models_did(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    folder = write_accounting(tmp_path / "scripts", OWNERS)
    output = tmp_path / "ours.toml"
    done = CliRunner().invoke(reprise, ["match", "calibrate", str(output), "--scripts", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"{output}: model ours/1, threshold " in done.output
    assert "Model site/1, threshold 0.9," in done.output and "Model ours/1, threshold " in done.output
    assert done.output.count("own other") == 2 and "for example" not in done.output
    assert load(output).evidence["scripts"]["pair_weight"] == 1
    assert "user1" not in output.read_text() and "kelp" not in output.read_text()
    judged = CliRunner().invoke(reprise, ["match", "evaluate", "--model", str(output), "--scripts", str(folder)])
    assert judged.exit_code == 0 and "own other" in judged.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--made-up"], "--scripts and --made-up exclude each other: give one"),
        (
            ["--weights", "ecm"],
            "--weights ecm learns from jobs of which nobody knows what they run: not from --scripts",
        ),
        ([], "holds 0 batch scripts as OWNER/PROJECT/PATH: 20 or more are needed, or what sacct printed, "),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "empty").mkdir()
    output = tmp_path / "ours.toml"
    done = CliRunner().invoke(
        reprise, ["match", "calibrate", str(output), "--scripts", str(tmp_path / "empty"), *words]
    )
    assert isinstance(done.exception, MatcherError) and said in str(done.exception)
    assert not output.exists()
