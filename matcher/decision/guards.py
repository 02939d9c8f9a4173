# SPDX-License-Identifier: Apache-2.0
"""Guards: conditions, in addition to a sufficient score, under which a job may get a record's settings.

A rules file, which selects Open MPI's algorithms for collective operations, is worse than none if it does not fit the
job's release of Open MPI. Unmodified Open MPI silently ignores an invalid file, and aborts the job if the file names an
unknown algorithm. Therefore a record is refused whenever there is doubt, and every refusal gives its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reprise.allowlist import PRELOAD_VARIABLE, first_unknown
from reprise.allowlist import VERSION as ALLOW_LIST_VERSION
from reprise.database.entities import RecordStatus, Scope
from reprise.matcher.decision.containers import Container, is_below
from reprise.matcher.decision.known_records import Known
from reprise.matcher.decision.mpi_guard import other_mpi, other_release, releases_of
from reprise.matcher.decision.refusal import Refusal
from reprise.matcher.decision.site_access import EVERYONE, Access
from reprise.matcher.decision.user_choices import conflict
from reprise.matcher.submission.metadata import JobMetadata

MPI_LAUNCHERS = ("mpirun", "mpiexec", "srun")
OF_GPUS = ("NCCL_", "RCCL_")  # prefixes of variables of libraries that only programs with GPUs use


@dataclass(frozen=True)
class Policy:
    """The site's rules for decisions.

    `mode` is "on", "observe" or "off". `openmpi` and `mpich` are the releases of Open MPI and MPICH that a job may
    load. `access` decides which jobs may get settings. If `predicted` is True, jobs also get settings that a model
    chose and a single comparison confirmed. `visible` are the host directories that all containers of the site contain.
    Libraries are preloaded from `preload_directory`.
    """

    cluster: str
    mode: str = "on"
    openmpi: tuple[str, ...] = ()
    access: Access = EVERYONE
    predicted: bool = False
    visible: tuple[str, ...] = ()
    preload_directory: str = ""
    mpich: tuple[str, ...] = ()


def refusal(
    record: Known,
    job: JobMetadata,
    uid: int | None,
    chosen: Sequence[str],
    policy: Policy,
    allow_list: int = ALLOW_LIST_VERSION,
    containers: Sequence[Container] = (),
) -> Refusal | None:
    """Return the reason why `job` must not get the settings of `record`; None if the job may get them.

    `uid` is the id of the job's user, None if unknown. `chosen` are the names of variables that the user has set.
    `allow_list` is the version of the list of variables that the job's plugin may set. `containers` are those that the
    job starts.
    """
    final = (
        _standing(record, uid)
        or _plugin(record, allow_list)
        or _place(record, policy)
        or _prediction(record, policy)
        or other_mpi(record.terms, job)
        or other_release(record, job)
        or _openmpi(record, job, policy)
        or _mpich(record, policy)
        or _users_choice(record, chosen)
        or (_gpus(job) if _is_of_gpus(record) else _launcher(record, job))
        or _preload(record, job)
        or _containers(record, containers, policy)
    )
    return Refusal(final) if final else _shape(record, job)


def _standing(record: Known, uid: int | None) -> str | None:
    if record.terms.status is not RecordStatus.ACTIVE:
        return f"is {record.terms.status}"
    if uid in record.terms.quarantined_for:
        return "is quarantined for this user, whose jobs it harmed"
    if not record.terms.gains:
        return f"may not gain anything (measured {record.gain:.1%}, at least {record.gain_low:.1%})"
    return f"cannot be given: {record.terms.problem}" if record.terms.problem else None


def _plugin(record: Known, allow_list: int) -> str | None:
    """Refuse a record with a variable that the job's plugin does not know: the plugin would refuse the whole answer."""
    name = first_unknown(record.terms.names, allow_list)
    return f"sets {name}, which the plugin of this job is too old to set: upgrade it on all hosts" if name else None


def _place(record: Known, policy: Policy) -> str | None:
    cluster = record.terms.context.cluster
    return (
        None if cluster in (None, policy.cluster) else f"was tuned on cluster {cluster}, and this is {policy.cluster}"
    )


def _prediction(record: Known, policy: Policy) -> str | None:
    if record.terms.context.predicted and not policy.predicted:
        return "was predicted, and the site does not use predicted records (set [matcher] predicted)"
    return None


def _openmpi(record: Known, job: JobMetadata, policy: Policy) -> str | None:
    """Refuse a record unless it is proved harmless to every Open MPI release that the job may load.

    Unless the job names a release, it may load all releases of the site.
    """
    proved = record.terms.context.openmpi
    if proved is None:
        return None
    releases, is_named = releases_of(job, policy.openmpi)
    if not releases:
        return "depends on Open MPI's release, and the site declares none (set [openmpi] releases)"
    missing = [release for release in releases if release not in proved]
    if missing:
        which = "which the job loads" if is_named else "which a job of this site may load"
        return f"was not proved harmless to Open MPI {', '.join(missing)}, {which}"
    return None


