# SPDX-License-Identifier: Apache-2.0
"""Test the checks of the MPI-IO hints and settings that were in effect in a trial, read from the witness's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.tuner.components.witness import (
    FILE,
    Opened,
    asking_for,
    given_hints,
    objection,
    overridden,
    seen_in,
    settings_of,
    unknown_setting,
)

GIVEN = {"cb_nodes": "2", "romio_cb_write": "enable"}
EFFECT = {"cb_nodes": "2", "romio_cb_write": "ENABLE", "cb_buffer_size": "16777216"}
OUT = Opened("out", {}, EFFECT)


def test_lines_are_read_and_truncated_lines_are_left_out(tmp_path: Path) -> None:
    whole = '{"file": "out", "ranks": 4, "program": {"a": "1"}, "hints": null, "settings": {}}\n'
    (tmp_path / FILE).write_text(whole + '{"file": "out", "ra' + "\n7\n")
    assert seen_in(tmp_path) == [Opened("out", {"a": "1"}, None)]
    assert seen_in(tmp_path / "nothing") == []


def test_only_lines_of_two_words_are_read_as_hints() -> None:
    assert given_hints("# cb_nodes 1\ncb_nodes 2\nthree words here\nlonely\n\nx y\n") == {"cb_nodes": "2", "x": "y"}


def test_hints_in_effect_and_missing_hints_raise_no_objection() -> None:
    assert objection(GIVEN, [OUT]) == objection({}, [OUT]) == objection({"cb_nodes": "02"}, [OUT]) == ""
    # A file opened by OMPIO, which does not report its hints (None), is no objection if there are no hints to check.
    assert objection({}, [Opened("out", {}, None)]) == ""
    assert objection(GIVEN, [Opened("in", {}, None), Opened("other", {}, {"cb_nodes": "1"}), OUT]) == ""


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([], "no file was opened through MPI-IO"),
        ([Opened("out", {}, None)], "out: not opened by ROMIO"),
        ([Opened("out", {"cb_nodes": "4"}, {**EFFECT, "cb_nodes": "4"})], "out: hint cb_nodes = 2: the program"),
        ([Opened("out", {}, {**EFFECT, "cb_nodes": "1"})], "out: hint cb_nodes = 2: 1 is in effect"),
        ([Opened("out", {}, {"cb_nodes": "2"})], "out: hint romio_cb_write = enable: ROMIO does not recognize it"),
    ],
)  # fmt: skip
def test_hints_that_are_not_in_effect_raise_an_objection(seen: list[Opened], said: str) -> None:
    assert objection(GIVEN, seen).startswith(said)


def test_a_reference_run_that_opens_no_file_raises_an_objection() -> None:
    assert objection({}, [])


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([], "setting fcoll: Open MPI does not recognize it"),
        ([Opened("out", {}, None, {"io": "^ompio"})], "setting fcoll: Open MPI does not recognize it"),
        ([Opened("out", {}, None, {"fcoll": "vulcan"})], "setting fcoll = two_phase: vulcan is in effect"),
        ([Opened("out", {}, None, {"fcoll": ""}), Opened("b", {}, None, {"fcoll": "two_phase"})], ""),
    ],
)
def test_settings_that_are_not_in_effect_in_open_mpi_raise_an_objection(seen: list[Opened], said: str) -> None:
    given = settings_of({"OMPI_MCA_fcoll": "two_phase", "ROMIO_HINTS": "/x"})
    assert asking_for(given) == {"REPRISE_WITNESS_SETTINGS": "fcoll"}
    assert unknown_setting(given, seen).startswith(said) and bool(unknown_setting(given, seen)) == bool(said)


def test_hints_that_the_program_sets_itself_are_reported() -> None:
    other = Opened("b", {"cb_nodes": "8", "romio_cb_write": "Enable"}, None)
    assert overridden(GIVEN, [OUT, other]) == [
        "b: the program sets cb_nodes to 8 itself, which overrides the hints file"
    ]
