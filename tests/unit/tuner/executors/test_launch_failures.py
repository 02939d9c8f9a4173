# SPDX-License-Identifier: Apache-2.0
"""Test the advice that is given if a launcher fails, with error messages of real launchers."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.tuner.errors import TunerError
from reprise.tuner.executors import launch_failures
from reprise.tuner.executors.executor import ended
from reprise.tuner.executors.process_executor import Processes
from reprise.tuner.model.component import TrialOutput

NO_LIBRARY = """\
srun: error:  mpi/pmix_v5: init: (null) [0]: mpi_pmix.c:193: pmi/pmix: can not load PMIx library
srun: error: Couldn't load specified plugin name for mpi/pmix: Plugin init() callback failed
srun: error: MPI: Cannot create context for mpi/pmix
srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types
"""
NO_SLOTS = """\
--------------------------------------------------------------------------
There are not enough slots available in the system to satisfy the 8
slots that were requested by the application:

  ./bench

Either request fewer procs for your application, or make more slots
available for use.
--------------------------------------------------------------------------
"""
NO_DAEMON = """\
bash: line 1: /opt/openmpi/bin/orted: No such file or directory
--------------------------------------------------------------------------
ORTE was unable to reliably start one or more daemons.
This usually is caused by:
--------------------------------------------------------------------------
"""
TO_MPIRUN, TO_SRUN = "`launcher: mpirun`", "`launcher: srun`"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (NO_LIBRARY, "can not load PMIx library", (TO_MPIRUN, "Debian 12: libpmix-dev", "EL: pmix")),
        ("srun: error: invalid MPI type 'pmix', --mpi=list for", "invalid MPI type", (TO_MPIRUN, "libpmix-dev")),
        ("srun: error: Invalid MPI type 'openmpi'", "Invalid MPI type", (TO_MPIRUN, "srun --mpi=list")),
        (
            "srun: error: Couldn't find the specified plugin name for mpi/pmix_v4 looking at all files\n"
            "srun: error: cannot find mpi plugin for mpi/pmix_v4\n",
            "Couldn't find",
            (TO_MPIRUN, "plugin pmix_v4"),
        ),
        ("trial.sh: line 20: mpirun: command not found", "command not found", (TO_SRUN, "openmpi.mpirun")),
        ("sh: 1: mpirun: not found", "not found", (TO_SRUN, "openmpi.mpirun")),
        (
            "timeout: failed to run command \u2018mpirun\u2019: No such file or directory",
            "timeout",
            (TO_SRUN, "Open MPI"),
        ),
        ("timeout: failed to run command 'srun': No such file or directory", "timeout", (TO_MPIRUN, "commands")),
        (NO_SLOTS, "There are not enough slots", (TO_SRUN, "tasks_per_node")),
        (NO_DAEMON, "/opt/openmpi/bin/orted: No such file", (TO_SRUN, "same path on all nodes")),
        ("An ORTE daemon has unexpectedly failed after launch and before", "An ORTE daemon", (TO_SRUN,)),
        ("A PRTE daemon has unexpectedly failed after launch and before", "A PRTE daemon", (TO_SRUN,)),
    ],
)
def test_a_launcher_that_fails_says_what_else_there_is(text: str, line: str, words: tuple[str, ...]) -> None:
    assert line in launch_failures.cause(text)
    message = ended(TrialOutput(1, "", text, 0.1, Path())).message
    assert message == f"exit status 1: {launch_failures.cause(text)}"
    assert [word for word in words if word not in launch_failures.advice(message)] == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "srun: error: node1: task 1: Exited with exit code 1",
        "slurmstepd: error: execve(): ./bench: No such file or directory",
        "srun: error: Unable to create step for job 7: Invalid account",
        "libmpi.so.40: cannot open shared object file: No such file or directory",
        "python: mpirun.py: No such file or directory",
        "mpirun was unable to launch the specified application as it could not access an executable",
    ],
)
def test_other_failures_get_no_advice_on_launchers(text: str) -> None:
    assert (launch_failures.cause(text), launch_failures.advice(text)) == ("", "")


def test_a_launcher_that_this_host_lacks_is_reported_with_the_other_launcher(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match=r"/nowhere/mpirun: cannot be run \(No such file.*\): .*`launcher: srun`"):
        Processes().start("1", ["/nowhere/mpirun", "-np", "2", "true"], {}, tmp_path, 1.0)
