# SPDX-License-Identifier: Apache-2.0
"""The pool and the running jobs as the database has them, for commands that run while the arbiter does."""

from __future__ import annotations

from collections.abc import Sequence

from reprise.config import Config
from reprise.database.for_support import SupportDatabase
from reprise.matcher.arbiter.forwarding_job import Job, Pool
from reprise.matcher.arbiter.record_curve import curve_in
from reprise.matcher.errors import ArbiterError


def pool_of(config: Config, forwarders: int) -> Pool:
    """Return the configured pool, with this number of working forwarders."""
    return Pool(forwarders, config.site.nodes, config.forwarding.direct, config.forwarding.default)


def present(database: SupportDatabase, config: Config) -> tuple[Pool, Sequence[Job]]:
    """Return the pool of the forwarders that work, and the running jobs that use forwarders.

    All configured forwarders count if no arbiter has checked them yet. A job whose curve cannot be read has none, as
    for the arbiter, which logs it.
    """
    cluster = config.site.cluster
    with database.one_state():
        shares = database.shares_now(cluster)
        starts = database.forwarded_jobs(cluster, [share.job_id for share in shares])
        states = database.states_now(cluster)
    stored = {(start.job_id, start.uid): start.parametrization for start in starts}
    jobs = []
    for share in shares:
        try:
            curve = curve_in(stored.get((share.job_id, share.uid), {}))
        except ArbiterError:
            curve = None
        jobs.append(Job(str(share.job_id), share.nodes, share.processes, curve))
    working = sum(state.works for state in states) if states else len(config.forwarding.forwarders)
    return pool_of(config, working), jobs
