# SPDX-License-Identifier: Apache-2.0
"""Interpreters and their options; the script that an interpreter runs is the job's program."""

from __future__ import annotations

import re

PYTHON = re.compile(
    r"(?:(?:tau|mpi)_|(?:gpaw|ccp4|vmtk|cray|intel|mpi|tau)-|[a-z0-9]{1,16}\.)?(?:i?python|pypy)(?:[0-9.]+[dmu]{0,2})?(?:-\w+)?\Z"
)
"""Pattern of names of Python, including those of applications' own interpreters, such as `gpaw-python`."""
# Options of each interpreter that are followed by a value. `python3.11` counts as `python`.
INTERPRETERS: dict[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X", "-Q", "--check-hash-based-pycs"}),
    "bash": frozenset({"-o", "-O", "+o", "+O", "--rcfile", "--init-file"}),
    "sh": frozenset({"-o", "+o"}),
    "dash": frozenset({"-o", "+o"}),
    "ksh": frozenset({"-o", "+o"}),
    "zsh": frozenset({"-o", "+o"}),
    "perl": frozenset({"-I", "-M"}),
    "ruby": frozenset({"-I", "-r"}),
    "Rscript": frozenset({"-e"}),
    "julia": frozenset(
        {
            *("-p", "-t", "--threads", "-L", "--load", "-J", "--sysimage", "-O", "-C", "--procs", "--machine-file"),
            *("--cpu-target", "--startup-file", "--heap-size-hint", "--compile", "--check-bounds", "--gcthreads"),
        }
    ),
    "java": frozenset(
        {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-opens", "--add-exports"}
    ),
    "lua": frozenset({"-l"}),
    "node": frozenset({"-r", "--require"}),
    **dict.fromkeys(("csh", "tcsh"), frozenset()),
    **dict.fromkeys(("pvbatch", "pvpython"), frozenset({"--mpi-lib"})),
    **dict.fromkeys(
        ("sage", "mono", "dotnet", "tclsh", "expect", "php", "groovy", "scala", "gap", "maple"), frozenset()
    ),
    **dict.fromkeys(("nrniv", "special"), frozenset({"-NSTACK", "-NFRAME", "-dll", "-c"})),
}
# Modules that run another program, as in `python -m mpi4py script.py`, and their options that are followed by a value.
PYTHON_RUNNERS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("mpi4py", "mpi4py.run", "mpi4py.futures"), frozenset({"-rc", "--rc"})),
    **dict.fromkeys(("cProfile", "profile"), frozenset({"-o", "--outfile", "-s", "--sort"})),
    "pdb": frozenset({"-c", "--command"}),
    "trace": frozenset({"-f", "--file", "-C", "--coverdir", "--ignore-module", "--ignore-dir"}),
    "scalene": frozenset({"--outfile"}),
    "memory_profiler": frozenset({"-o"}),
}
SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "csh", "tcsh"})
# Option of each interpreter whose value is the program: `python -m module`, `java -jar file`.
PROGRAM_OPTIONS = {"python": "-m", "java": "-jar"} | dict.fromkeys(PYTHON_RUNNERS, "-m")
# Option of each interpreter that is followed by code.
CODE_OPTIONS = {
    **{"python": "-c", "perl": "-e", "ruby": "-e", "julia": "-e", "Rscript": "-e", "node": "-e", "lua": "-e"},
    **dict.fromkeys(("mpi4py", "mpi4py.run"), "-c"),
}
