# SPDX-License-Identifier: Apache-2.0
"""Test which containers a job starts, and that settings are given only if they arrive in all of them."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import pytest

from reprise.matcher.decision.containers import CONTAINERS_LIMIT, containers_of
from reprise.matcher.submission import Submission
from tests.unit.matcher.decision.test_decide import POLICY, ask, record, submission
from tests.unit.matcher_daemon import RULES, SCRIPT

FILE = "/var/lib/reprise/artifacts/rules"
PATH = "sets a path of the host, and the job runs in a container, in which the path may not exist"
KEPT = "sets variables, and the container that the job runs in does not pass variables on"
LIBRARY = "preloads a library of the host"


def script(line: str) -> Submission:
    return submission(SCRIPT + line + "\n")


def given(line: str, environment: dict[str, str], **policy: Any) -> tuple[str, str]:
    decision = ask(
        record(environment=environment, conflicts=()),
        of=script(line),
        policy=dataclasses.replace(POLICY, **policy),
    )
    return decision.verdict, decision.reason


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("srun ./a", ""),
        ("apptainer pull docker://x; module load singularity podman", ""),
        ("# apptainer exec a.sif ./a", ""),
        ("echo -e -C", ""),
        ("srun apptainer exec a.sif ./a", PATH),
        ("srun /opt/bin/singularity -q run --nv a.sif", PATH),
        ('"${APPTAINER}" exec a.sif ./a', PATH),
        ("x=$(apptainer exec a.sif ./a)", PATH),
        ("srun apptainer exec \\\n  a.sif ./a", PATH),
        ("srun apptainer exec -B /var/lib/reprise a.sif ./a", ""),
        ("srun apptainer exec --bind=/data,/var/lib/reprise:/var/lib/reprise:ro a.sif ./a", ""),
        ("srun apptainer exec --mount type=bind,src=/var/lib/reprise,dst=/var/lib/reprise a.sif ./a", ""),
        ("srun apptainer exec --mount type=bind,src=/var/lib/reprise,dst=/x a.sif ./a", PATH),
        ("srun apptainer exec -B /var/lib/reprise:/rules a.sif ./a", PATH),
        ("srun apptainer exec -B /var/lib/repr a.sif ./a", PATH),
        ("srun apptainer exec -B $DIR:/var/lib/reprise a.sif ./a", PATH),
        ("srun apptainer exec a.sif ./a -B /var/lib/reprise", PATH),
        ("srun apptainer exec -B/var/lib/reprise a.sif ./a", ""),
        ("srun apptainer exec -B=/var/lib/reprise a.sif ./a", ""),
        ("srun apptainer exec -cB/var a.sif ./a", ""),
        ("srun apptainer exec -cB /var a.sif ./a", ""),
        ("srun apptainer exec -eB/var a.sif ./a", KEPT),
        ("srun apptainer exec -B/home/eve,/var a.sif ./a", ""),  # the letters of a path are no options
        ("srun apptainer exec -B/data:/var a.sif ./a", PATH),
        ("srun apptainer exec -B/var/lib/repr a.sif ./a", PATH),
        ("srun ch-run -b/var:/var img -- ./a", ""),
        ("srun ch-run -b=/var:/var img -- ./a", PATH),
        ("podman run -itv/var:/var --env-host image ./a", ""),
        ("podman run -itv /var:/var -eOMPI_MCA_x image ./a", KEPT),
        ("podman run -itv=/var:/var -e=OMPI_* image ./a", ""),
        ("srun apptainer exec -B /var a.sif ./a; singularity exec b.sif ./b", PATH),
        ("srun apptainer exec -B /var a.sif ./a && singularity exec -B /var b.sif ./b", ""),
        ("srun apptainer exec -e -B /var a.sif ./a", KEPT),
        ("srun apptainer exec --containall -B /var a.sif ./a", KEPT),
        ("srun apptainer exec -ce -B /var a.sif ./a", KEPT),
        ("srun apptainer exec -B /var a.sif ./a -e", ""),
        ("podman run -v /var:/var image ./a", KEPT),
        ("podman run -v /var:/var --env-host image ./a", ""),
        ("podman run -v /var:/var -e 'OMPI_*' image ./a", ""),
        ("podman run -e OMPI_MCA_x -v /var:/var image ./a", KEPT),
        ("podman run --env-host -v /var image ./a", PATH),
        ("podman run --env-host --mount type=tmpfs,destination=/var image ./a", PATH),
        ("srun ch-run -b /var img -- ./a", PATH),
        ("docker run image ./a", KEPT),
        ("enroot start -m /var:/var image ./a", KEPT),
        ("srun ch-run -b /var:/var img -- ./a", ""),
        ("srun ch-run img -- ./a", PATH),
        ("srun shifter --image=x --volume=/var:/var ./a", ""),
        ("srun shifter --image=x ./a", PATH),
        ("srun sarus run --mount=type=bind,source=/var,destination=/var image ./a", ""),
        ("srun sarus run image ./a", PATH),
        ("srun --container-image=x ./a", PATH),
        ("srun --container-image x --container-mounts /data:/data,/var:/var ./a", ""),
        ("srun --container-name=x --container-mounts=/var:/x ./a", PATH),
        ("srun --container /bundle ./a", PATH),
        ("srun --contain=/bundle ./a", PATH),
        ("srun --contiguous ./a", ""),
        ('RUN="apptainer exec a.sif"\nsrun $RUN ./a', PATH),
        ("alias run='singularity exec a.sif'\nsrun run ./a", PATH),
        ("BIN=/usr/bin/singularity\nsrun $BIN exec a.sif ./a", PATH),
        ("BIN=$(which apptainer)\nsrun ${BIN} exec a.sif ./a", PATH),
        ("BIN=/usr/bin/singularity\nsrun $BIN exec -B /var a.sif ./a", ""),
        ("srun ${RUN:-singularity} exec a.sif ./a", PATH),
        ("cat x|apptainer exec a.sif ./a", PATH),
        ("cd /x&&apptainer exec a.sif ./a", PATH),
        ("srun -J apptainer --container-image=x ./a", PATH),
        ("srun --container-image=x --container-mounts=/var:/var ./a; srun --container-image=y ./b", PATH),
        ("srun apptainer exec -B /opt/docker -B /var a.sif ./a", ""),
        ("srun apptainer exec --no-mount home -e -B /var a.sif ./a", KEPT),
        ("srun apptainer exec -B /opt/docker -e -B /var a.sif ./a", KEPT),
        ("srun apptainer exec --compat -B /var a.sif ./a", KEPT),
        ("srun apptainer exec --oci -B /var a.sif ./a", KEPT),
        ("srun shifter --clearenv -V /var:/var ./a", KEPT),
        ("export SINGULARITY_CLEANENV=1\nsrun singularity exec -B /var a.sif ./a", KEPT),
        ("export APPTAINER_CLEANENV=0\nsrun apptainer exec -B /var a.sif ./a", ""),
        ("srun apptainer exec -B /var -B /data:/var/lib/reprise a.sif ./a", PATH),
        ("srun apptainer exec -B /var -B $DATA:/var/lib/reprise a.sif ./a", PATH),
        ("srun apptainer exec -B /var -B /data:/mnt a.sif ./a", ""),
        ("module load shifter\nsrun ./a", ""),
        ("cd docker && make run; srun ./a", ""),
    ],
)
def test_a_path_of_the_host_is_given_only_if_all_containers_contain_it(line: str, why: str) -> None:
    verdict, reason = given(line, {"OMPI_MCA_coll_tuned_dynamic_rules_filename": FILE})
    assert (verdict, why in reason) == ("none" if why else "apply", True), reason


def test_containers_in_directives_on_the_command_line_and_in_slurms_variables_count() -> None:
    assert containers_of(submission(SCRIPT.replace("\n", "\n#SBATCH --container=/bundle\n", 1)))
    assert containers_of(submission(SCRIPT, "--container-image=x"))
    assert containers_of(Submission("sbatch", ("sbatch", "--wrap", "apptainer run a.sif")))
    assert containers_of(Submission("batch", env={"SLURM_CONTAINER": "/bundle"}))
    assert not containers_of(submission())


def test_an_image_and_its_mounts_may_be_in_different_directives() -> None:
    directives = "\n#SBATCH --container-image=x\n#SBATCH --container-mounts=/var:/var\n"
    (container,) = containers_of(submission(SCRIPT.replace("\n", directives, 1)))
    assert container.sees("/var/lib")
    (container,) = containers_of(submission(SCRIPT.replace("\n", directives, 1), "--container-mounts=/x:/var"))
    assert not container.sees("/var/lib")


@pytest.mark.parametrize("visible", ["/var", "/var/lib/reprise/artifacts"])
def test_the_site_says_which_paths_all_its_containers_contain(visible: str) -> None:
    verdict, _ = given("srun --container=/bundle ./a", {"ROMIO_HINTS": FILE}, visible=(visible,))
    assert verdict == "apply"


def test_a_variable_without_a_path_is_given_if_the_container_passes_it_on() -> None:
    assert given("srun apptainer exec a.sif ./a", {"OMP_PLACES": "cores"})[0] == "apply"
    assert given("podman run image ./a", {"OMP_PLACES": "cores"})[0] == "none"
    assert given("podman run --env=OMP_PLACES image ./a", {"OMP_PLACES": "cores"})[0] == "apply"


def test_a_record_with_one_path_is_not_given_in_part() -> None:
    decision = ask(record(environment={**RULES, "ROMIO_HINTS": FILE}), of=script("srun apptainer exec a.sif ./a"))
    assert (decision.verdict, decision.injected) == ("none", {})


def test_only_the_site_can_allow_a_library_of_the_host() -> None:
    library, line = {"REPRISE_PRELOAD": "sro"}, "srun apptainer exec -B /usr/local/lib a.sif ./a"
    assert LIBRARY in given(line, library, preload_directory="/usr/local/lib")[1]
    assert given(line, library, preload_directory="/usr/local/lib", visible=("/usr/local",))[0] == "apply"
    assert LIBRARY in given(line, library, visible=("/usr/local",))[1]  # no `preload_directory` is given


@pytest.mark.parametrize(
    "part",
    [
        "apptainer exec ",
        "podman run -v ",
        "--container=",
        "--cont=apptainer ",
        "X=docker\n",
        "$X ch-run x\n",
        "=/a/",
        "a;",
    ],
)
def test_a_hostile_script_is_read_in_a_bounded_number_of_steps(part: str) -> None:
    hostile = script("RUN=docker ch-run x " + part * (131_072 // len(part)))
    begun = time.process_time()
    found = containers_of(hostile)
    assert time.process_time() - begun < 0.5  # it takes 15 ms
    assert len(found) <= CONTAINERS_LIMIT + 2


def test_repeated_commands_are_one_container_and_too_many_get_nothing() -> None:
    assert len(containers_of(script("srun ch-run -b /var:/var img -- ./a\n" * 200))) == 1
    for many in ("".join(f"ch-run -b /d{n}:/d{n} i x\n" for n in range(100)), "ch-run i x\n" * 5_000):
        assert not containers_of(script(many))[-1].passes(["A"])
