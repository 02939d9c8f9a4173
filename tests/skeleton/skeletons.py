# SPDX-License-Identifier: Apache-2.0
"""Functions that build programs and their skeletons for tests, and compare the communication of both."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from reprise.tuner.proxy.fidelity import Fidelity, fidelity
from tests.places import ROOT

SKELETON = ROOT / "tuner/programs/skeleton"
DRIVER = SKELETON / "reprise-skeleton"
FIXTURES = SKELETON / "fixtures"
BUILT = sorted(path.parent.name.removeprefix("llvm-") for path in SKELETON.glob("llvm-*/reprise-skeleton-pass.so"))
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]

needs_skeleton = pytest.mark.skipif(not BUILT, reason="the pass is not built: run `make skeleton`")


def compile_application(output: Path, sources: Sequence[Path], *words: str) -> Path:
    """Compile the original program, not its skeleton, with mpicc or mpicxx."""
    cpp = any(source.suffix == ".cpp" for source in sources)
    command = ["mpicxx", "-DOMPI_SKIP_MPICXX"] if cpp else ["mpicc"]
    subprocess.run([*command, "-O2", *words, *map(str, sources), "-o", str(output), "-lm"], check=True, timeout=300)
    return output


def skeleton(output: Path, sources: Sequence[Path], *words: str, llvm: str = "") -> subprocess.CompletedProcess[str]:
    """Run reprise-skeleton on the sources; the caller checks its exit status."""
    chosen = {"REPRISE_SKELETON_LLVM": llvm} if llvm else {}
    return subprocess.run(
        [str(DRIVER), "-o", str(output), *map(str, sources), *words, "-lm"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | chosen,
    )


def compared(application: Sequence[str], proxy: Sequence[str], ranks: Sequence[int]) -> list[Fidelity]:
    """Run application and skeleton with Open MPI's monitoring; compare communication for each number of ranks."""
    os.environ.update(AS_ROOT)
    return list(fidelity(application, proxy, ranks, mpirun=MPIRUN, timeout_s=300))


def refusal(tmp_path: Path, text: str, *words: str, suffix: str = ".c") -> str:
    """Return the one-line message with which reprise-skeleton refuses a program; check that it writes no file."""
    source = tmp_path / f"refused{suffix}"
    source.write_text(text)
    done = skeleton(tmp_path / "refused", [source], *words)
    assert done.returncode != 0, done.stderr
    assert not (tmp_path / "refused").exists()
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("reprise-skeleton: ")]
    return line
