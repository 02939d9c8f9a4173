# SPDX-License-Identifier: Apache-2.0
"""Test the components for messages, non-blocking collectives and placement, with the installed Open MPI and UCX."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reprise.tuner.components.trial_inputs import parts
from tests.places import UNIT
from tests.unit.component_values import component, shipped

pytestmark = pytest.mark.slow

OWN = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
OVER_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]
ON_NODE = ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
OVER_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]


def environment(name: str, **point: Any) -> dict[str, str]:
    """Return the environment variables that a component sets at a point, given as changes from the default."""
    made = component(shipped(name))
    (problem,) = made.problems()
    return dict(parts(made.description, {**problem.default, **point}).environment)


def points(name: str) -> list[dict[str, Any]]:
    """Return the points of the grid that differ from the default in one axis, or have the last value of every axis."""
    made = component(shipped(name))
    (problem,) = made.problems()
    grid = [problem.space.key(point) for point in problem.space.points]
    some = [{axis.name: value} for axis in problem.space.parameters for value in axis.values]
    corner = {axis.name: axis.values[-1] for axis in problem.space.parameters}
    return [one for one in [*some, corner] if problem.space.key({**problem.default, **one}) in grid]


def compiled(name: str, directory: Path) -> Path:
    path = directory / name
    subprocess.run(["mpicc", "-std=c11", "-O2", "-Wall", "-Werror", "-o", path, UNIT / f"{name}.c"], check=True)
    return path


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("messages", tmp_path_factory.mktemp("messages"))


@pytest.fixture(scope="module")
def nonblocking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("nonblocking", tmp_path_factory.mktemp("nonblocking"))


def mpirun(
    words: Sequence[str | Path], given: dict[str, str], ranks: int = 2, options: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    command = ["mpirun", "--oversubscribe", "-np", str(ranks), *options, *words]
    base = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_MCA_", "UCX_"))}
    return subprocess.run(command, env={**base, **OWN, **given}, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("name", "options"),
    [("openmpi-tcp", OVER_TCP), ("openmpi-shared-memory", ON_NODE), ("ucx", OVER_UCX)],
)
def test_no_setting_loses_a_message_or_prints_a_warning(messages: Path, name: str, options: list[str]) -> None:
    assert points(name)
    for point in points(name):
        done = mpirun([messages], environment(name, **point), options=options)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), (point, done)


def of_the_build(given: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the value of each MCA parameter that `ompi_info` prints, and its source (default or environment)."""
    said = subprocess.run(
        ["ompi_info", "--all", "--parsable"], env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True
    ).stdout
    values = dict(re.findall(r"^mca:[^:]+:[^:]+:param:([^:]+):value:(.*)$", said, re.MULTILINE))
    sources = dict(re.findall(r"^mca:[^:]+:[^:]+:param:([^:]+):source:(.*)$", said, re.MULTILINE))
    return {name: (value, sources.get(name, "")) for name, value in values.items()}


OF_OPEN_MPI = ["openmpi-tcp", "openmpi-shared-memory", "openmpi-nonblocking", "mpirun-binding"]
OF_LATER_RELEASES = ("OMPI_MCA_btl_sm_", "PRTE_MCA_")


@pytest.mark.parametrize("name", OF_OPEN_MPI)
def test_every_value_is_known_to_the_build_and_the_default_is_its_own(name: str) -> None:
    untouched = of_the_build({})
    for parameter in component(shipped(name)).description.parameters:
        known = parameter.name.removeprefix("OMPI_MCA_")
        own = {"as-it-is": "", False: "0"}.get(parameter.default, str(parameter.default))
        assert untouched[known] == (own, "default"), parameter.key
        for value in parameter.values:
            if value != parameter.unset:
                given = environment(name, **{parameter.key: value})
                seen = of_the_build(given)
                for variable, text in given.items():
                    if not variable.startswith(OF_LATER_RELEASES):
                        assert seen[variable.removeprefix("OMPI_MCA_")][1].startswith("environment"), variable
                        assert seen[variable.removeprefix("OMPI_MCA_")][0].strip('"') == text, variable


@pytest.mark.parametrize("ranks", [4, 5])
def test_no_offered_algorithm_gives_wrong_results(nonblocking: Path, ranks: int) -> None:
    """The program's reductions do not commute, so an algorithm that reorders the operands gives wrong results."""
    for point in points("openmpi-nonblocking"):
        done = mpirun([nonblocking], environment("openmpi-nonblocking", **point), ranks)
        assert (done.returncode, done.stdout) == (0, ""), (point, done)


@pytest.mark.parametrize(("kind", "algorithm"), [("iallreduce", "ring"), ("iallreduce", "rabenseifner")])
def test_algorithms_that_are_not_offered_give_wrong_results(nonblocking: Path, kind: str, algorithm: str) -> None:
    done = mpirun([nonblocking], {f"OMPI_MCA_coll_libnbc_{kind}_algorithm": algorithm}, 4)
    assert done.stdout == f"{kind}\n"


PLACING = [
    "--map-by slot",
    "--map-by core:PE=1",
    "--map-by ppr:2:node",
    "--bynode",
    "--byslot",
    "--bycore",
    "--bind-to none",
    "--bind-to core",
    "-npernode 2",
    "-npersocket 2",
    "--rank-by core",
    "--cpu-set 0,1",
    "--cpus-per-rank 1",
]


@pytest.mark.parametrize("options", PLACING)
@pytest.mark.parametrize("binding", ["none", "core:overload-allowed"])
def test_whatever_its_options_mpirun_starts_with_a_given_binding(options: str, binding: str) -> None:
    given = environment("mpirun-binding", binding=binding)
    done = mpirun(["true"], given, 2, options.split())
    assert done.returncode == mpirun(["true"], {}, 2, options.split()).returncode == 0, done


def test_an_option_of_mpirun_overrides_the_binding_from_the_environment() -> None:
    def bound(binding: str, *options: str) -> int:
        given = environment("mpirun-binding", binding=binding)
        done = mpirun(["true"], given, 2, ["--report-bindings", *options])
        return len(re.findall(r"bound to socket \d+\[core \d+", done.stderr))

    assert (bound("core:overload-allowed"), bound("none")) == (2, 0)
    assert bound("core:overload-allowed", "--bind-to", "none") == 0
    assert bound("none", "--bind-to", "core") == 2


def test_ucx_takes_every_value() -> None:
    for point in points("ucx"):
        given = environment("ucx", **point)
        said = subprocess.run(
            ["ucx_info", "-c"], env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True, check=True
        )
        assert {f"{name}={value}" for name, value in given.items()} <= set(said.stdout.splitlines())
        assert said.stderr == ""
