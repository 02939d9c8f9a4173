# SPDX-License-Identifier: Apache-2.0
"""Test how the reports of processes are merged into a profile."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from reprise.tuner.errors import TunerError
from reprise.tuner.profile.merge import _runs as runs_of
from reprise.tuner.profile.merge import merge
from reprise.tuner.profile.process_report import ProcessReport, read_reports
from reprise.tuner.profile.profile_values import read_profile
from tests.unit.profile_values import START, S, calls, collective, mpi, report


def test_the_slowest_rank_is_the_one_that_waits_least_and_its_transfer_counts() -> None:
    late = [["1", "allreduce", 0, 11, -1, START + 8 * S, START + 8 * S, START + 9 * S]]
    early = [["1", "allreduce", 0, 11, -1, START, START, START + 9 * S]]
    reports = [
        report(mpi=mpi(0, collectives=[collective("allreduce", 9)], collective_samples=calls(*early))),
        report(mpi=mpi(1, collectives=[collective("allreduce", 1)], collective_samples=calls(*late))),
    ]
    found = merge(reports)
    assert found.slowest.rank == 1 and found.waiting == 0 and found.elapsed_s == 10
    assert found.shares == {"mpi.collective.allreduce": 0.1, "compute": 0.9}
    assert (
        merge(reports[:1]).shares["mpi.collective.allreduce"] == 0.9
    )  # with a single rank's report, waiting cannot be determined


def test_shares_refer_to_the_run_time_of_the_whole_job() -> None:
    found = merge([report(pid=9, wall=40 * S, cpu=0), report(start=START + 20 * S, mpi=mpi(0, 1))])
    assert found.shares == {"compute": 0.25} and found.ranks == 1 and found.processes == 2


def test_different_numbers_of_ranks_per_node_are_reported() -> None:
    def on(*hosts: str, start: int = START) -> list[ProcessReport]:
        return [report(host=host, pid=rank, start=start, mpi=mpi(rank, len(hosts))) for rank, host in enumerate(hosts)]

    uneven = merge(on("a", "a", "a", "b"))
    assert uneven.most_on_node == 3 and not uneven.is_even and uneven.layout == "4 ranks on 2 nodes (up to 3 on one)"
    before = on("a", "a", start=START - 20 * S)
    for even in (on("a", "a", "b", "b"), on("a", "b", "a", "b"), [*before, *on("a", "a", "b", "b")]):
        found = merge(even)
        assert found.most_on_node == 2 and found.is_even and found.layout == "4 ranks on 2 nodes"
    assert merge(on("a", "a", "b", "b")[:1]).is_even, "even, because missing ranks say nothing"
    assert read_profile({**uneven.to_json(), "most_on_node": None}, "old").is_even
    assert merge([report()]).is_even


def test_messages_are_classified_by_the_hosts_of_their_peers() -> None:
    def message(peer: int, seconds: int) -> dict[str, int]:
        return {"peer": peer, "class": 4, "calls": 2, "sent": 1, "bytes": 16, "ns": seconds * S}

    own = mpi(0, 3, messages=[message(1, 1), message(2, 2), message(-1, 3)])
    reports = [report(mpi=own), report(mpi=mpi(1, 3)), report(host="node2", mpi=mpi(2, 3))]
    reports = [one.model_copy(update={"wall": one.wall + (0 if at else S)}) for at, one in enumerate(reports)]
    found = merge(reports)
    shares = {name: round(share * 11) for name, share in found.shares.items()}
    assert shares == {"mpi.p2p.onnode": 1, "mpi.p2p.offnode": 2, "mpi.p2p.unknown": 3, "compute": 5}
    assert round(found.share("mpi.p2p") * 11) == 6
    assert [one.where for one in found.messages] == ["unknown", "offnode", "onnode"]


def test_nodes_of_a_communicator_are_those_of_its_members() -> None:
    shapes = [
        {"shape": 1, "id": "w", "size": 4, "world": True},
        {"shape": 2, "id": "h", "size": 2, "world": False, "members": [0, 2]},
    ]
    made = [collective("bcast", 1, shape=2), collective("allreduce", 2)]
    first = mpi(0, 4, shapes=shapes, collectives=made)
    reports = [report(host=f"node{rank // 2}", mpi=first if rank == 0 else mpi(rank, 4)) for rank in range(4)]
    reports[0] = reports[0].model_copy(update={"wall": 11 * S})
    found = [(one.kind, one.ranks, one.nodes) for one in merge(reports).collectives]
    assert found == [("allreduce", 4, 2), ("bcast", 2, 2)]


def test_times_of_files_without_mpi_are_summed_over_all_processes() -> None:
    reading = {"op": "read", "fs": 0x6969, "sequential": False, "mpi": False, "class": 13, "calls": 9, "bytes": 36864}
    large = {**reading, "op": "write", "class": 17, "sequential": True, "ns": S}
    first = report(wall=5 * S, cpu=S, files=[{**reading, "ns": 2 * S}], meta={"open": [3, S]})
    second = report(start=START + 5 * S, wall=5 * S, cpu=S, files=[{**reading, "ns": S}, large])
    found = merge([first, second])
    assert found.shares == {"io.read.small": 0.3, "io.write.large": 0.1, "io.meta": 0.1, "compute": 0.2}
    (row, _) = found.files
    assert (row.op, row.filesystem, row.bytes, row.other_calls, row.sequential_calls) == ("read", "nfs", 8191, 18, 0)


def test_time_of_threads_and_page_faults_is_subtracted_from_computation() -> None:
    found = merge([report(cpu=26 * S, main_cpu=8 * S, threads=4, processors=4, system=S, minor_faults=10**6)])
    assert found.shares == pytest.approx({"threads": 6 / 26, "memory": 0.5 / 26, "compute": 19.5 / 26})
    # page faults take no time if the process spent no time in the kernel
    assert merge([report(minor_faults=10**9)]).shares.get("memory", 0) == 0


@pytest.mark.parametrize(
    ("threads", "processors", "seconds"),
    [
        pytest.param(4, 4, 2, id="all compute"),
        pytest.param(64, 2, 3, id="most of them idle"),
        pytest.param(1, 4, 6, id="ended before the process"),
        pytest.param(4, 0, 6, id="unknown processors"),
    ],
)
def test_threads_compute_on_the_processors_they_have(threads: int, processors: int, seconds: float) -> None:
    one = report(cpu=10 * S, main_cpu=4 * S, threads=threads, processors=processors, mpi=mpi(0, 1))
    assert merge([one]).shares == pytest.approx({"threads": seconds / 10, "compute": 1 - seconds / 10})


def test_threads_compute_no_longer_than_the_process_runs() -> None:
    found = merge([report(cpu=160 * S, main_cpu=8 * S, processors=16)])
    assert found.shares == pytest.approx({"threads": 10 / 160, "compute": 150 / 160})
    # main_cpu may exceed cpu, because the two clocks are read one after the other
    assert "threads" not in merge([report(main_cpu=9 * S, threads=2)]).shares


def test_a_job_of_several_mpi_programs_is_one_profile() -> None:
    reports = [
        report(start=START + run * 20 * S, mpi=mpi(rank, collectives=[collective("bcast", 1 + rank)]))
        for run in range(2)
        for rank in range(2)
    ]
    found = merge(reports)
    assert found.elapsed_s == 30 and found.shares["mpi.collective.bcast"] * 30 == pytest.approx(2)


def test_a_repeated_rank_belongs_to_the_next_run() -> None:
    order = [(0, 2), (0, 3), (1, 2), (1, 2), (0, 2), (0, 2), (1, 3)]
    reports = [report(pid=at, start=START + at, mpi=mpi(rank, ranks)) for at, (rank, ranks) in enumerate(order)]
    assert [[one.pid for one in run] for run in runs_of(reports)] == [[0, 2], [1, 6], [3, 4], [5]]


@pytest.mark.parametrize("name", ["PMIX_NAMESPACE", "PMI_JOBID"])
def test_concurrent_programs_are_distinguished_by_their_launch(name: str) -> None:
    order = [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 0), ("a", 1)]
    reports = [
        report(pid=at, start=START + at, mpi=mpi(rank), environment={name: launch, "SLURM_STEP_ID": str(at)})
        for at, (launch, rank) in enumerate(order)
    ]
    assert [[one.pid for one in run] for run in runs_of(reports)] == [[0, 3], [1, 2], [4, 5]]


def test_the_pmix_namespace_takes_precedence_over_variables_of_an_outer_launch() -> None:
    reports = [
        report(pid=rank, mpi=mpi(rank), environment={"PMIX_NAMESPACE": "a", "PMI_JOBID": str(rank)}) for rank in (0, 1)
    ]
    assert len(runs_of(reports)) == 1


def test_the_step_alone_does_not_separate_runs() -> None:
    """With mpirun, ranks on the first node have the batch script's step id, and older witnesses report only this id."""
    steps = enumerate(("4294967291", "0"))
    reports = [report(pid=rank, mpi=mpi(rank), environment={"SLURM_STEP_ID": step}) for rank, step in steps]
    assert len(runs_of(reports)) == 1


