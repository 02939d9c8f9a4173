# SPDX-License-Identifier: Apache-2.0
"""Check that srun has the MPI plugin with which campaigns start their trials by default.

`srun --mpi=list` also lists a plugin that needs a library that is missing; only a launch shows that. `srun --test-only`
loads the plugin and asks Slurm when the step could start, but starts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reprise.doctor.findings import Finding, ok, warning
from reprise.doctor.probes import Ran, Run
from reprise.tuner.executors import launch_failures

CHECK = "launcher"


def launchers(run: Run, mpi: str, mpirun: str) -> Iterator[Finding]:
    """Check that `srun --mpi=MPI` can start programs; otherwise, report whether mpirun could.

    Yield nothing if srun shows no plugins, because another check reports that Slurm does not work. `mpirun` is the
    configured command.
    """
    plugins = listed(run(["srun", "--mpi=list"]))
    if not plugins:
        return
    command = f"srun --mpi={mpi}"
    why = f"it has {', '.join(plugins)}"
    if mpi in plugins:
        tried = run(["env", "REPRISE=off", "srun", f"--mpi={mpi}", "--test-only", "--ntasks=1", "true"])
        why = launch_failures.cause(tried.stderr)
    if not why:
        yield ok(CHECK, command)
        return
    has_mpirun = run([mpirun, "--version"]).status == 0
    other = "" if has_mpirun else f", and {mpirun} does not run either"
    text = f"campaigns start their trials with `{command}` by default, which this Slurm cannot ({why}){other}"
    yield warning(CHECK, text, launch_failures.plugin_advice(mpi))


def listed(ran: Ran) -> list[str]:
    """Return the plugins that `srun --mpi=list` printed, sorted; Slurm 20.11 prints them on standard error."""
    if ran.status != 0:
        return []
    lines = [line.removeprefix("srun: ").strip() for line in (ran.stdout + "\n" + ran.stderr).splitlines()]
    versions = [line.partition("available:")[2] for line in lines if "available:" in line]
    words = [line for line in lines if re.fullmatch(r"[\w.-]+", line)]
    return sorted({*words, *re.findall(r"[\w.-]+", " ".join(versions))})
