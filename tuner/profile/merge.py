# SPDX-License-Identifier: Apache-2.0
"""Merge the reports of all processes of a job into the job's profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from reprise.tuner.profile import profile_tables as tables
from reprise.tuner.profile.process_report import ProcessReport
from reprise.tuner.profile.profile_shares import own_ns, shares
from reprise.tuner.profile.profile_values import Memory, Profile, Slowest
from reprise.tuner.profile.profiled_ranks import Rank
from reprise.tuner.profile.waiting import Waiting, measure

NS = 1e9
MPI = ("libmpi.so", "libmpich")  # prefixes of the file names of MPI libraries
SEEN_LEAST = 0.9  # the profile has a remark if a smaller share of the read or written bytes was attributed to calls

BATCH_STEP = 2**32 - 16  # smallest id of special steps, such as the batch script


def merge(reports: Sequence[ProcessReport]) -> Profile:
    """Return the profile of a job, given at least one report of its processes.

    If a job runs several MPI programs one after the other, the profile covers all of them.
    """
    begin, end = min(one.start for one in reports), max(one.end for one in reports)
    elapsed = max(end - begin, 1)
    parallel = [one for one in reports if one.mpi]
    runs = _runs(parallel)
    ranks, shifts = _ranks(runs) if runs else (_lanes(reports), {})
    slowest = max(ranks, key=lambda one: (own_ns(one), one.wall_ns, -(one.rank or 0)))
    alone = [one for one in reports if not one.mpi] if parallel else []
    hosts = {one.rank: one.reports[-1].host for one in ranks if one.rank is not None}
    spent = shares(slowest, alone, hosts, elapsed)
    last = max(slowest.reports, key=lambda one: one.wall)
    return Profile(
        elapsed_s=elapsed / NS,
        processes=len(reports),
        ranks=max((one.mpi.ranks for one in parallel if one.mpi), default=0),
        most_on_node=_most_on_node(runs),
        nodes=len({one.host for one in parallel or reports}),
        programs=_programs(parallel or reports),
        slowest=Slowest(
            rank=slowest.rank,
            host=last.host,
            program=last.program,
            wall_s=slowest.wall_ns / NS,
            waiting_s=slowest.waiting_ns / NS,
        ),
        shares={name: share for name, share in sorted(spent.items()) if share > 0},
        waiting=min(1.0, slowest.waiting_ns / elapsed),
        waiting_calls=dict(sum((Counter(one.calls) for one in slowest.waiting), Counter())),
        collectives=tables.collectives(slowest, parallel, hosts),
        messages=tables.messages(slowest, hosts),
        files=tables.files([*slowest.reports, *alone]),
        mpi_files=tables.mpi_files(slowest.reports),
        inputs=tables.inputs(reports),
        tasks=_tasks(reports),
        meta=tables.meta([*slowest.reports, *alone]),
        threads=tables.threads(last),
        memory=Memory(
            minor_faults=sum(one.minor_faults for one in slowest.reports),
            major_faults=sum(one.major_faults for one in slowest.reports),
            fault_us=last.fault / 1e3,
            peak_bytes=max(one.peak_rss for one in slowest.reports),
            involuntary_switches=sum(one.involuntary for one in slowest.reports),
        ),
        remarks=_remarks(slowest, reports, shifts),
    )


def _ranks(runs: Sequence[Sequence[ProcessReport]]) -> tuple[list[Rank], Mapping[str, float]]:
    found: dict[int, Rank] = {}
    shifts: dict[str, float] = {}
    for run in runs:
        waiting, shifted = measure(run)
        shifts |= shifted
        for one, waited in zip(run, waiting, strict=True):
            assert one.mpi is not None  # noqa: S101
            rank = found.setdefault(one.mpi.rank, Rank(one.mpi.rank))
            rank.reports.append(one)
            rank.waiting.append(waited)
    return list(found.values()), shifts


def _runs(parallel: Sequence[ProcessReport]) -> list[list[ProcessReport]]:
    """Group processes by the run of an MPI program that they were part of.

    If a rank occurs again, a new run has begun.
    """
    runs: dict[tuple[str, int, int], list[ProcessReport]] = {}
    seen: Counter[tuple[str, int, int]] = Counter()
    for one in sorted(parallel, key=lambda one: one.start):
        assert one.mpi is not None  # noqa: S101
        launch, ranks = _launch(one), one.mpi.ranks
        rank = launch, ranks, one.mpi.rank
        runs.setdefault((launch, ranks, seen[rank]), []).append(one)
        seen[rank] += 1
    return list(runs.values())


def _most_on_node(runs: Sequence[Sequence[ProcessReport]]) -> int:
    """Return the largest number of ranks on one node, in the runs with the most ranks."""
    size, hosts = 0, 0
    for run in runs:
        own = run[0].mpi.ranks if run[0].mpi else 0
        size, hosts = max((size, hosts), (own, max(Counter(one.host for one in run).values())))
    return hosts


def _launch(one: ProcessReport) -> str:
    """Return an identifier shared by the ranks that mpirun or srun started together; "" if it is unknown.

    The step id cannot serve as such an identifier: with mpirun, ranks on the first node have the step id of the batch
    script, and the other ranks have a different step id.
    """
    return one.environment.get("PMIX_NAMESPACE") or one.environment.get("PMI_JOBID") or ""


def _tasks(reports: Sequence[ProcessReport]) -> int:
    """Return the largest number of tasks in one step, without special steps such as the batch script."""
    of_step: dict[str, set[str]] = {}
    for one in reports:
        if (step := one.environment.get("SLURM_STEP_ID", "")).isdecimal() and int(step) < BATCH_STEP:
            of_step.setdefault(step, set()).add(one.environment.get("SLURM_PROCID", ""))
    return max(map(len, of_step.values()), default=0)


def _lanes(reports: Sequence[ProcessReport]) -> list[Rank]:
    """Group processes by Slurm task, since the processes of a task run one after the other or start each other."""
    lanes: dict[tuple[str, str, str], Rank] = {}
    for one in reports:
        step = one.environment.get("SLURM_STEP_ID", ""), one.environment.get("SLURM_PROCID", "")
        lane = lanes.setdefault((one.host, *step), Rank(None))
        lane.reports.append(one)
        lane.waiting.append(Waiting())
    return list(lanes.values())


def _programs(reports: Sequence[ProcessReport]) -> list[str]:
    """Return the names of up to 8 programs, in order of decreasing run time."""
    walls: Counter[str] = Counter()
    for one in reports:
        walls[PurePath(one.program).name] += one.wall
    return [name for name, _ in walls.most_common(8)]


def _remarks(slowest: Rank, reports: Sequence[ProcessReport], shifts: Mapping[str, float]) -> list[str]:
    """Return remarks on the limitations of the profile, one line each."""
    found = []
    for host, seconds in sorted(shifts.items()):
        found.append(f"the clock of {host} was {abs(seconds) * 1e3:.3f} ms {'ahead' if seconds > 0 else 'behind'}")
    lost = sum(one.mpi.lost for one in slowest.reports if one.mpi)
    if lost:
        found.append(f"{lost} MPI calls of the slowest rank were not counted: too many different calls")
    time = sum(calls.ns for one in slowest.reports if one.mpi for calls in one.mpi.messages)
    measured = sum(one.calls.get("p2p", 0) for one in slowest.waiting)
    if time > 0.01 * slowest.wall_ns and not measured:
        found.append("no messages could be matched between ranks, so all of their time counts as transfer")
    for name, done in (("read", "rchar"), ("write", "wchar")):
        all_ = sum(getattr(one, done) for one in slowest.reports)
        seen = sum(calls.bytes for one in slowest.reports for calls in one.files if calls.op == name)
        if slowest.rank is None and all_ > 1 << 20 and seen < SEEN_LEAST * all_:
            found.append(
                f"only {seen / 1e6:.0f} MB of {all_ / 1e6:.0f} MB of {name} bytes could be attributed: the rest went "
                "through pipes, sockets, text streams of C or io_uring"
            )
    if slowest.rank is None and any(library.startswith(MPI) for one in reports for library in one.libraries):
        found.append(
            "the communication of an MPI program is missing: it did not initialize MPI, or uses a different MPI "
            "from the one that the witness was built with (`make install-tools MPICC=...`)"
        )
    if slowest.rank is not None and any(one.mpi and not one.mpi.ended for one in slowest.reports):
        found.append("the program ended without MPI_Finalize")
    return found
