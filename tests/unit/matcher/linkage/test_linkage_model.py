# SPDX-License-Identifier: Apache-2.0
"""Test model files: the preset has the published fields, and invalid files are refused in one line with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.matcher.linkage import LinkageError, load

GOOD = """
name = "mine"
version = 2
threshold = 0.5
[evidence]
text = "none"
[[fields]]
name = "user"
weight = 3
parts = [{ feature = "user", comparer = "exact" }]
[[fields]]
name = "time"
parts = [
  { feature = "hour", comparer = "circular", period = 24, weight = 3 },
  { feature = "day", comparer = "circular", period = 31 },
]
"""


def test_the_thesis_preset_has_the_published_fields() -> None:
    model = load("thesis")
    assert [field.name for field in model.fields] == [
        *("user", "job name", "program", "command line", "submit time", "nodes")
    ]
    assert model.label == "thesis/1"
    assert 0 < model.threshold < 1 and model.evidence


def test_weights_are_normalized_over_fields_and_within_them(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(GOOD)
    assert [[curve.most for curve in curves] for curves in load(path).curves()] == [[0.75], [0.1875, 0.0625]]


ODDS = """
name = "odds"
version = 1
threshold = 0.9
scoring = "log-odds"
prior = -4
[evidence]
text = "none"
[[fields]]
name = "user"
parts = [{ feature = "user", comparer = "exact", curve = [[0, -1], [1, 2]], unknown = 0.5 }]
[[fields]]
name = "tasks"
parts = [{ feature = "tasks", comparer = "ratio", curve = [[0, -3], [0.5, 0], [1, 6]] }]
"""


def test_a_model_of_log_odds_adds_bits_to_its_prior(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(ODDS)
    model = load(path)
    assert model.offset == -4
    assert [curve.most for curves in model.curves() for curve in curves] == [2, 6]
    assert model.curves()[1][0].unknown == 0
    assert model.score(0) == 0.5 and model.score(1) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("prior = -4\n", "", "scoring = 'log-odds' needs 'prior'"),
        (
            'scoring = "log-odds"\n',
            "",
            "'odds' has 'prior', which a model with scoring = 'mean' cannot have: remove it",
        ),
        ('name = "user"', 'name = "user"\nweight = 2', "'user' has 'weight', which a model with scoring = 'log-odds'"),
        ("curve = [[0, -1], [1, 2]], ", "", "'user' needs a 'curve'"),
        ("[[0, -1], [1, 2]]", "[[0, -1], [0.5, 2]]", "'user' needs a 'curve'"),
        ("[0.5, 0]", "[0.5, 0], [0.5, 1]", "'tasks' needs a 'curve'"),
        ("[0.5, 0]", "[0.5, inf]", "fields.1.parts.0.curve.1.1"),
    ],
)
def test_a_model_of_log_odds_that_lacks_something_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "model.toml"
    assert old in ODDS
    path.write_text(ODDS.replace(old, new, 1))
    with pytest.raises(LinkageError) as error:
        load(path)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_a_threshold_can_be_overridden() -> None:
    assert load("thesis", 0.9).threshold == 0.9


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"exact"', '"exakt"', "setting 'fields.0.parts.0': Input tag 'exakt'"),
        ("weight = 3\n", "weight = 0\n", "setting 'fields.0.weight': Input should be greater than or equal to 0.0"),
        ("weight = 3 }", "weight = -1 }", "setting 'fields.1.parts.0.weight': Input should be greater than"),
        ("weight = 3\n", "weight = inf\n", "fields.0.weight"),
        ("weight = 3\n", "weight = 1e-320\n", "fields.0.weight"),
        (
            '"circular", period = 31',
            '"same-side", start = nan, end = 6',
            "'fields.1.parts.1.start': Input should be a finite",
        ),
        ("version = 2", f"version = 1{'0' * 5000}", "correct it"),
        ('"user", comp', '"uid", comp', "unknown feature 'uid': choose one of user"),
        ('"hour"', '"path"', "comparer 'circular' cannot compare feature 'path'"),
        ("period = 24", "periode = 24", "unknown setting 'fields.1.parts.0.periode': did you mean 'period'?"),
        (
            "period = 31",
            "period = 31, phase = 2",
            "'fields.1.parts.1.phase': known here: feature, name, weight, curve, unknown, comparer, period",
        ),
        (
            'name = "mine"',
            'name = "a\\nb"',
            r"setting 'name': contains unprintable characters: choose another name (it is 'a\nb')",
        ),
        ('name = "time"', 'name = "\\u001b[2J"', "setting 'fields.1.name': contains unprintable characters: choose"),
        ("weight = 3 }", 'name = "\\u0085" }', "setting 'fields.1.parts.0.name': contains unprintable characters: cho"),
        ('name = "time"', 'name = "user"', "two fields are named 'user'"),
        (
            "[evidence]",
            'prefer = ["nodes"]\n[evidence]',
            "'prefer' names 'nodes', but no part compares its exact value",
        ),
        ("[evidence]", 'prefer = ["hour"]\n[evidence]', "'prefer' names 'hour', but no part compares its exact value"),
        ("threshold = 0.5", "threshold = 1.5", "setting 'threshold': Input should be less than or equal to 1"),
        ("version = 2", "", "setting 'version' is missing: add it"),
        ('text = "none"', "", "evidence"),
        ("threshold = 0.5", "threshold =", "is not valid TOML"),
        (
            "threshold = 0.5",
            "threshhold = 0.5\nthreshold = 0.5",
            "unknown setting 'threshhold': did you mean 'threshold'?",
        ),
    ],
)
def test_an_invalid_file_is_refused_in_one_line_with_its_name(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "model.toml"
    assert old in GOOD
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(LinkageError) as error:
        load(path)
    message = str(error.value)
    assert message.startswith(str(path)) and words in message and "\n" not in message
    assert error.value.exit_status == 1


def test_an_unknown_preset_and_an_unreadable_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(LinkageError, match=r"no model 'thesys': give a preset \(site, thesis\) or the path"):
        load("thesys")
    with pytest.raises(LinkageError, match="cannot be read"):
        load(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(LinkageError, match="save it as UTF-8"):
        load(tmp_path / "bytes")
