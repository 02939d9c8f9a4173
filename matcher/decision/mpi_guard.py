# SPDX-License-Identifier: Apache-2.0
"""Guard that keeps the settings of one MPI from jobs that use another MPI.

Such settings would have no effect, but the jobs that got them would count as tuned: these jobs would dilute the
measured gain, take places in hold-out blocks, and slow the detection of harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from reprise.matcher.decision.known_records import TERMS, Known, Terms
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.mpi_families import OPEN_MPI, READ_BY, SETTINGS
from reprise.matcher.submission.which_mpi import which_mpi


def other_mpi(terms: Terms, job: JobMetadata) -> str | None:
    """Return the reason why a job's MPI does not read the settings of a record; None if it may read them.

    A record for Open MPI is refused if anything speaks against Open MPI. A record for another MPI is refused unless the
    job certainly uses that MPI, because Open MPI is what this site's jobs use by default.
    """
    for family in _tuned(terms.names, terms.context.openmpi is not None):
        mpi = which_mpi(job)
        if against := mpi.against(family):
            return f"is for {family}, and {against}"
        if family != OPEN_MPI and not (mpi.is_certain and mpi.family == family):
            return f"is for {family}, and the MPI of the job is {mpi}"
    return None


def other_release(record: Known, job: JobMetadata) -> str | None:
    """Return the reason why the release of a job's MPI does not fit a record; None if it may fit.

    Only the first two numbers of a release count. The numbers of algorithms differ between the releases of an MPI, so a
    record is refused if the job for which it was tuned and this job name different releases. Open MPI's releases are
    checked against those for which the record is proved.
    """
    for family in _tuned(record.terms.names, False):
        mpi = which_mpi(job)
        if family == OPEN_MPI or not mpi.release:
            continue
        for prefix, majors in READ_BY.items():
            name = next((name for name in record.terms.names if name.startswith(prefix)), "")
            if name and SETTINGS[prefix] == family and int(mpi.release.partition(".")[0]) not in majors:
                return f"sets {name}, which {family} {mpi.release} does not read"
        tuned = which_mpi(record.metadata) if record.metadata else None
        if tuned and tuned.family == family and tuned.release and _series(tuned.release) != _series(mpi.release):
            return f"was tuned with {family} {tuned.release}, and the job loads {mpi.release}"
    return None


def _series(release: str) -> list[str]:
    return release.split(".")[:2]


def releases_of(job: JobMetadata, site: Sequence[str]) -> tuple[Sequence[str], bool]:
    """Return the Open MPI releases that a job may load, and whether the job itself names its release.

    `site` are the releases that any job may load. A job that names only a series, such as 4.1, may load all of the
    site's releases in that series.
    """
    mpi = which_mpi(job)
    if mpi.family != OPEN_MPI or not mpi.is_certain or not mpi.release:
        return site, False
    is_series = mpi.release.count(".") == 1
    series = [release for release in site if is_series and release.startswith(f"{mpi.release}.")]
    if not is_series:
        return (mpi.release,), True
    return (series, True) if series else (site, False)


@lru_cache(maxsize=TERMS)
def _tuned(names: tuple[str, ...], is_for_openmpi: bool) -> tuple[str, ...]:
    """Return the MPI families whose variables a record sets; `is_for_openmpi` is True if its context says so."""
    found = [family for name in names for prefix, family in SETTINGS.items() if name.startswith(prefix)]
    return tuple(dict.fromkeys([OPEN_MPI, *found] if is_for_openmpi else found))
