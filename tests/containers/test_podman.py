# SPDX-License-Identifier: Apache-2.0
"""Compare the matcher's reading of container commands with what podman and crun really do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reprise.matcher.decision.containers import containers_of
from reprise.matcher.submission import Submission
from tests.containers.runtime import Runtimes

NAME = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
OTHER = "OMP_PLACES"


@pytest.fixture(scope="module")
def runtimes() -> Iterator[Runtimes]:
    missing = [name for name in ("podman", "crun", "busybox") if not shutil.which(name)]
    if missing or os.getuid() != 0:
        pytest.skip(f"needs root and {', '.join(missing) or 'nothing else'}: run `make test-containers`")
    with TemporaryDirectory(prefix="rpr-") as directory:  # podman refuses longer paths, such as those of tmp_path
        made = Runtimes(Path(directory))
        made.make()
        yield made


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("artifacts")
    (directory / "rules").write_text("0\n")
    return directory


@pytest.mark.parametrize(
    "options",
    [
        "",
        "-e {NAME}",
        "-e {NAME} --env {OTHER}",
        "--env OMP*",
        "-e OMPI_*",
        "--env-host",
        "-v {directory}:{directory}",
        "--volume={directory}:{directory}:ro",
        "-v {parent}:{parent}",
        "-v {directory}:/elsewhere",
        "-v {directory}",
        "--mount type=tmpfs,destination={directory}",
        "--mount type=bind,source={directory},destination={directory}",
        "--mount type=bind,src={directory},target=/elsewhere",
        "-e {NAME} -v {directory}:{directory}",
    ],
)
def test_podman_does_what_the_matcher_reads(runtimes: Runtimes, artifacts: Path, options: str) -> None:
    words = options.format(NAME=NAME, OTHER=OTHER, directory=artifacts, parent=artifacts.parent).split()
    file = str(artifacts / "rules")
    seen = runtimes.by_podman(words, {NAME: file, OTHER: "cores"}, [file])
    line = " ".join(["podman run", *words, "tiny", "./a"])
    (container,) = containers_of(Submission.for_script("/job.sh", f"#!/bin/sh\n{line}\n"))
    assert container.sees(str(artifacts)) is (file in seen.visible)
    for names in ([NAME], [OTHER], [NAME, OTHER]):
        assert container.passes(names) is set(names).issubset(seen.environment), names


def test_a_bundle_contains_no_path_of_the_host_and_gets_the_variables_of_its_configuration(
    runtimes: Runtimes, artifacts: Path
) -> None:
    file = str(artifacts / "rules")
    seen = runtimes.by_crun({NAME: file}, [file, "/bin/busybox"])
    assert (seen.environment[NAME], set(seen.visible)) == (file, {"/bin/busybox"})
    (container,) = containers_of(Submission("sbatch", ("sbatch", "--container", "/bundle", "job.sh")))
    assert container.passes([NAME]) and not container.sees(str(artifacts))
