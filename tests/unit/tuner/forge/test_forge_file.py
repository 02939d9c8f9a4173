# SPDX-License-Identifier: Apache-2.0
"""Test that both forms of pattern files are read, and that invalid files are refused in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.forge.forge_file import read
from reprise.tuner.forge.forge_pattern import Exploration, Layout, Operation, Phase, Step

FLAT = {
    "forwarders": 2,
    "handlers": 1,
    "dispatchers": 16,
    "path": "/scratch/data",
    "number_of_files": "shared",
    "spatiality": "strided",
    "operations": "write",
    "total_size": 3221225472,
    "request_size": 131072,
    "direct_io": 1,
    "stone_wall": 60,
    "validation": 0,
}


def changed(**keys: Any) -> str:
    return json.dumps({key: value for key, value in (FLAT | keys).items() if value is not None})


def test_one_pattern_is_opened_moved_and_closed() -> None:
    opened, closed = (
        Step(operation, "/scratch/data", Layout.SHARED_STRIDED) for operation in (Operation.OPEN, Operation.CLOSE)
    )
    moved = Step(Operation.WRITE, "/scratch/data", Layout.SHARED_STRIDED, 3221225472, 131072)
    expected = Exploration(2, [Phase(1, [opened, moved, closed])], direct_io=True, stone_wall=60.0)
    assert read(changed(), "forge.json") == expected


def test_phases_have_repetitions_and_patterns() -> None:
    file = {"path": "f", "number_of_files": "individual"}
    phase = {
        "repetitions": 3,
        "patterns": [
            file | {"operation": "open"},
            file | {"operation": "read", "total_size": 40, "request_size": 10},
            file | {"operation": "close"},
        ],
    }
    found = read(json.dumps({"forwarders": 0, "validation": 1, "phases": [phase]}), "forge.json")
    assert found.validation
    assert found.phases == [
        Phase(
            3,
            [
                Step(Operation.OPEN, "f", Layout.INDIVIDUAL),
                Step(Operation.READ, "f", Layout.INDIVIDUAL, 40, 10),
                Step(Operation.CLOSE, "f", Layout.INDIVIDUAL),
            ],
        )
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a JSON object"),
        (changed(number_of_files="individual"), "individual files cannot be strided"),
        (changed(handlers=129), "'handlers'"),
        (changed(dispatchers=0), "'dispatchers'"),
        (changed(forwarders=-1), "'forwarders'"),
        (changed(forwarders=True), "'forwarders'"),
        (changed(request_size=0), "'request_size'"),
        (changed(total_size=2**63), "'total_size'"),
        (changed(total_size=1.5), "'total_size'"),
        (changed(total_size=None), "'total_size' is missing"),
        (changed(stone_wall=0), "'stone_wall'"),
        (changed(pause=0), "'pause'"),
        (changed(pause=1e10), "'pause'"),
        (changed(path=""), "'path'"),
        (changed(path="a\nb"), "'path'"),
        (changed(request_sizes=1), "unknown setting 'request_sizes': did you mean 'request_size'?"),
        ('{"forwarders": 1, "phases": []}', "'phases'"),
        (
            '{"forwarders": 1, "phases": [{"patterns": [{"operation": "read", "path": "f", "number_of_files": '
            '"shared"}]}]}',
            "total_size and request_size are missing for read",
        ),
    ],
)
def test_invalid_files_are_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(TunerError) as raised:
        read(text, "forge.json")
    message = str(raised.value)
    assert message.startswith("forge.json: ") and problem in message and "\n" not in message
