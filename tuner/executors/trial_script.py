# SPDX-License-Identifier: Apache-2.0
"""Write the script of a trial, `trial.sh`, which a Slurm job or the local executor runs.

An application's batch script is never rewritten. Its #SBATCH lines are copied to the top of `trial.sh`, so that they
take effect. The campaign's #SBATCH lines follow, because sbatch gives later lines precedence. Then `trial.sh` runs an
unchanged copy of the application's script as a child.
"""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from reprise.matcher.submission.size_options import equal_on_nodes, memory_on_each
from reprise.templates import render
from reprise.tuner.errors import TunerError
from reprise.tuner.executors.executor import TrialResult, ended, read_output, timed_out, variables
from reprise.tuner.executors.launch_lines import Launcher
from reprise.tuner.model import private_files
from reprise.tuner.model.component import MEMORY, PROCESSORS, TASKS_PER_NODE, TrialPlan

SCRIPT = "trial.sh"
RESULT = "result"
CLAIM = "claimed"  # symbolic link whose target is not a file but the id of the job that runs the trial
APPLICATION = "application.sh"  # copy of the user's script
BEFORE = "before.sh"
MARGIN_S = 60.0  # seconds by which Slurm's time limit exceeds the script's, before Slurm's is rounded up to minutes

DIRECTIVE = re.compile(r"#[A-Z]{2,}\b")  # #SBATCH, and directives of burst buffers: #BB, #DW, #SBB, ...
# Options that the application's script must not have: no later line can override them, or they create more than one
# job.
REFUSED = re.compile(r"#SBATCH\s+(?:.*\s)?(--array(?=[=\s]|$)|-a|hetjob\b|packjob\b|--wait(?=\s|$)|-W)")


@dataclass(frozen=True)
class TrialScript:
    """Writes trial scripts with the campaign's job name and sbatch options (partition, account, ...)."""

    job_name: str
    launcher: Launcher
    options: Sequence[str] = ()

    def text(self, plan: TrialPlan, directory: Path) -> str:
        """Return the text of a plan's script. Raise TunerError if the application's script cannot run unchanged."""
        own = variables(plan, directory)
        command = self.launcher.command(plan, own) if plan.script is None else interpreter(plan.script)
        if plan.script is not None:
            command.append(str(directory / APPLICATION))
        names = [*own, "LD_PRELOAD"] if plan.preload else list(own)
        return render(
            "trial.sh.j2",
            header=[] if plan.script is None else header(plan.script, plan.directives),
            job_name=self.job_name,
            nodes=0 if plan.script is not None else plan.nodes,
            tasks_per_node=plan.tasks_per_node,
            minutes=math.ceil((plan.timeout_s + MARGIN_S) / 60) if math.isfinite(plan.timeout_s) else 0,
            options=[*self.options, *plan.options],
            directives=[_one_line(line) for line in plan.directives],
            directory=directory,
            work_directory=plan.work_directory,
            script=plan.script is not None,
            exported=",".join(sorted(names)),
            environment=own,
            before=bool(plan.before),
            timeout_s=f"{plan.timeout_s:g}" if math.isfinite(plan.timeout_s) else "0",
            preload=":".join(plan.preload),
            command=command,
        )

    def write(self, plan: TrialPlan, directory: Path) -> Path:
        """Write a plan's script, and the files that it runs, to the trial's directory; return the script's path."""
        for name, text in beside(plan).items():
            private_files.write_text(directory / name, text)
        path = directory / SCRIPT
        private_files.write_text(path, self.text(plan, directory))
        return path


def beside(plan: TrialPlan) -> dict[str, str]:
    """Return the texts of the files that `trial.sh` runs, by name: the application's script and `before` commands."""
    found = {} if plan.script is None else {APPLICATION: plan.script}
    return found | ({BEFORE: plan.before + "\n"} if plan.before else {})


def header(script: str, directives: Sequence[str] = ()) -> list[str]:
    """Return the directive lines of a batch script up to its first command, where sbatch stops reading them.

    If `directives` has lines of a kind such as #SBB, the script's lines of this kind are left out, since the trial has
    its own. Raise TunerError if the script has options that no trial can have.
    """
    replaced = {line.split(maxsplit=1)[0] for line in directives if line.split()}
    lines = []
    for line in script.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if not DIRECTIVE.match(line) or line.split(maxsplit=1)[0] in replaced:
            continue
        if refused := REFUSED.match(line):
            raise TunerError(f"the application's script has `{line.strip()}`: a trial is one job: remove {refused[1]}")
        lines.append(line.rstrip())
    return lines


def interpreter(script: str) -> list[str]:
    """Return the interpreter in a script's first line, with its argument if it has one, split as the kernel does."""
    first = script.split("\n", 1)[0]
    words = first.removeprefix("#!").split(None, 1)
    if not first.startswith("#!") or not words:
        raise TunerError("the application's script does not begin with #!: add a first line like #!/bin/bash")
    return [word.strip() for word in words]


def read_result(plan: TrialPlan, directory: Path, job_id: int | None = None) -> TrialResult | None:
    """Return the result that a trial's script wrote at its end; None if the script has not written a result."""
    try:
        status, elapsed, nodes, *_ = (directory / RESULT).read_text(encoding="utf-8").split()
        output = read_output(directory, int(status), float(elapsed))
    except (OSError, ValueError):
        return None
    # timeout(1) returns 124 after SIGTERM, and 137 after SIGKILL.
    if output.exit_status in (124, 137) and output.elapsed_s >= plan.timeout_s:
        result = timed_out(output, plan.timeout_s, job_id)
    else:
        result = ended(output, job_id)
    return dataclasses.replace(result, nodes=int(nodes))


def read_sizes(directory: Path) -> dict[str, int]:
    """Return the processors, tasks and MiB of memory per node of a trial's job, by their keys in a context.

    A memory size of 0 means all memory. Numbers that Slurm did not report, or that differ between nodes, are left out.
    """
    try:
        words = (directory / RESULT).read_text(encoding="utf-8").split()[3:]
    except (OSError, ValueError):
        return {}
    fields = ["" if word == "-" else word for word in words]
    processors, tasks, per_node, per_processor, per_gpu = (*fields, "", "", "", "", "")[:5]
    memory = memory_on_each(per_node, per_processor, per_gpu, processors) if len(fields) > 2 else None
    found = {PROCESSORS: equal_on_nodes(processors), TASKS_PER_NODE: equal_on_nodes(tasks), MEMORY: memory}
    return {name: number for name, number in found.items() if number is not None}


def _one_line(text: str) -> str:
    if not DIRECTIVE.match(text) or "\n" in text:
        raise TunerError(f"{shlex.quote(text)}: a directive must be one line like `#SBB ...`: correct the component")
    return text
