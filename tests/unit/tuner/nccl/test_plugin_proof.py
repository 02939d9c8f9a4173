# SPDX-License-Identifier: Apache-2.0
"""Test the examination of tuner plugins, with plugins that are built from nccl_tuner.c."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.nccl.plugin_proof import TunerPlugin, examine, prove
from reprise.tuner.nccl.tuner_lines import Line, write
from tests.unit.tuner.nccl.built_plugin import built

LINES = [
    Line("allreduce", 0, 4095, "tree", "ll", 0, 2, 8),
    Line("allreduce", 0, 65535, "ring", "ll", 2, 2, 8),
    Line("allgather", 1024, 65535, "ring", "simple", 0, 4, 16, 1, 1),
]


@pytest.mark.parametrize(("macro", "version"), [("INITIAL=0", 5), ("V4", 4)])
def test_a_plugin_that_follows_its_file_is_proved(tmp_path: Path, macro: str, version: int) -> None:
    plugin = examine(built(tmp_path, macro))
    assert (plugin.name, plugin.version) == ("test", version)
    assert prove(plugin, write(LINES, ["three lines"])) == 32


@pytest.mark.parametrize(
    ("macro", "expected"),
    [
        ("INITIAL=1", "(1 channels), which slows jobs down: set `*nChannels = 0`"),
        ("CRASH", "ends the process that calls it (signal 11)"),
    ],
)
def test_a_plugin_that_harms_jobs_is_refused(tmp_path: Path, macro: str, expected: str) -> None:
    with pytest.raises(TunerError, match=r"libnccl-tuner-test\.so") as raised:
        examine(built(tmp_path, macro))
    assert expected in str(raised.value) and "\n" not in str(raised.value)


def test_a_plugin_that_decides_otherwise_fails_the_proof(tmp_path: Path) -> None:
    library = built(tmp_path, "LAST")
    with pytest.raises(TunerError, match=r"but the file means"):
        prove(TunerPlugin(library, 5), write(LINES, []))


def test_other_files_are_no_plugins(tmp_path: Path) -> None:
    missing = tmp_path / "libnccl-tuner-none.so"
    with pytest.raises(TunerError, match="cannot be used as a tuner plugin"):
        examine(missing)
    missing.write_text("x")
    with pytest.raises(TunerError, match="cannot be used as a tuner plugin"):
        examine(missing)
    with pytest.raises(TunerError, match=r"is not named libnccl-tuner-NAME\.so"):
        examine(tmp_path / "libmine.so")
