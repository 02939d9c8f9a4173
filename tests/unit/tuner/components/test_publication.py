# SPDX-License-Identifier: Apache-2.0
"""Test the publication of a winner: the settings that jobs can be given, and the notes if jobs cannot be given any."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from reprise.allowlist import is_allowed, is_reported
from reprise.database.entities import Measurement
from reprise.tuner.components.application import ApplicationComponent
from reprise.tuner.components.publication import variables
from reprise.tuner.components.witness import FILE
from reprise.tuner.errors import CampaignFailedError
from reprise.tuner.model.component import Comparison, Publication, TrialOutput, TrialPlan
from tests.unit.component_values import NEEDS, SHIPPED, component, definition, shipped


class Proof:
    """A fake runner of proofs. It writes the witness's file as if `settings` had been in effect."""

    def __init__(self, directory: Path, settings: dict[str, str] | None = None) -> None:
        self.directory = directory
        self.settings = settings
        self.asked: list[str] = []

    def __call__(self, plan: TrialPlan) -> TrialOutput:
        assert self.settings is not None, "a proof was run unexpectedly"
        self.asked.append(plan.environment["REPRISE_WITNESS_SETTINGS"])
        line = {"file": "a", "ranks": 1, "program": {}, "hints": None, "settings": self.settings}
        (self.directory / FILE).write_text(json.dumps(line) + "\n")
        return TrialOutput(0, "", "", 1.0, self.directory)


def published(
    made: ApplicationComponent, directory: Path, gain_low: float = 0.1, proof: Any = None, **winner: Any
) -> Publication | None:
    (problem,) = made.problems()
    default, tuned = Measurement(2.0, 1.9, 2.1, 5, "s"), Measurement(1.0, 0.9, 1.1, 5, "s")
    point = {**problem.default, **winner}
    comparison = Comparison(problem.key, point, default, tuned, 0.5, gain_low, 0.6)
    found = made.publish([comparison], proof or Proof(directory), directory)
    return found[0] if found else None


def test_changed_variables_become_the_records_environment_and_conflicts(place: Path) -> None:
    found = published(component(shipped("fastio")), place, SRO_PREFETCH_SIZE=1048576)
    assert found and not found.artifact
    assert found.environment == {
        "SRO_CLUSTER_THRESHOLD": "2",
        "SRO_DSC_BINSIZE": "1048576",
        "SRO_PREFETCH_SIZE": "1048576",
        "SRO_SEQUENCE_LENGTH": "100",
    }
    assert set(found.conflicts) == set(found.environment)
    assert found.note == "only for jobs that set --fastio=yes themselves"
    assert found.parametrization["note"] == found.note


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        (None, None),
        (
            {"pattern": r"rate: (\S+)", "unit": "MB/s", "direction": "maximize"},
            "a figure in the application's output (MB/s)",
        ),
        (
            {
                "parts": {
                    "read": {"pattern": "r (.)"},
                    "write": {"pattern": "w (.)"},
                    "kept": {"pattern": "k (.)", "weight": 0},
                }
            },
            "read, write in the application's output (s)",
        ),
    ],
)
def test_a_gain_in_something_other_than_the_run_time_names_the_figure(
    place: Path, objective: dict[str, Any] | None, words: str | None
) -> None:
    settings = {"objective": objective} if objective else {}
    found = published(component(shipped("fastio"), settings), place, SRO_PREFETCH_SIZE=1048576)
    assert found and found.parametrization.get("gain_of") == words


@pytest.mark.parametrize(("settings", "said"), [({}, "does not recognize it"), ({"io": "ompio"}, "ompio is in effect")])
def test_settings_that_are_not_in_effect_in_open_mpi_are_not_published(
    place: Path, settings: dict[str, str], said: str
) -> None:
    with pytest.raises(CampaignFailedError, match=f"setting io.*{said}"):
        published(component(shipped("romio")), place, proof=Proof(place, settings), io="^ompio")


def test_hints_become_an_artifact_that_a_variable_names(place: Path) -> None:
    proof = Proof(place, {"io": "^ompio"})
    found = published(component(shipped("romio")), place, proof=proof, io="^ompio", cb_nodes=2)
    assert proof.asked == ["io"]
    assert found and found.artifact and found.artifact.kind == "hints"
    assert found.environment == {"OMPI_MCA_io": "^ompio", "ROMIO_HINTS": found.artifact.path}
    assert "cb_nodes 2\n" in Path(found.artifact.path).read_text()
    assert found.conflicts == ["ROMIO_HINTS", "OMPI_MCA_io", "OMPI_MCA_io_*", "ROMIO_*"]
    assert found.note == ""


def test_only_gains_beyond_noise_are_published(place: Path) -> None:
    assert published(component(shipped("fastio")), place, gain_low=0.0) is None


@pytest.mark.parametrize(
    ("name", "winner", "words"),
    [
        ("sbb", {"worker-threads": 8}, "no record: Reprise cannot set `#SBB targets=/fs1/alice flavor=small"),
        ("lustre", {"stripe_count": 4}, "`lfs setstripe -c 4 -S 1048576 /lustre/alice/run || exit`"),
    ],
)
def test_a_winner_that_no_variable_can_set_is_reported_in_one_line_and_gives_no_record(
    place: Path, name: str, winner: dict[str, Any], words: str
) -> None:
    found = published(component(shipped(name), NEEDS[name]), place, **winner)
    assert found and found.environment == {} and words in found.note and "\n" not in found.note
    assert found.parametrization["parameters"] | winner == found.parametrization["parameters"]  # type: ignore[operator]


