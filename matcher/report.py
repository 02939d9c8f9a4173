# SPDX-License-Identifier: Apache-2.0
"""Explanations on a terminal, or as plain text where there is none. Values are users' words: shown, never obeyed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from database.model import Decision, Outcome, Record
from matcher.explain import headline, in_bits, outcome_text, record_text, score_text, waterfall, when

PLAIN_WIDTH = 160  # columns where the output is a file or a pipe


def console() -> Console:
    """Standard output. Rich honours NO_COLOR and finds out whether this is a terminal."""
    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH)


def printable(text: str) -> Text:
    """`text` without anything that a terminal would act upon."""
    return Text("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text))


def show(
    out: Console,
    decisions: Sequence[Decision],
    outcomes: Sequence[Outcome] = (),
    records: Mapping[int, Record] | None = None,
    shared: Mapping[str, int] | None = None,
) -> None:
    """All decisions for a job, newest first, and what the job reported.

    `shared`: for how many reports beside these a decision, by its id, was the answer too.
    """
    if len(decisions) > 1:
        out.print(printable(f"{len(decisions)} decisions, newest first"), end="\n\n")
    for decision in decisions:
        _show_decision(out, decision, (records or {}).get(decision.record_id or 0))
        out.print()
    if not decisions:
        out.print(printable("No decision was made for this job, and it was given nothing."))
    for outcome in outcomes:
        out.print(printable(f"The job (uid {outcome.uid}): {outcome_text(outcome)}"), soft_wrap=True)
    for key, count in (shared or {}).items():
        more = f"The same decision was for {count} more of the array's tasks: `reprise match explain {key}` shows all"
        out.print(printable(more), soft_wrap=True)


def _show_decision(out: Console, decision: Decision, record: Record | None) -> None:
    def say(text: str) -> None:
        out.print(printable(text), soft_wrap=True)

    job = "" if decision.job_id is None else f" for job {decision.job_id}"
    if decision.array_task is not None:  # the first that asked or reported; the others may share the decision
        job = f" for array task {decision.array_task} (job {decision.job_id}) and those submitted with it"
    say(f"Decision {decision.id}{job}: {decision.verdict}")
    say(headline(decision))
    say(
        f"Asked {when(decision.at)} at {decision.point} by {decision.user} (uid {decision.uid}), "
        f"mode {decision.mode}, answered in {decision.elapsed_ms:.1f} ms"
    )
    if record:
        say(f"From {record_text(record)}")
    out.print()
    if decision.fields:
        out.print(_waterfall(out, decision))
    say(score_text(decision))
    if decision.injected:
        out.print()
        say("Given:" if decision.verdict == "apply" else "Would have been given:")
        for name, value in decision.injected.items():
            say(f"  {name}={value}")
    if decision.alternatives:
        out.print()
        say("Records looked at:")
        out.print(_alternatives(out, decision))


def plain_table(out: Console) -> Table:
    return Table(box=box.SIMPLE_HEAD if out.is_terminal else None, pad_edge=False, padding=(0, 2, 0, 0))


def _waterfall(out: Console, decision: Decision) -> Table:
    table = plain_table(out)
    table.add_column("field")
    table.add_column("this job", overflow="fold")
    table.add_column("the record's", overflow="fold")
    for name in (
        ("similarity", "at most", "adds", "bits") if in_bits(decision) else ("similarity", "weight", "adds", "score")
    ):
        table.add_column(name, justify="right")
    for step in waterfall(decision.fields):
        table.add_row(
            printable("  " * step.depth + step.name),
            printable(step.left),
            printable(step.right),
            f"{step.similarity:.4f}",
            f"{step.weight:.4f}",
            f"{step.contribution:.4f}",
            "" if step.total is None else f"{step.total:.4f}",
            style="" if step.depth == 0 else "dim",
        )
    return table


def _alternatives(out: Console, decision: Decision) -> Table:
    table = plain_table(out)
    for name in ("record", "score"):
        table.add_column(name, justify="right")
    table.add_column("component")
    table.add_column("job", overflow="fold")
    table.add_column("", overflow="fold")
    for row in decision.alternatives:
        table.add_row(
            str(row["record"]),
            "" if row["score"] is None else f"{row['score']:.4f}",
            printable(row["component"]),
            printable(row["job"] or "(whole cluster)"),
            printable("used" if row["used"] else f"not used: {row['why']}" if row["why"] else "not used"),
        )
    return table
