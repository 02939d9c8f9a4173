# SPDX-License-Identifier: Apache-2.0
"""Examination of a site's tuner plugin, and the proof that it decides by a file as expected, without a GPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reprise.tuner.errors import TunerError
from reprise.tuner.nccl.tuner_decision import Call, Combination, channels, decide
from reprise.tuner.nccl.tuner_lines import ALGORITHMS, COLLECTIVES, LARGEST, PROTOCOLS, Line, read, write

TIMEOUT_S = 60.0
FILE_VARIABLE = "NCCL_TUNER_CONFIG_FILE"
NAMED = re.compile(r"libnccl-tuner-([A-Za-z0-9_.-]+)\.so")
SAMPLE = Line("allreduce", 0, LARGEST, "ring", "ll", 3)
Answer = tuple[str, str, int]
"""Algorithm, protocol and number of channels; the names are empty if the plugin leaves the choice to NCCL."""


@dataclass(frozen=True)
class TunerPlugin:
    """A tuner plugin that was examined: its library, and the version of NCCL's interface that it was called with."""

    library: Path
    version: int

    @property
    def name(self) -> str:
        """Value of NCCL_TUNER_PLUGIN, with which NCCL looks for the library in the directories of the loader."""
        return name_of(self.library)


def name_of(library: Path) -> str:
    """Return the name of a tuner plugin. Raise TunerError unless its file is named as NCCL requires."""
    if not (found := NAMED.fullmatch(library.name)):
        raise TunerError(f"{library}: is not named libnccl-tuner-NAME.so, so NCCL would not find it: rename it")
    return found[1]


def examine(library: Path) -> TunerPlugin:
    """Call a tuner plugin, and return it if jobs may use it. Raise TunerError if not.

    It must survive a call, follow a sample file, and leave everything to NCCL that the file does not mention.
    """
    name_of(library)
    call = Call("allreduce", 1024, 2, 8)
    version, answered = _ask(library, write([SAMPLE], []), [(call, ()), (Call("broadcast", 1024, 2, 8), ())])
    if answered[0] != (SAMPLE.algorithm, SAMPLE.protocol, SAMPLE.channels):
        raise TunerError(
            f"{library}: does not follow its file: build the plugin ext-tuner/example of NCCL 2.27 or later"
        )
    if answered[1] != ("", "", 0):
        raise TunerError(
            f"{library}: changes calls that its file does not mention ({answered[1][2]} channels), which slows jobs "
            "down: set `*nChannels = 0` at the beginning of its pluginGetCollInfo, and build it again"
        )
    return TunerPlugin(library, version)


def prove(plugin: TunerPlugin, text: str) -> int:
    """Check that the plugin decides by a file exactly as Reprise does; return the number of calls compared.

    The calls are at and around the borders of each line, both with the line's combination usable and with it not
    usable. Raise TunerError if one decision differs.
    """
    lines = read(text.encode())
    asked = [(call, ignored) for line in lines for call in _around(line) for ignored in ((), _combination(line))]
    _, answered = _ask(plugin.library, text, asked)
    for (call, ignored), answer in zip(asked, answered, strict=True):
        decided = decide(lines, call, ignored)
        expected = (decided.algorithm, decided.protocol) if decided else ("", "")
        if answer != (*expected, channels(decided, 0)):
            raise TunerError(f"{plugin.library}: decides {call} as {answer}, but the file means {decided}: report this")
    return len(asked)


def _combination(line: Line) -> Sequence[Combination]:
    return [(line.algorithm, line.protocol)]


def _around(line: Line) -> list[Call]:
    nodes, ranks = max(line.nodes, 1), max(line.ranks, 1)
    sizes = sorted({max(line.low - 1, 0), line.low, line.high, min(line.high + 1, LARGEST)})
    calls = [Call(line.collective, size, nodes, ranks) for size in sizes]
    return [
        *calls,
        Call(line.collective, line.low, nodes + 1, ranks),
        Call(line.collective, line.low, nodes, ranks + 1),
    ]


def _ask(library: Path, text: str, asked: Sequence[tuple[Call, Sequence[Combination]]]) -> tuple[int, list[Answer]]:
    """Return the interface's version and the plugin's answers to calls with ignored combinations, by a file's text."""
    question = {"library": str(library), "calls": [_numbers(call, ignored) for call, ignored in asked]}
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        answer = _child(library, json.dumps(question), file.name)
    if "error" in answer:
        raise TunerError(f"{library}: cannot be used as a tuner plugin of NCCL: {answer['error']}")
    return answer["version"], [_named(*one) for one in answer["answers"]]


def _child(library: Path, question: str, file: str) -> dict[str, Any]:
    argv = [sys.executable, "-I", "-m", "reprise.tuner.nccl.plugin_calls"]
    environment = {**os.environ, FILE_VARIABLE: file}
    try:
        done = subprocess.run(
            argv, input=question, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise TunerError(f"{library}: does not answer within {TIMEOUT_S:g} s: use another tuner plugin") from error
    if done.returncode < 0:
        raise TunerError(
            f"{library}: ends the process that calls it (signal {-done.returncode}), as the example plugin of early "
            "releases does: build a later one, whose pluginGetCollInfo uses the costs as one table of two dimensions"
        )
    try:
        return dict(json.loads(done.stdout))
    except ValueError as error:
        words = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[-1]
        raise TunerError(f"{library}: cannot be called ({words})") from error


def _numbers(call: Call, ignored: Sequence[Combination]) -> dict[str, Any]:
    table = [(ALGORITHMS.index(algorithm), PROTOCOLS.index(protocol)) for algorithm, protocol in ignored]
    return {**vars(call), "collective": COLLECTIVES.index(call.collective), "ignored": table}


def _named(algorithm: int, protocol: int, count: int) -> Answer:
    return (ALGORITHMS[algorithm], PROTOCOLS[protocol], count) if algorithm >= 0 else ("", "", count)
