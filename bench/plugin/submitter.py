# SPDX-License-Identifier: Apache-2.0
"""Submit jobs, one after the other or several at once, in a process that does nothing else, and measure the times.

    python3 submitter.py < PLAN

PLAN is a JSON object. `submissions` is a list of submissions, each a list with the value of SLURM_CONF ("": not set)
and the words of a command. `parallel` is the number of simultaneous submissions. `pause_s` is the pause after each
submission, in which Slurm and the daemon complete the work that would otherwise delay the next submission. For each
submission, the program prints the milliseconds from start to end, the exit status (negative: the signal that ended it),
standard output and standard error. It uses only the standard library, because it runs with the system's Python, as a
user of the cluster.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

WROTE_MAX = 65536  # most bytes of output: the capacity of a pipe, which is read only after the command has ended


def submit(words: Sequence[str], pause_s: float) -> tuple[float, int, str, str]:
    """Run one submission; return its milliseconds, exit status, standard output and standard error."""
    conf, *argv = words
    environment = {**os.environ, "SLURM_CONF": conf} if conf else dict(os.environ)
    pipes = [os.pipe(), os.pipe()]
    actions = [(os.POSIX_SPAWN_DUP2, pipe[1], number) for number, pipe in enumerate(pipes, 1)]
    begun = time.perf_counter()
    process = os.posix_spawn(argv[0], argv, environment, file_actions=actions)
    _, status = os.waitpid(process, 0)
    took_ms = (time.perf_counter() - begun) * 1e3
    for _, write in pipes:
        os.close(write)
    out, error = (os.read(read, WROTE_MAX).decode(errors="replace") for read, _ in pipes)
    for read, _ in pipes:
        os.close(read)
    time.sleep(pause_s)
    return round(took_ms, 3), os.waitstatus_to_exitcode(status), out, error


def main() -> None:
    """Run the plan on standard input and print the results as JSON."""
    plan = json.load(sys.stdin)
    gc.disable()
    with ThreadPoolExecutor(plan["parallel"]) as pool:
        done = list(pool.map(lambda words: submit(words, plan["pause_s"]), plan["submissions"]))
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
