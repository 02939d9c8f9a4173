# SPDX-License-Identifier: Apache-2.0
"""Jobs that were only observed, with the records whose settings they would have got."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from reprise.database.store import Store

# JSON is decoded here and not by SQL, whose functions for it differ between databases.
_SQL = """
SELECT d.record_id, d.uid, d.user, d.metadata, o.elapsed_s, o.confirmed
FROM decision AS d LEFT JOIN outcome AS o ON o.decision_id = d.id AND o.uid = d.uid AND o.cluster = d.cluster
WHERE d.at >= :since AND d.verdict = 'observe' AND d.record_id IS NOT NULL
"""


class _Metadata(msgspec.Struct):
    program: str | None = None
    job_name: str | None = None
    nodes: int | None = None


@dataclass(frozen=True)
class ObservedClass:
    """One user's observed jobs with one application and number of nodes that would have got one record's settings.

    `application` is the program or, if that is unknown, the job name. `jobs` counts each start of a job or of an array
    task, and decisions without a start. `ended` and `node_hours` are those of starts with a confirmed end; if `nodes`
    is None, each job counts as running on one node.
    """

    record_id: int
    uid: int
    user: str
    application: str
    nodes: int | None
    jobs: int
    ended: int
    node_hours: float


class ObservedJobs(Store):
    """Method that sums up the jobs that were only observed."""

    def observed(self, since: float) -> Sequence[ObservedClass]:
        """Return the classes of jobs with the verdict `observe` since `since` (Unix seconds), most node-hours first."""
        decoder = msgspec.json.Decoder(_Metadata)
        sums: dict[tuple[int, int, str, str, int | None], list[float]] = {}
        for row in self._rows(_SQL, {"since": since}):
            record_id, uid, user, metadata, elapsed_s, confirmed = tuple(row)
            known = decoder.decode(metadata)
            key = (record_id, uid, user, known.program or known.job_name or "", known.nodes)
            found = sums.setdefault(key, [0, 0, 0.0])
            found[0] += 1
            if confirmed and elapsed_s is not None:
                found[1] += 1
                found[2] += elapsed_s * (known.nodes or 1) / 3600
        classes = [ObservedClass(*key, int(jobs), int(ended), hours) for key, (jobs, ended, hours) in sums.items()]
        return sorted(classes, key=lambda one: (-one.node_hours, -one.jobs, one.user, one.application, one.record_id))