def test_a_winner_that_jobs_could_be_given_only_in_part_gives_no_record(place: Path) -> None:
    parameters = {"SRO_A": {"default": 1}, "threads": {"default": 1, "via": "argument"}, "NOT_LISTED": {"default": 1}}
    made = component(definition({**parameters, "SRO_B": {"default": 1, "values": [1, 2]}}))
    for winner, words in (({"threads": 2}, "the arguments --threads=2"), ({"NOT_LISTED": 2}, "NOT_LISTED=2")):
        found = published(made, place, SRO_A=2, **winner)
        assert found and found.environment == {} and words in found.note
    found = published(made, place, SRO_A=2)
    assert found and found.environment == {"SRO_A": "2", "SRO_B": "1"}
    assert found.note == "only for jobs that set the arguments --threads=1; NOT_LISTED=1 themselves"


def test_a_winner_that_unsets_a_variable_gives_no_record(place: Path) -> None:
    made = component(definition({"SRO_A": {"default": 1, "unset": 0, "values": [0, 1]}, "SRO_B": {"default": 1}}))
    found = published(made, place, SRO_A=0)
    assert found and found.environment == {} and "no SRO_A" in found.note


def test_a_variable_that_contains_the_trials_directory_is_not_published(place: Path) -> None:
    made = component(
        definition(
            {"SRO_A": {"default": 1, "values": [1, 2]}}, activation={"environment": {"SRO_LOG": "{directory}/log"}}
        )
    )
    found = published(made, place, SRO_A=2)
    assert found and found.environment == {"SRO_A": "2"} and "SRO_LOG" in found.note


def test_a_winner_of_an_accelerator_loads_its_library_and_switches_it_on(place: Path) -> None:
    found = published(component(shipped("sro")), place, disabled=False, SRO_PREFETCH_SIZE=1048576)
    assert found and found.environment == {
        "REPRISE_PRELOAD": "sro",
        "SRO_DISABLE": "0",
        "SRO_CLUSTER_THRESHOLD": "2",
        "SRO_DSC_BINSIZE": "1048576",
        "SRO_PREFETCH_SIZE": "1048576",
        "SRO_SEQUENCE_LENGTH": "100",
    }
    assert found.note == "" and "REPRISE_PRELOAD" in found.conflicts


def test_a_record_whose_library_the_plugin_cannot_load_applies_only_to_jobs_that_load_it(place: Path) -> None:
    made = component(definition({"SRO_A": {"default": 1, "values": [1, 2]}}, activation={"preload": ["/opt/a.so"]}))
    found = published(made, place, SRO_A=2)
    assert (
        found
        and found.environment == {"SRO_A": "2"}
        and found.note == "only for jobs that set LD_PRELOAD=/opt/a.so themselves"
    )


def test_a_parameter_with_copies_sets_and_claims_them_all(place: Path) -> None:
    found = published(component(shipped("blas-threads")), place, threads=2)
    threads = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
    assert found and found.environment == dict.fromkeys(threads, "2")
    assert set(threads) < set(found.conflicts) and "SLURM_CPUS_PER_TASK" in found.conflicts


def test_the_tunables_of_glibc_become_one_variable(place: Path) -> None:
    found = published(component(shipped("glibc-malloc")), place, arena_max=1, hugetlb=1)
    assert found and found.environment == {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1:glibc.malloc.hugetlb=1"}


def test_an_allocator_becomes_a_request_for_its_library(place: Path) -> None:
    found = published(component(shipped("allocator")), place, allocator="mimalloc")
    assert found and found.environment == {"REPRISE_PRELOAD": "mimalloc"} and not found.note
    assert "LD_PRELOAD" in found.conflicts


FOR_JOBS = sorted(
    {path.stem for path in SHIPPED.glob("*.yaml")}
    - {
        "forwarders",
        "landscape",
        "mpich-collectives",
        "nccl-collectives",
        "openmpi-collectives",
        "lustre",
        "together",
    }
)


@pytest.mark.parametrize("name", FOR_JOBS)
def test_the_plugin_may_set_every_variable_of_a_shipped_component(name: str) -> None:
    description = component(shipped(name)).description
    set_by_us = variables(dataclasses.replace(description, conflicts=[]))
    assert set_by_us and all(is_allowed(variable) for variable in set_by_us)


# The plugin sends the values of these variables, not only their names, and the daemon treats them as Slurm options.
SLURMS_OWN = {"SLURM_CPUS_PER_TASK", "SLURM_CPU_BIND", "SLURM_HINT"}


@pytest.mark.parametrize("name", FOR_JOBS)
def test_the_plugin_reports_every_variable_that_conflicts_with_a_component(name: str) -> None:
    conflicts = set(component(shipped(name)).description.conflicts) - SLURMS_OWN
    assert all(is_reported(variable.replace("*", "x")) for variable in conflicts)
