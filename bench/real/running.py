# SPDX-License-Identifier: Apache-2.0
"""Run real programs as an ordinary user's jobs: install a program once, then submit its jobs one by one."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from bench.real.catalogue import Program
from bench.small_reads import make_cold
from tests.cluster.machine import CHECKOUT, PATH, VirtualCluster
from tests.cluster.spec import SOURCE
from tests.waiting import NotSeenError

USER = "alice"
OFF = "--reprise=off"
TIMED = re.compile(r"^real\s+(\d+)m([\d.]+)s$", re.MULTILINE)
MAKE_TIMEOUT_S = 300


class ProgramError(RuntimeError):
    """A program failed or its result was wrong; the message contains the end of its output."""


def directory(program: Program) -> str:
    """Return the directory of the program's files on the cluster."""
    return f"/home/{USER}/real/{program.name}"


def prepare(cluster: VirtualCluster, program: Program) -> None:
    """Create the program's input files and batch script in the user's directory on the cluster."""
    for name, text in {"job.sh": script(program), **program.files}.items():
        cluster.write(f"{directory(program)}/{name}", text.removeprefix("\n"), user=USER)
    if program.make:
        cluster.run(
            ["bash", "-ec", program.make],
            user=USER,
            cwd=directory(program),
            timeout_s=MAKE_TIMEOUT_S,
            env=places(program),
        )
    data = CHECKOUT / "build/real" / program.name
    if program.data and not data.exists():
        made = data.with_name(f"{program.name}.new")
        made.mkdir(parents=True, exist_ok=True)
        argv = ["bash", "-ec", program.data]
        subprocess.run(argv, cwd=made, env={"PATH": PATH}, check=True, timeout=MAKE_TIMEOUT_S)
        made.rename(data)
    # An administrator's trials run in this directory as the service user, who needs write access, because programs
    # write next to their input.
    cluster.run(["chmod", "-R", "a+rwX", directory(program)])


def script(program: Program) -> str:
    """Return the program's batch script; if the program has data files, the script sets the variables of `places`."""
    told = "".join(f"export {name}={value}\n" for name, value in places(program).items())
    lines = program.script.splitlines(keepends=True)
    last = max((number for number, line in enumerate(lines) if line.startswith("#")), default=-1)
    return "".join([*lines[: last + 1], told, *lines[last + 1 :]]) if program.data else program.script


def places(program: Program) -> dict[str, str]:
    """Return the variables for batch scripts: DATA is the path of the data files' directory on the cluster."""
    return {"DATA": f"{SOURCE}/build/real/{program.name}"}


def run_program(cluster: VirtualCluster, program: Program, environment: Mapping[str, str], *options: str) -> float:
    """Run a program and return the seconds that its script measures.

    `environment` is added to the environment of `sbatch`, and `options` are options of `sbatch`. `prepare` must have
    been called on this cluster. Raises ProgramError if the job fails, has a wrong result, or does not end in time; a
    job that does not end is cancelled.
    """
    for file in (CHECKOUT / "build/real" / program.name).glob("*"):
        make_cold(file)
    job = cluster.submit("job.sh", *options, user=USER, cwd=directory(program), env={**places(program), **environment})
    try:
        end = cluster.wait_job(job, timeout_s=program.timeout_s)
    except NotSeenError as error:
        cluster.run(["scancel", str(job)])
        cluster.wait_job(job)
        raise ProgramError(f"{program.name}: job {job} had not ended after {program.timeout_s} s") from error
    times = TIMED.findall(end.output)
    if end.state != "COMPLETED" or not times or not re.search(program.right, end.output):
        raise ProgramError(f"{program.name}: job {job} is {end.state} without a right result: {end.output[-1500:]}")
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in times)
