# SPDX-License-Identifier: Apache-2.0
"""Running jobs and the pool of I/O forwarders, as the arbiter sees them."""

from __future__ import annotations

from dataclasses import dataclass

from reprise.matcher.arbiter.bandwidth_curve import BandwidthCurve
from reprise.matcher.errors import ArbiterError

COUNTS = (1, 2, 4, 8)
"""Numbers of forwarders that a formula may give to a job (Bez 2020, section 5.6); curves may have others."""


@dataclass(frozen=True)
class Job:
    """A running job: its compute nodes, its processes, and the curve of its application; None if it is unknown.

    `seconds_left` is its expected remaining run time: None if unknown, 0 or less if it runs for longer than expected.
    `has_client` is False if the job runs without the forwarding client, because it started without forwarders; it then
    can be given none until it ends.
    """

    id: str
    nodes: int
    processes: int
    curve: BandwidthCurve | None = None
    seconds_left: float | None = None
    has_client: bool = True

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.processes < 1:
            raise ArbiterError(
                f"job {self.id}: {self.nodes} nodes and {self.processes} processes: a running job has one at least"
            )


@dataclass(frozen=True)
class Pool:
    """The I/O forwarders of a system.

    `compute_nodes` is the number of the whole system, not of its running jobs. `direct` says whether jobs may access
    the file system without a forwarder. `default` is the number of forwarders for jobs of unknown applications; None
    means the number that STATIC gives.
    """

    forwarders: int
    compute_nodes: int
    direct: bool = True
    default: int | None = None
    counts: tuple[int, ...] = COUNTS

    def __post_init__(self) -> None:
        if self.forwarders < 0 or self.compute_nodes < 1:
            raise ArbiterError(
                f"a pool of {self.forwarders} forwarders for {self.compute_nodes} compute nodes: state 0 or more "
                "forwarders, and at least one node"
            )
        if self.default is not None and self.default < 0:
            raise ArbiterError(f"default of {self.default} forwarders: state 0 or more")
        if 1 not in self.counts or min(self.counts) < 1:
            raise ArbiterError("counts of a pool: they are 1 or more, and 1 is among them, since any job can use one")


@dataclass(frozen=True)
class Share:
    """Part of the pool that a job gets: a number of forwarders, or a place at the one forwarder that jobs share.

    Number 0 means direct access, unless `shared`.
    """

    forwarders: int
    shared: bool = False


def fits(forwarders: int, job: Job, pool: Pool) -> bool:
    """Return whether a job can use a number of forwarders exclusively.

    The job's compute nodes must be divisible by the number, so that all forwarders serve equally many nodes (Bez 2020,
    section 5.3).
    """
    if forwarders == 0:
        return pool.direct
    return forwarders <= pool.forwarders and job.nodes % forwarders == 0
