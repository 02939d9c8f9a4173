# SPDX-License-Identifier: Apache-2.0
"""Test that model files written by a calibration are read back as equal models and are never written partially."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reprise.matcher.calibration import model_file
from reprise.matcher.errors import MatcherError
from reprise.matcher.linkage import Model, load
from reprise.matcher.linkage.linkage_model import presets
from tests.examples import examples
from tests.unit.matcher.linkage.test_reference_engine import models

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8) | st.sampled_from(
    ['"', "'''", "\\", "\x7f", "\x00", "\x1b[31m", "\r\n", "\u2028", "é", "a.b", "[fields]", "#", "="]
)
NAMES = WORDS.filter(str.isprintable)
PLAIN = WORDS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
EVIDENCE = st.dictionaries(
    WORDS,
    PLAIN | st.lists(WORDS, max_size=3) | st.dictionaries(WORDS, PLAIN | st.dictionaries(WORDS, PLAIN, max_size=2)),
    min_size=1,
    max_size=4,
)


def read(text: str) -> Model:
    return Model.model_validate(tomllib.loads(text))


@pytest.mark.parametrize("name", presets())
def test_a_shipped_model_survives_writing_and_reading(name: str) -> None:
    assert read(model_file.text(load(name))) == load(name)


def test_the_shipped_calibrated_model_is_exactly_what_is_written() -> None:
    assert model_file.text(load("site")) == presets()["site"].read_text()


@settings(max_examples=examples(60))
@given(models(), NAMES, EVIDENCE, st.lists(NAMES, min_size=4, max_size=4, unique=True))
def test_any_model_is_read_back_unchanged(model: Model, name: str, evidence: dict[str, Any], names: list[str]) -> None:
    fields = tuple(field.model_copy(update={"name": one}) for field, one in zip(model.fields, names, strict=False))
    odd = model.model_copy(update={"name": name, "evidence": evidence, "fields": fields})
    assert read(model_file.text(odd)) == odd


# -- the file ----------------------------------------------------------------------------------------------------------


def left(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_file_appears_only_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    with model_file.written(path, force=False) as write:
        assert not path.exists()
        write(load("thesis"))
        assert load(path) == load("thesis")
    assert left(tmp_path) == ["site.toml"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MatcherError("no")])
def test_an_error_leaves_the_old_file_and_no_temporary_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "site.toml"
    path.write_text("as it was")
    with pytest.raises((KeyboardInterrupt, MatcherError)), model_file.written(path, force=True):
        raise error
    assert path.read_text() == "as it was" and left(tmp_path) == ["site.toml"]


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "site.toml"
    path.write_text("as it was")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(MatcherError, match=r"site\.toml: cannot be written: No space left on device$"),
        model_file.written(path, force=True) as write,
    ):
        write(load("thesis"))
    assert path.read_text() == "as it was" and left(tmp_path) == ["site.toml"]


def test_an_error_of_the_caller_is_not_reported_as_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the database"), model_file.written(tmp_path / "x", force=False):
        raise OSError(5, "of the database")


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_the_umask_decides_who_may_read_the_file(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with model_file.written(tmp_path / "site.toml", force=False) as write:
            write(load("thesis"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "site.toml").stat().st_mode) == mode


def test_a_link_is_kept_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "old.toml").write_text("")
    (tmp_path / "link.toml").symlink_to("old.toml")
    with model_file.written(tmp_path / "link.toml", force=True) as write:
        write(load("thesis"))
    assert (tmp_path / "link.toml").is_symlink() and load(tmp_path / "old.toml") == load("thesis")


@pytest.mark.parametrize(
    ("name", "force", "said"),
    [
        ("there", False, "there: already exists: give another name, or --force to overwrite it"),
        ("pipe", True, "pipe: is not a regular file: give another name"),
        ("nowhere/site.toml", False, "nowhere/site.toml: cannot be written: No such file or directory"),
        ("there/site.toml", False, "there/site.toml: cannot be written: Not a directory"),
        ("x" * 300, False, "x: cannot be written: File name too long"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_at_once(tmp_path: Path, name: str, force: bool, said: str) -> None:
    (tmp_path / "there").write_text("")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(MatcherError) as refused, model_file.written(tmp_path / name, force=force):
        pytest.fail("the model was not refused")
    assert str(refused.value).endswith(said)
    assert left(tmp_path) == ["pipe", "there"]


def test_the_version_is_incremented_only_for_the_same_model(tmp_path: Path) -> None:
    path = tmp_path / "ours.toml"
    assert model_file.next_version(path, "ours") == 1
    path.write_text(model_file.text(load("thesis").model_copy(update={"name": "ours", "version": 4})))
    assert model_file.next_version(path, "ours") == 5
    assert model_file.next_version(path, "other") == 1
    path.write_text("no model")
    assert model_file.next_version(path, "ours") == 1
