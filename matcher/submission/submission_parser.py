# SPDX-License-Identifier: Apache-2.0
"""Parser from a submission to JobMetadata.

As in Slurm, options of the command line override the environment, which overrides `#SBATCH` lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import basename, isabs, join, normpath

from reprise.matcher.submission.gpu_request import gets_gpus
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program import Program
from reprise.matcher.submission.program_arguments import read_options
from reprise.matcher.submission.script_contents import read_contents
from reprise.matcher.submission.size_options import equal_on_nodes, memory_on_each, node_count, positive
from reprise.matcher.submission.slurm_options import Parsed, given_options
from reprise.matcher.submission.submitted import ARGUMENT_LIMIT, TEXT_LIMIT, JobFacts, Submission

# Environment variables of each option, by command, in order of decreasing precedence. Only variables that sbatch, srun
# and salloc 22.05 really read are listed.
ENVIRONMENT: dict[str, dict[str, tuple[str, ...]]] = {
    "sbatch": {
        "account": ("SBATCH_ACCOUNT",),
        "distribution": ("SBATCH_DISTRIBUTION",),
        "job-name": ("SBATCH_JOB_NAME",),
        "partition": ("SBATCH_PARTITION",),
    },
    "salloc": {"account": ("SALLOC_ACCOUNT",), "partition": ("SALLOC_PARTITION",)},
    "srun": {
        "account": ("SLURM_ACCOUNT",),
        "chdir": ("SLURM_REMOTE_CWD", "SLURM_WORKING_DIR"),
        "distribution": ("SLURM_DISTRIBUTION",),
        "job-name": ("SLURM_JOB_NAME",),
        "nodes": ("SLURM_JOB_NUM_NODES",),
        "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
        "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
        "partition": ("SLURM_PARTITION",),
    },
    "batch": {  # when a job starts, Slurm sets these to the values that it granted
        "account": ("SLURM_JOB_ACCOUNT",),
        "distribution": ("SLURM_DISTRIBUTION",),
        "job-name": ("SLURM_JOB_NAME",),
        "nodes": ("SLURM_JOB_NUM_NODES",),
        "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
        "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
        "partition": ("SLURM_JOB_PARTITION",),
    },
}
# Options that may give a job several nodes without stating how many, and sbatch's variables for these options.
_SPREADING_NAMES = """
nodes ntasks-per-node gpus gpus-per-task gpus-per-socket nodefile nodelist ntasks-per-gpu ntasks-per-tres
ntasks-per-socket spread-job tres-per-task extra-node-info
"""
_SPREADING = frozenset(_SPREADING_NAMES.split())
_SPREADING_VARIABLES = frozenset({"SBATCH_GPUS", "SBATCH_GPUS_PER_TASK", "SBATCH_SPREAD_JOB"})
MEMORY = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_JOB_CPUS_PER_NODE")
# Placement of tasks (`JobMetadata.placement`), by the first word of `--distribution`.
PLACEMENTS = {"block": "core", "cyclic": "node"}


def parse(submission: Submission, *, user: str, submit_time: float, facts: JobFacts | None = None) -> JobMetadata:
    """Return the metadata of the submitted job. Never raises; fields that cannot be read stay unknown.

    `user` is the name of the user who submits, and `submit_time` is in Unix seconds. `facts` are the sizes that Slurm
    granted, for a job that has started.
    """
    given = given_options(submission)
    script = read_contents(submission, given)
    options = {**script.directives, **_from_environment(submission), **given.values}
    program = script.program
    running = submission.env if submission.command == "batch" else {}
    nodes, tasks, tasks_per_node = _size(
        options,
        program,
        facts or JobFacts(),
        is_one_node=_is_one_node(submission, options),
        on_nodes=running.get("SLURM_TASKS_PER_NODE", ""),
    )
    arguments = [argument[:TEXT_LIMIT] for argument in program.arguments[:ARGUMENT_LIMIT]]
    return JobMetadata(
        user=user,
        job_name=options.get("job-name", _default_name(submission, given))[:TEXT_LIMIT],
        program=program.name[:TEXT_LIMIT],
        path=program.path[:TEXT_LIMIT],
        options=read_options(arguments),
        submit_time=submit_time,
        nodes=nodes,
        tasks=tasks,
        tasks_per_node=tasks_per_node,
        partition=options.get("partition", "")[:TEXT_LIMIT],
        account=options.get("account", "")[:TEXT_LIMIT],
        directory=_directory(submission, options)[:TEXT_LIMIT],
        launcher=program.launcher,
        placement=PLACEMENTS.get(options.get("distribution", "").partition(":")[0].partition(",")[0].lower(), ""),
        modules=tuple(name[:TEXT_LIMIT] for name in script.modules),
        script=script.sketch,
        script_path=_script_path(submission, given),
        programs=tuple(name[:TEXT_LIMIT] for name in script.programs),
        processors=equal_on_nodes(running.get("SLURM_JOB_CPUS_PER_NODE", "")),
        memory=memory_on_each(*(running.get(name, "") for name in MEMORY)),
        gpus=gets_gpus(options, submission.command, submission.env),
        mpi_signs=script.mpi_signs,
    )


def _from_environment(submission: Submission) -> dict[str, str]:
    values = {}
    for option, names in ENVIRONMENT.get(submission.command, {}).items():
        for name in names:
            if name in submission.env:
                values[option] = submission.env[name]
                break
    return values


def _default_name(submission: Submission, given: Parsed) -> str:
    """Return Slurm's name for a job without `--job-name`."""
    match submission.command:
        case "salloc":
            return "interactive"
        case "srun":
            return basename(given.rest[0]) if given.rest else ""
        case "sbatch" if "wrap" in given.values:
            return "wrap"
        case "sbatch" if given.rest:
            return basename(given.rest[0])
        case "sbatch":
            return "sbatch"  # the script is read from standard input
    return ""


