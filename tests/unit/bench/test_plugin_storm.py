# SPDX-License-Identifier: Apache-2.0
"""Test the check in `make bench-plugin` that no job's environment was changed while many jobs are submitted at once."""

from __future__ import annotations

import pytest

from bench.plugin.storm import CARRIED, MARK, RECORDS, is_default

DEFAULT = {"PATH": "/bin", "SLURM_JOB_ID": "1"}
GIVEN = dict.fromkeys(RECORDS[0], "1")


@pytest.mark.parametrize("more", [{}, {"SLURM_JOB_ID": "2"}, {CARRIED: "{}"}, {MARK: "d-1", **GIVEN}])
def test_a_job_with_its_defaults_or_all_settings_of_a_record_is_unchanged(more: dict[str, str]) -> None:
    assert is_default({**DEFAULT, **more}, DEFAULT)


@pytest.mark.parametrize("more", [{"PATH": ""}, GIVEN, {MARK: "d-1"}, {MARK: "d-1", min(GIVEN): "1"}, {"OTHER": "1"}])
def test_a_job_with_any_other_variable_is_changed(more: dict[str, str]) -> None:
    assert not is_default({**DEFAULT, **more}, DEFAULT)


def test_a_job_that_lacks_a_variable_is_changed() -> None:
    assert not is_default({"SLURM_JOB_ID": "1"}, DEFAULT)
