# SPDX-License-Identifier: Apache-2.0
"""Submit jobs, one after the other or many at once, in a separate process, so that nothing else delays it.

    python3 submitter.py < PLAN

PLAN is a JSON object: `submissions`, a list of lists of a command's words, each preceded by its value of SLURM_CONF
("": not set), `parallel`, the number of simultaneous submissions, and `pause_s`, the pause after each, so that work of
Slurm and the daemon after a submission does not delay the next. Prints, for each, the milliseconds from its start to
its end, its exit status (negative: the signal that ended it), standard output and standard error. Uses only the
standard library, because it runs as users of the cluster.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

WROTE_MAX = 65536  # the capacity of a pipe, because nobody reads before the end


def submit(words: Sequence[str], pause_s: float) -> tuple[float, int, str, str]:
    """Run one submission and return its milliseconds, exit status and output."""
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
    """Run the plan and print the results."""
    plan = json.load(sys.stdin)
    gc.disable()
    with ThreadPoolExecutor(plan["parallel"]) as pool:
        done = list(pool.map(lambda words: submit(words, plan["pause_s"]), plan["submissions"]))
    json.dump(done, sys.stdout)


if __name__ == "__main__":
    main()
