# SPDX-License-Identifier: Apache-2.0
"""Print the output of the demonstration, and record the results of its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table

console = Console(highlight=False, width=max(Console().width, 120), soft_wrap=True)


@dataclass(frozen=True)
class Job:
    """A submitted job and its result.

    `submit_s` is the duration of `sbatch`, and `run_s` is the run time of the solver, both in seconds. `run_s` is None
    if the job ran another program.
    """

    title: str
    job_id: int
    user: str
    directory: str
    command: str
    submit_s: float
    output: str
    run_s: float | None
    decision: dict[str, Any] | None


@dataclass
class Shown:
    """The results so far: the data for the last line of output, the jobs, and the expectations that were not met."""

    numbers: dict[str, Any] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def expect(self, holds: bool, what: str) -> bool:
        """Print and return whether a step showed the expected result (`holds`), and record a failure."""
        console.print(f"   [green]ok[/green]     {what}" if holds else f"   [red]FAILED[/red] {what}")
        if not holds:
            self.failures.append(what)
        return holds


def heading(number: int, text: str) -> None:
    """Print the heading of a step."""
    console.print(f"\n[bold]{number}. {text}[/bold]")


def tell(text: str) -> None:
    """Print an indented line."""
    console.print(f"   {text}", markup=False)


def injected(decision: dict[str, Any]) -> dict[str, str]:
    """Return the variables that a decision set for its job, empty unless the decision was applied."""
    return dict(decision["injected"]) if decision["verdict"] == "apply" else {}


def table(shown: Shown) -> Table:
    """Return a table with one row per job."""
    made = Table(
        title="\nThe jobs", title_justify="left", box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0)
    )
    for name in ("job", "user", "directory", "submitted as"):
        made.add_column(name)
    made.add_column("solved in", justify="right")
    made.add_column("decision")
    made.add_column("score", justify="right")
    made.add_column("given")
    for job in shown.jobs:
        solved = "" if job.run_s is None else f"{job.run_s:.2f} s"
        verdict, score, given = "no decision", "", "nothing"
        if job.decision:
            verdict = job.decision["verdict"]
            score = "" if job.decision["score"] is None else f"{job.decision['score']:.3f}"
            given = f"{len(injected(job.decision))} variables" if injected(job.decision) else "nothing"
        made.add_row(str(job.job_id), job.user, job.directory, job.command, solved, verdict, score, given)
    return made
