# SPDX-License-Identifier: Apache-2.0
"""Test the arguments of `reprise-forge` for a pattern, and the reading of its output."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from reprise.tuner.errors import ObjectiveError, TunerError
from reprise.tuner.forge import forge_file
from reprise.tuner.forge.forge_command import arguments, explored, paths
from tests.places import ROOT

HEADER = (ROOT / "tuner/programs/forge/forge_plan.h").read_text()
PROGRAM_SOURCE = (ROOT / "tuner/programs/forge/forge.c").read_text()
FLAT = {
    "forwarders": 2,
    "path": "/scratch/a:b c",
    "number_of_files": "shared",
    "spatiality": "strided",
    "total_size": 400,
    "request_size": 100,
    "direct_io": 1,
    "stone_wall": 60,
    "pause": 0.25,
    "validation": 1,
}
OUTPUT = {
    "clients": 4,
    "write_bytes": 400,
    "write_s": 0.5,
    "write_mb_s": 0.0008,
    "read_bytes": 0,
    "read_s": 0.0,
    "read_mb_s": None,
    "mb_s": 0.0008,
    "stopped": False,
}


def output(**keys: Any) -> str:
    return json.dumps({key: value for key, value in (OUTPUT | keys).items() if value != "absent"})


def test_a_pattern_becomes_options_and_steps() -> None:
    assert arguments(forge_file.read(json.dumps(FLAT), "a.json")) == [
        *("--direct", "--validate", "--stone-wall", "60.0", "--pause", "0.25", "--"),
        *("open:strided:/scratch/a:b c", "write:strided:400:100:/scratch/a:b c", "close:strided:/scratch/a:b c"),
    ]


def test_phases_keep_their_repetitions() -> None:
    one = {"path": "/f", "number_of_files": "individual"}
    moved = {"operation": "read", "total_size": 40, "request_size": 10}
    phases = [
        {"repetitions": 3, "patterns": [one | {"operation": "open"}, one | moved]},
        {"patterns": [one | {"operation": "close"}]},
    ]
    found = forge_file.read(json.dumps({"forwarders": 0, "phases": phases}), "a.json")
    steps = ["phase:3", "open:individual:/f", "read:individual:40:10:/f", "phase:1", "close:individual:/f"]
    assert arguments(found) == ["--", *steps]
    assert paths(found) == ["/f"]


def test_the_programs_limits_are_those_of_pattern_files() -> None:
    said = dict(re.findall(r"#define FORGE_(\w+)_MAX (.+)", HEADER))
    assert said == {
        "REQUEST": "((uint64_t)1 << 30)",
        "REPETITIONS": str(forge_file.MOST_REPETITIONS),
        "PATH": str(forge_file.LONGEST_PATH),
    }
    assert forge_file.LARGEST_REQUEST == 1 << 30
    assert f"#define LONGEST_S {forge_file.LONGEST_S:.0e} ".replace("e+0", "e") in PROGRAM_SOURCE


@pytest.mark.parametrize("keys", [{"request_size": 2**30 + 1}, {"path": "/" + 2000 * "\u00e9"}])
def test_patterns_that_the_program_refuses_are_refused_before(keys: dict[str, Any]) -> None:
    with pytest.raises(TunerError, match=r"^a\.json: [^\n]+$"):
        forge_file.read(json.dumps(FLAT | keys), "a.json")


def test_the_output_has_the_bandwidths() -> None:
    found = explored(f"a module was loaded\n{output()}\n")
    assert (found.clients, found.mb_s, found.write_mb_s, found.read_mb_s) == (4, 0.0008, 0.0008, None)


@pytest.mark.parametrize(
    "stdout",
    [
        "",
        f"{output()}\n{output()}",
        "{",
        "{}",
        output(mb_s=None),
        output(mb_s=0),
        output(mb_s="absent"),
        output(more=1),
        output(mb_s=float("nan")),
        output(clients=True),
    ],
)
def test_any_other_output_is_no_result(stdout: str) -> None:
    with pytest.raises(ObjectiveError, match=r"^reprise-forge[^\n]+$"):
        explored(stdout)
