# SPDX-License-Identifier: Apache-2.0
"""Cost of the library for programs that have nothing to forward.

Each program runs in rounds, once with the library and once without, in random order. Its calls are small, or on files
outside of the forwarded directories.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.forwarding.disturbed import Server, site
from reprise.tuner.model.statistics import paired_gain

SMALL_CALLS = """
import os
file = os.open("{place}/small", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
piece = b"x" * 4096
for number in range(600_000):
    os.pwrite(file, piece, 4096 * (number % 1000))
for number in range(600_000):
    os.pread(file, 4096, 4096 * (number % 1000))
os.close(file)
"""
OPENS = """
import os
for number in range(180_000):
    file = os.open("{place}/file" + str(number % 100), os.O_RDWR | os.O_CREAT)
    os.write(file, b"x")
    os.close(file)
"""
STREAMS = """
with open("{place}/lines", "w") as file:
    for number in range(3_600_000):
        file.write("a line of text with the number %d\\n" % number)
print(sum(len(line) for line in open("{place}/lines")))
"""
LARGE_ELSEWHERE = """
import os
file = os.open("{elsewhere}/large", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
piece = b"x" * 262144
for number in range(24_000):
    os.pwrite(file, piece, 262144 * (number % 100))
os.close(file)
"""
PROGRAMS = {"small calls": SMALL_CALLS, "opens": OPENS, "streams": STREAMS, "large elsewhere": LARGE_ELSEWHERE}


def measured(rounds: int) -> Mapping[str, Any]:
    """Return, by program, the additional run time with the library in percent, with the bounds of its median."""
    with site() as (found, program):
        server = Server(program, found.directory / "server", found.files)
        server.start()
        found.map(server.address)
        elsewhere = found.directory / "elsewhere"
        elsewhere.mkdir()
        environment = found.environment({"REPRISE_FORWARD_REPORT": ""})
        bare = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
        try:
            return {
                name: _compared(
                    ["/usr/bin/python3", "-c", text.format(place=found.files, elsewhere=elsewhere)],
                    bare,
                    environment,
                    found.directory,
                    rounds,
                )
                for name, text in PROGRAMS.items()
            }
        finally:
            server.end()


def _compared(
    words: Sequence[str], bare: Mapping[str, str], loaded: Mapping[str, str], place: Path, rounds: int
) -> Sequence[float]:
    times: dict[str, list[float]] = {"bare": [], "loaded": []}
    for _ in range(rounds):
        for name in random.sample(list(times), 2):
            begun = time.perf_counter()
            subprocess.run(
                words, env=dict(bare if name == "bare" else loaded), cwd=place, stdout=subprocess.DEVNULL, check=True
            )
            times[name].append(time.perf_counter() - begun)
    gain, low, high = paired_gain(times["bare"], times["loaded"])
    return [round(-100 * value, 2) for value in (gain, high, low)]