def _mpich(record: Known, policy: Policy) -> str | None:
    """Refuse a selection file unless it fits all MPICH releases of the site; it ends programs of other releases."""
    fitting = record.terms.context.mpich
    if fitting is None:
        return None
    if not policy.mpich:
        return "depends on MPICH's release, and the site declares none (set [mpich] releases)"
    missing = [release for release in policy.mpich if release not in fitting]
    return f"would end programs of MPICH {missing[0]}, which a job of this site may load" if missing else None


def _users_choice(record: Known, chosen: Sequence[str]) -> str | None:
    if not chosen:
        return None
    name = conflict((*record.terms.conflicts, *record.terms.names), chosen)
    return f"gives way to the user, who sets {name} in this job" if name else None


def _launcher(record: Known, job: JobMetadata) -> str | None:
    if record.terms.scope is Scope.CLUSTER and job.launcher not in MPI_LAUNCHERS:
        return f"is for MPI jobs, and the script starts nothing with {', '.join(MPI_LAUNCHERS)}"
    return None


def _is_of_gpus(record: Known) -> bool:
    return any(name.startswith(OF_GPUS) for name in record.terms.names)


def _gpus(job: JobMetadata) -> str | None:
    """Refuse a job without GPUs; the launcher is not checked, since programs with GPUs have launchers of their own."""
    return None if job.gpus else "is for jobs with GPUs, and the job requests none"


def _preload(record: Known, job: JobMetadata) -> str | None:
    if job.runtime and PRELOAD_VARIABLE in record.terms.names:
        return f"preloads a library, and the program, which has {job.runtime}, might not start with it"
    return None


def _containers(record: Known, containers: Sequence[Container], policy: Policy) -> str | None:
    """Refuse a record if a container of the job would lack the record's variables, or the files that these name.

    A library of the host may need another C library than the container's, and then ends the program at its start.
    Therefore only the site can allow preloaded libraries, not a user who binds their directory.
    """
    if not containers:
        return None
    names = ["LD_PRELOAD" if name == PRELOAD_VARIABLE else name for name in record.terms.names]
    if not all(container.passes(names) for container in containers):
        return "sets variables, and the container that the job runs in does not pass variables on"
    if PRELOAD_VARIABLE in record.terms.names and not is_below(policy.preload_directory, policy.visible):
        return "preloads a library of the host, and the job runs in a container, whose programs might not start with it"
    for place in record.terms.places:
        if not is_below(place, policy.visible) and not all(container.sees(place) for container in containers):
            return "sets a path of the host, and the job runs in a container, in which the path may not exist"
    return None


def _shape(record: Known, job: JobMetadata) -> Refusal | None:
    for (one, many), wanted, given in (
        (("node", "nodes"), record.terms.context.nodes, job.nodes),
        (("task per node", "tasks per node"), record.terms.context.tasks_per_node, tasks_per_node(job)),
        (("processor on a node", "processors on a node"), record.terms.context.processors, job.processors),
    ):
        if wanted is None or wanted == given:
            continue
        noun = one if wanted == 1 else many
        if given is None:
            return Refusal(f"was tuned for {wanted} {noun}, and how many the job gets is unknown", until_start=True)
        return Refusal(f"was tuned for {wanted} {noun}, and the job has {given:g}")
    return _memory(record, job) or _spread(record, job) or _placement(record, job)


def _memory(record: Known, job: JobMetadata) -> Refusal | None:
    """Refuse a job with less memory than the trials had.

    The record's settings may use more memory than the defaults, and Slurm kills a job that exceeds its limit.
    """
    wanted, given = record.terms.context.memory, job.memory
    if wanted is None or given == 0 or (given and 0 < wanted <= given):
        return None
    tuned = f"was tuned with {wanted} MiB of memory on a node" if wanted else "was tuned with all memory of a node"
    if given is None:
        return Refusal(f"{tuned}, and how much the job gets is unknown", until_start=True)
    return Refusal(f"{tuned}, and the job has {given} MiB")


def _spread(record: Known, job: JobMetadata) -> Refusal | None:
    """Refuse a job that may distribute its tasks unevenly, such as three on one node and one on another."""
    wanted = record.terms.context.tasks_per_node
    if wanted in (None, 1) or job.tasks_per_node is not None or job.nodes == 1:
        return None
    doubt = "the job may have more tasks on one node than on another"
    return Refusal(f"was tuned for {wanted} tasks per node, and {doubt}", until_start=True)


def _placement(record: Known, job: JobMetadata) -> Refusal | None:
    """Refuse a job with another task placement than the trials had, because collectives' run times depend on it.

    With the default placement (`core`), tasks fill one node after the other.
    """
    context = record.terms.context
    if context.openmpi is None or context.tasks_per_node == 1:
        return None
    wanted, given = context.placement or "core", job.placement or "core"
    if wanted == given:
        return None
    return Refusal(f"was tuned with tasks placed by {wanted}, and the job places tasks by {given}")


def tasks_per_node(job: JobMetadata) -> float | None:
    """Return the requested number of tasks per node, by default tasks divided by nodes; None if unknown."""
    if job.tasks_per_node is not None:
        return job.tasks_per_node
    if job.tasks is None or not job.nodes:
        return None
    return job.tasks / job.nodes