def _directory(submission: Submission, options: Mapping[str, str]) -> str:
    if submission.command == "batch" and submission.cwd:
        return submission.cwd  # Slurm has already applied --chdir
    base = submission.cwd or submission.env.get("SLURM_SUBMIT_DIR", "")
    chosen = options.get("chdir", "")
    if not chosen:
        return base
    return normpath(join(base, chosen)) if base or isabs(chosen) else chosen


def _script_path(submission: Submission, given: Parsed) -> str:
    """Return the absolute path of the submitted batch script; "" if it is unknown or too long.

    Once the job runs, the path is unknown, because slurmd runs a copy of the script.
    """
    if submission.command != "sbatch" or not submission.script or not submission.script.path or "wrap" in given.values:
        return ""
    path = normpath(join(submission.cwd, submission.script.path))
    return path if isabs(path) and len(path) <= TEXT_LIMIT else ""


def _is_one_node(submission: Submission, options: Mapping[str, str]) -> bool:
    """Return whether the job gets Slurm's defaults of one node and one task, unless `--ntasks` requests more tasks.

    This is so if all options are known and none of them can add nodes.
    """
    is_seen = submission.command == "salloc" or (
        submission.command == "sbatch" and (submission.script is not None or "wrap" in options)
    )
    return is_seen and not _SPREADING.intersection(options) and not _SPREADING_VARIABLES.intersection(submission.env)


def _size(
    options: Mapping[str, str], program: Program, facts: JobFacts, *, is_one_node: bool, on_nodes: str
) -> tuple[int | None, int | None, int | None]:
    """Return (nodes, tasks, tasks per node); a number that is not certain is None.

    If Slurm's options do not set the number of tasks, the launcher's number counts. Slurm never allocates more nodes
    than tasks. If options set neither the nodes nor the tasks, Slurm allocates one node and one task (`is_one_node`),
    but this is not certain if a launcher starts more tasks. For `-N 2 -n 4`, Slurm may start three tasks on one node
    and one on the other. `on_nodes` is Slurm's own list of the tasks on each node of a running job (`2(x3),1`).
    """
    on_each_node = equal_on_nodes(on_nodes)
    nodes = node_count(options.get("nodes", ""))
    tasks = positive(options.get("ntasks", ""))
    per_node = positive(options.get("ntasks-per-node", ""))
    if nodes and tasks:
        nodes = min(nodes, tasks)
    is_default = is_one_node and "ntasks" not in options and (program.tasks or 1) == 1
    if not nodes and (is_default or (is_one_node and tasks == 1)):
        nodes = 1
    nodes = facts.nodes or nodes
    if not tasks and nodes and per_node:
        tasks = nodes * per_node
    tasks = facts.tasks or tasks or program.tasks
    if not tasks and is_default:
        tasks = 1
    if not tasks and nodes and on_each_node:
        tasks = nodes * on_each_node
    if nodes and tasks:
        even = tasks // nodes if tasks % nodes == 0 and "," not in on_nodes else None
        if on_each_node == even or (per_node is None and (facts.tasks or 1 in (nodes, even))):
            per_node = even
        elif per_node != even:
            per_node = None
    return nodes, tasks, per_node
