# SPDX-License-Identifier: Apache-2.0
"""Test components for OpenMP, BLAS, glibc's malloc and other allocators: settings take effect without warnings.

The tests use gcc's OpenMP, numpy's OpenBLAS and Debian's libraries. A warning is any output on standard error.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reprise.config import Config
from reprise.tuner.components import libraries
from reprise.tuner.components.application import build
from reprise.tuner.components.component_file import read
from reprise.tuner.errors import TunerError
from tests.places import ROOT, UNIT
from tests.unit.component_values import SCRIPT, shipped
from tests.unit.tuner.components.test_communication import environment

LOADER = "/lib64/ld-linux-x86-64.so.2"


def run(argv: list[str | Path], given: dict[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(argv, env={**kept, **given}, capture_output=True, text=True, timeout=60, check=True)


@pytest.fixture(scope="module")
def openmp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that prints its number of threads; the OpenMP library prints the other settings."""
    directory = tmp_path_factory.mktemp("openmp")
    source = directory / "threads.c"
    source.write_text(
        "#include <omp.h>\n#include <stdio.h>\nint main(void)\n{\n#pragma omp parallel\n#pragma omp single\n"
        '    printf("threads %d\\n", omp_get_num_threads());\n    return 0;\n}\n'
    )
    subprocess.run(["gcc", "-fopenmp", "-o", directory / "threads", source], check=True)
    return directory / "threads"


@pytest.mark.parametrize(
    ("name", "point", "shown"),
    [
        ("openmp-threads", {"OMP_NUM_THREADS": 3}, "OMP_NUM_THREADS = '3'"),
        ("openmp", {"OMP_PROC_BIND": "close"}, "OMP_PROC_BIND = 'CLOSE'"),
        ("openmp", {"OMP_PROC_BIND": "spread"}, "OMP_PROC_BIND = 'SPREAD'"),
        ("openmp", {"OMP_PROC_BIND": "false"}, "OMP_PROC_BIND = 'FALSE'"),
        ("openmp", {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}, "OMP_PLACES = '{0}"),
        ("openmp", {"OMP_SCHEDULE": "dynamic,16"}, "OMP_SCHEDULE = 'DYNAMIC,16'"),
        ("openmp", {"OMP_SCHEDULE": "guided"}, "OMP_SCHEDULE = 'GUIDED"),
        ("openmp", {"OMP_WAIT_POLICY": "passive"}, "OMP_WAIT_POLICY = 'PASSIVE'"),
        ("openmp", {"OMP_WAIT_POLICY": "active"}, "OMP_WAIT_POLICY = 'ACTIVE'"),
        ("openmp", {"GOMP_SPINCOUNT": 1000}, "GOMP_SPINCOUNT = '1000'"),
    ],
)
def test_openmp_has_what_a_trial_sets(openmp: Path, name: str, point: dict[str, Any], shown: str) -> None:
    said = run([openmp], {**environment(name, **point), "OMP_DISPLAY_ENV": "verbose"})
    assert shown in re.sub(r"^ +(\[host\] )?", "", said.stderr, flags=re.MULTILINE)
    assert "nvalid" not in said.stderr
    if "OMP_NUM_THREADS" in point:
        assert said.stdout == "threads 3\n"


def test_no_value_of_openmp_causes_a_warning(openmp: Path) -> None:
    for name in ("openmp", "openmp-threads"):
        for parameter in read(shipped(name), {}).parameters:
            for value in parameter.values:
                bound = {"OMP_PROC_BIND": "close"} if parameter.key == "OMP_PLACES" else {}
                done = run([openmp], environment(name, **bound, **{parameter.key: value}))
                assert done.stderr == "", (parameter.key, value)


def test_blas_has_the_threads_that_a_trial_sets() -> None:
    """A matrix product in numpy, which contains OpenBLAS, starts OpenBLAS's threads."""
    count = "import numpy, os; a = numpy.ones((800, 800)); a @ a; print(len(os.listdir('/proc/self/task')))"
    assert run([sys.executable, "-c", count], environment("blas-threads", threads=1)).stdout == "1\n"
    if (os.cpu_count() or 1) > 1:
        assert int(run([sys.executable, "-c", count], environment("blas-threads", threads=2)).stdout) == 2


def test_glibc_accepts_every_tunable_without_a_warning() -> None:
    axes = {parameter.key: parameter.values for parameter in read(shipped("glibc-malloc"), {}).parameters}
    names = {parameter.key: parameter.name for parameter in read(shipped("glibc-malloc"), {}).parameters}
    for point in itertools.product(*axes.values()):
        given = environment("glibc-malloc", **dict(zip(axes, point, strict=True)))
        assert run(["/bin/true"], given).stderr == ""
    for key, values in axes.items():
        given = environment("glibc-malloc", **{key: values[-1]})
        shown = run([LOADER, "--list-tunables"], given).stdout
        (line,) = [line for line in shown.splitlines() if line.startswith(f"{names[key]}: ")]
        assert int(line.split()[1], 0) == values[-1]


