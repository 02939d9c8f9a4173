# SPDX-License-Identifier: Apache-2.0
"""Run the fuzzers (`make fuzz`), and optionally add the inputs that they find to the corpus (`make fuzz-corpus`)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.harnesses import BUILD, CORPUS, FORWARDER, HARNESSES, SEEDS, SPANK, build

SECONDS = 600  # total time of fuzzing for all harnesses
# Limits for an input in seconds, for a process in MiB, and for an allocation in MiB.
LIMITS = ("-timeout=10", "-rss_limit_mb=1024", "-malloc_limit_mb=16")
FOUND = BUILD / "found"
CRASHES = BUILD / "crashes"
LOGS = BUILD / "logs"
NOT_UTF8 = ("\\xed\\xa0\\x80", "\\xc0\\xaf", "\\xe0\\x82\\x85", "\\xf4\\x90\\x80\\x80", "\\xff", "\\xc2\\x85")


@dataclass(frozen=True)
class Run:
    """The result of a harness. `crash` is the input that crashed it, or another error; "" if there was no error."""

    harness: str
    executions: int = 0
    reached: int = 0
    edges: int = 0
    crash: str = ""

    def __str__(self) -> str:
        coverage = f"{self.reached:5,} of {self.edges:5,} edges"
        return f"{self.harness:13} {self.executions:12,} executions  {coverage}  {self.crash or 'no crash'}"


def dictionary() -> Path:
    """Write a libFuzzer dictionary with words from the sources, and with bytes that only resemble UTF-8."""
    sources = [*SPANK.glob("*.c"), *(FORWARDER / name for name in ("burst.c", "settings.c", "../nine.h"))]
    text = "".join(path.read_text() for path in sorted(sources))
    literals = re.findall(r'"((?:[\w .:=/@-]|\\u)+)"', re.sub(r"#include.*|//.*", "", text))
    words = {word for literal in literals for word in (literal, *literal.split()) if len(word) < 40}
    escaped = sorted(word.replace("\\", "\\\\") for word in words)
    path = BUILD / "words.dict"
    path.write_text("".join(f'"{word}"\n' for word in (*escaped, *NOT_UTF8)))
    return path


def fuzz(harness: str, seconds: int, words: Path) -> Run:
    log = LOGS / harness
    (FOUND / harness).mkdir(parents=True, exist_ok=True)
    command = [
        str(BUILD / "fuzz" / harness),
        *LIMITS,
        f"-max_total_time={seconds}",
        f"-dict={words}",
        f"-artifact_prefix={CRASHES}/{harness}-",
        "-print_final_stats=1",
        str(FOUND / harness),
        *(str(directory / harness) for directory in (CORPUS, SEEDS)),
    ]
    with log.open("wb") as out:
        done = subprocess.run(command, stdout=out, stderr=out, timeout=seconds + 120, check=False)
    return read_log(harness, log, done.returncode)


def read_log(harness: str, log: Path, code: int) -> Run:
    said = log.read_text(errors="replace")

    def last(pattern: str) -> int:
        found = re.findall(pattern, said)
        return int(found[-1]) if found else 0

    crash = ""
    if code:
        written = re.findall(r"Test unit written to (\S+)", said)
        why = re.findall(r"does not hold: .*|runtime error: .*|ERROR: .*", said)
        crash = f"{written[-1] if written else f'exit code {code}, see {log}'}: {why[0] if why else 'no reason given'}"
    executions = last(r"number_of_executed_units: (\d+)") or last(r"(?m)^#(\d+)\s")
    return Run(harness, executions, last(r"cov: (\d+)"), last(r"\((\d+) inline 8-bit counters\)"), crash)


def keep(harness: str) -> None:
    """Replace a harness's corpus with a small subset of the old and the newly found inputs, with the same coverage."""
    small = BUILD / "smaller" / harness
    small.mkdir(parents=True, exist_ok=True)
    for old in small.iterdir():
        old.unlink()
    command = [str(BUILD / "fuzz" / harness), *LIMITS, "-set_cover_merge=1", str(small), str(CORPUS / harness)]
    subprocess.run([*command, str(FOUND / harness)], capture_output=True, timeout=600, check=True)
    for old in (CORPUS / harness).iterdir():
        old.unlink()
    for new in small.iterdir():
        (CORPUS / harness / new.name).write_bytes(new.read_bytes())


def main(keeping: bool) -> int:
    total = int(os.environ.get("FUZZ_SECONDS", SECONDS))
    at_once = os.cpu_count() or 1
    each = max(1, total * min(at_once, len(HARNESSES)) // len(HARNESSES))
    build("fuzz")
    for directory in (CRASHES, LOGS, *(top / name for top in (CORPUS, SEEDS) for name in HARNESSES)):
        directory.mkdir(parents=True, exist_ok=True)
    words = dictionary()
    print(f"fuzz: {len(HARNESSES)} harnesses, {each} s each, {at_once} at once", flush=True)  # noqa: T201
    crashed = False
    with ThreadPoolExecutor(at_once) as pool:
        for run in pool.map(lambda harness: fuzz(harness, each, words), HARNESSES):
            print(run, flush=True)  # noqa: T201
            crashed = crashed or bool(run.crash)
    if keeping and not crashed:
        for harness in HARNESSES:
            keep(harness)
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main(keeping="--keep" in sys.argv[1:]))
