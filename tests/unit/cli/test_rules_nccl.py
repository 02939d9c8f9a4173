# SPDX-License-Identifier: Apache-2.0
"""Test `reprise rules nccl`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from reprise.cli.main import reprise
from reprise.tuner.errors import TunerError
from tests.places import ROOT

GOOD = "# comment\nallreduce,393217,12582912,tree,ll128,64,2,16,-1,-1\n"
PAGE = (ROOT / "docs/reference/nccl-tuner-files.md").read_text()
EXAMPLE = "--collective allreduce --size 1048576 --nodes 2 --ranks 16"


def run(file: Path, arguments: str = "") -> Result:
    return CliRunner().invoke(reprise, ["rules", "nccl", str(file), *arguments.split()])


def test_a_file_is_checked(tmp_path: Path) -> None:
    file = tmp_path / "tuner.conf"
    file.write_text(GOOD)
    assert (run(file).output, run(file).exit_code) == ("no mistakes in 1 line\n", 0)
    file.write_text(GOOD.replace("tree", "Tree"))
    assert "line 2: algorithm 'Tree' is unknown" in run(file).output and run(file).exit_code == 3
    assert json.loads(run(file, "--json").output)["mistakes"][0]["number"] == 2


def test_the_line_that_decides_is_printed_as_documented(tmp_path: Path) -> None:
    file = tmp_path / "tuner.conf"
    file.write_text(GOOD)
    assert f"$ reprise rules nccl FILE {EXAMPLE}\n{run(file, EXAMPLE).output}" in PAGE
    assert run(file, EXAMPLE.replace("16", "8")).output == "no line decides: NCCL chooses\n"
    file.write_text("broadcast,0,9,tree,simple,1,-1,-1\nbroadcast,0,9,ring,simple,1,-1,-1\n")
    assert run(file, "--collective broadcast").output.startswith("line 2: ")  # NCCL has no tree for broadcast


def test_what_cannot_be_answered_gives_one_line(tmp_path: Path) -> None:
    for found in (run(tmp_path / "none"), run(ROOT / "README.md", "--collective alltoall")):
        assert isinstance(found.exception, TunerError) and "\n" not in str(found.exception)