def test_runs_of_invented_sizes_are_separated_within_seconds() -> None:
    """In one job, 20,000 processes state different numbers of ranks; in another, 20,000 all claim to be rank 0."""
    first = report(mpi=mpi(0, 1))
    assert first.mpi
    sizes = [first.model_copy(update={"mpi": first.mpi.model_copy(update={"ranks": at})}) for at in range(20_000)]
    begin = time.process_time()
    assert len(runs_of(sizes)) == len(runs_of([first] * 20_000)) == 20_000
    assert time.process_time() - begin < 5


def test_io_below_mpi_io_is_not_counted_twice() -> None:
    below = {"op": "write", "fs": 0xEF53, "sequential": True, "mpi": True, "class": 20, "calls": 1, "bytes": 1, "ns": S}
    wrote = {"op": "write", "class": 20, "calls": 1, "bytes": 1, "ns": 2 * S}
    found = merge([report(files=[below], mpi=mpi(0, 1, mpi_files=[wrote]))])
    assert found.shares == {"mpi.io.write": 0.2, "compute": 0.8}
    assert found.files[0].mpi and found.files[0].filesystem == "ext4"


def test_tasks_are_those_of_the_largest_step_and_the_batch_scripts_own_processes_are_none() -> None:
    batch = {"SLURM_PROCID": "0", "SLURM_STEP_ID": "4294967291"}
    steps = [{"SLURM_PROCID": str(rank), "SLURM_STEP_ID": step} for rank, step in ((0, "0"), (0, "1"), (1, "1"))]
    assert merge([report(environment=batch), report(environment={"SLURM_PROCID": "0"})]).tasks == 0
    assert merge([report(environment=one) for one in [batch, *steps, steps[2]]]).tasks == 2