def test_keeping_the_heap_saves_page_faults() -> None:
    """By default, glibc maps and unmaps each of numpy's temporary arrays, which causes the page faults."""
    work = "import numpy, resource\na = numpy.ones(300000)\nfor _ in range(60): b = a * 2.0 + a * a\n"
    count = f"{work}print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)"

    def faults(**point: int) -> int:
        return int(run([sys.executable, "-c", count], environment("glibc-malloc", **point)).stdout)

    assert faults(mmap_max=0, trim_threshold=4294967296, top_pad=67108864) < faults() / 2


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return the directory where `make install-accelerators` puts its links to allocators."""
    words = ["make", "-s", "-C", str(ROOT / "accelerators/allocators"), "install", f"LIBDIR={tmp_path}/lib"]
    subprocess.run(words, check=True)
    return tmp_path / "lib"


@pytest.fixture(scope="module")
def allocations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("allocations") / "allocations"
    source = UNIT / "allocations.c"
    subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", path, source], check=True
    )
    return path


@pytest.mark.slow
@pytest.mark.parametrize("name", ["jemalloc", "mimalloc", "tcmalloc"])
def test_each_allocator_serves_the_allocations_when_it_is_preloaded(
    installed: Path, allocations: Path, name: str
) -> None:
    library = libraries.file_of(name, installed)
    assert library.is_symlink() and library.exists(), "install the group [components] of etc/packages.debian"
    # LD_BIND_NOW makes the dynamic linker bind all symbols before the threads start; threads that bind symbols at the
    # same time would garble the linker's debug lines.
    linker = {"LD_PRELOAD": str(library), "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}
    bound = run([allocations, "4", "10"], linker).stderr
    (serves,) = set(re.findall(rf"binding file {re.escape(str(allocations))} \[0\] to (\S+) .*symbol `malloc'", bound))
    assert serves == str(library)
    assert run([allocations, "4", "10"], {"LD_PRELOAD": str(library)}).stderr == ""


def definition(directory: Path, *names: str) -> tuple[dict[str, Any], Config]:
    for name in names:
        (directory / f"libreprise_{name}.so").touch()
    workload = {"path": "/home/alice/solve.sh", "script": SCRIPT, "directory": "/home/alice", "options": []}
    config = Config.model_validate({"tuner": {"preload_directory": str(directory)}})
    return {**shipped("allocator"), "application": workload}, config


def test_allocators_that_are_not_installed_are_not_tried(tmp_path: Path) -> None:
    (tmp_path / "libreprise_mimalloc.so").symlink_to("/nowhere/libmimalloc.so.2")
    content, config = definition(tmp_path, "jemalloc")
    made = build(content, {}, config)
    (problem,) = made.problems()
    assert [point["allocator"] for point in problem.space.points] == ["glibc", "jemalloc"]
    assert made.plan(problem.key, {"allocator": "glibc"}).preload == []
    assert made.plan(problem.key, {"allocator": "jemalloc"}).preload == [f"{tmp_path}/libreprise_jemalloc.so"]


def test_without_any_allocator_a_campaign_is_refused_in_one_line(tmp_path: Path) -> None:
    content, config = definition(tmp_path)
    with pytest.raises(
        TunerError, match=r"none of these libraries is installed: .*libreprise_jemalloc.so.*make install-accelerators"
    ):
        build(content, {}, config)


@pytest.mark.parametrize(
    ("name", "line", "variable"),
    [
        ("srun-placement", "#SBATCH --distribution=cyclic", "SLURM_DISTRIBUTION"),
        ("openmp-threads", "#SBATCH -c 4", "SLURM_CPUS_PER_TASK"),
        ("mpirun-binding", "mpirun --bind-to none ./solve", "OMPI_MCA_rmaps_base_mapping_policy"),
        ("openmpi-tcp", "mpirun --mca btl_tcp_if_include eth0 ./solve", "OMPI_MCA_btl_tcp_if_include"),
        ("openmp-threads", "export OMP_PROC_BIND=close", "OMP_PROC_BIND"),
    ],
)
def test_a_campaign_for_a_script_that_sets_the_tuned_variable_itself_is_refused(
    name: str, line: str, variable: str
) -> None:
    script = SCRIPT.replace("\n# the solver", f"\n{line}\n# the solver")
    workload = {"path": "/home/alice/solve.sh", "script": script, "directory": "/home/alice", "options": []}
    with pytest.raises(TunerError, match=f"options set {variable}, and jobs that set it get no settings"):
        build({**shipped(name), "application": workload}, {}, Config())
