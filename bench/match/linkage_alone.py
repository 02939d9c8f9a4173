# SPDX-License-Identifier: Apache-2.0
"""Measure linkage without the daemon: its quality, and its speed compared with recordlinkage."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

from bench.match.large_site import CLUSTER_NODES, Site
from reprise.matcher.evaluation.measurement import HEADLINE
from reprise.matcher.evaluation.scenario_catalogue import evaluate
from reprise.matcher.linkage import Engine, LinkableRecord, load
from reprise.matcher.submission.metadata import JobMetadata

QUICK_JOBS, SLOW_JOBS = 200, 5
SEEDS = 10


def speedup(model: str, records: int) -> dict[str, Any]:
    """Compare how long the linkage engine and a reference take to find and explain the best five of `records` records.

    The result has the times of the engine and of the reference, and their ratio. Before the measurement, both read the
    records, and the engine links other jobs and caches their data, as in a daemon. The reference compares the job with
    each record by means of recordlinkage.Compare and jellyfish.
    """
    from reprise.matcher.linkage.reference_engine import Reference  # imports recordlinkage, which takes 2 s

    rng = random.Random(records)  # noqa: S311 - not used for security
    site = Site(rng, max(50, min(1000, records // 100)))
    known = [LinkableRecord(n, job, job.submit_time, rng.random()) for n, job in enumerate(site.jobs(records))]
    jobs = list(site.jobs(QUICK_JOBS))
    engine, reference = (
        kind(load(model), known, cluster_nodes=CLUSTER_NODES, timezone="UTC") for kind in (Engine, Reference)
    )
    for job in site.jobs(QUICK_JOBS):
        engine.link(job)
    quick = statistics.median(_seconds(engine.link, job) for job in jobs)
    slow = statistics.median(_seconds(reference.link, job) for job in jobs[:SLOW_JOBS])
    return {
        "linkage_ms": round(quick * 1e3, 3),
        "recordlinkage_ms": round(slow * 1e3, 1),
        "speedup_vs_recordlinkage": round(slow / quick),
    }


def _seconds(link: Callable[[JobMetadata], object], job: JobMetadata) -> float:
    begun = time.perf_counter()
    link(job)
    return time.perf_counter() - begun


def quality(model: str) -> dict[str, Any]:
    """Return the shares of right decisions (0 to 1) on two synthetic sites, computed as by `reprise match evaluate`."""
    found = {name: evaluate(load(model), name, SEEDS).measures for name in ("thesis", "hard")}
    return {name: {key: getattr(measures, key).value for key in HEADLINE} for name, measures in found.items()}