def test_the_profile_remarks_on_what_was_not_observed() -> None:
    found = merge([report(rchar=10 << 20)])
    assert "0 MB of 10 MB of read bytes" in found.remarks[0]
    assert "communication of an MPI program is missing" in merge([report(libraries=["libmpich.so.12"])]).remarks[0]
    assert any("without MPI_Finalize" in one for one in merge([report(mpi=mpi(0, 1, ended=0))]).remarks)


def test_a_written_profile_reads_back() -> None:
    found = merge([report(mpi=mpi(0, 1, collectives=[collective("bcast", 1)]))])
    assert read_profile(json.loads(json.dumps(found.to_json())), "x") == found
    with pytest.raises(TunerError, match="x: not a profile of version 1"):
        read_profile({**found.to_json(), "version": 2}, "x")


@pytest.mark.parametrize(
    "changed",
    [
        {"wall": 2**64},
        {"mpi": mpi(0, collective_samples=calls(stride=0))},
        {"mpi": mpi(0, collective_samples=calls(["x", "bcast", 0, 4, 0, 1, 2, 3]))},
        {"mpi": mpi(0, collectives=[{**collective("bcast", 1), "class": 10**10}])},
    ],
)
def test_numbers_that_no_process_has_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        report(**changed)


def test_control_characters_in_names_are_replaced() -> None:
    assert merge([report(program="/tmp/\x1b]0;x\x07y")]).programs == ["?]0;x?y"]


def test_reports_are_read_and_an_invalid_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TunerError, match="no process wrote a profile"):
        read_reports(tmp_path)
    (tmp_path / "a.json").write_text(report().model_dump_json(by_alias=True))
    (tmp_path / "b.json.part").write_text("{")  # as left by a process that was killed while writing its report
    assert len(read_reports(tmp_path)) == 1
    (tmp_path / "c.json").write_text("{}")
    with pytest.raises(TunerError, match=r"c\.json: not a report of this release's witness"):
        read_reports(tmp_path)
