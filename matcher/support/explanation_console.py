# SPDX-License-Identifier: Apache-2.0
"""Printing of explanations to a terminal, file or pipe; control characters in users' texts are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reprise.database.entities import Decision
from reprise.matcher.support.explanation import (
    HIDDEN,
    headline,
    job_text,
    mpi_text,
    outcome_text,
    score_text,
    share_text,
    shortfall_text,
    source_texts,
    top_texts,
    understood_rows,
    waterfall,
    when,
)
from reprise.matcher.support.io_patterns import pattern_texts
from reprise.matcher.support.job_story import Explained, Story
from reprise.matcher.support.shortfall import in_bits

if TYPE_CHECKING:
    from reprise.matcher.support.nearest_records import Top
    from reprise.matcher.support.understood_script import Understood

NAME_WIDTH = 13  # columns for a field's name on a narrow terminal; enough for the names in the preset models
PLAIN_WIDTH = 160  # width in columns if the output is a file or a pipe


def console() -> Console:
    """Return a Rich console for standard output, with PLAIN_WIDTH columns unless it is a terminal."""
    found = Console(highlight=False, markup=False, emoji=False)
    return found if found.is_terminal else Console(highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH)


def printable(text: str) -> Text:
    """Return `text` with unprintable characters escaped, so that the terminal does not interpret them."""
    return Text("".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text))


def show_understood(out: Console, script: str, parts: Sequence[Understood], unread: str = "") -> None:
    """Print each value that was read from a script, with its line; `unread` describes the part that was not read."""
    if unread:
        _say(out, f"{unread}.\n")
    _say(out, f"Read from {script}:\n")
    table = plain_table(out)
    table.show_header = False
    for fold in ("", "", "", ""):
        table.add_column(fold, overflow="fold")
    for name, value, where, text in understood_rows(parts):
        table.add_row(name, printable(value), where, printable(text), style="" if where else "dim")
    out.print(table)
    out.print()


def show(out: Console, story: Story) -> None:
    """Print all decisions about a job, newest first, and the job's reports."""
    if len(story.decisions) > 1:
        _say(out, f"{len(story.decisions)} decisions, newest first\n")
    for one in story.decisions:
        _show_decision(out, story, one)
        out.print()
    if not story.decisions:
        _say(out, "No decision was made for this job, and no settings were applied.")
    for outcome in story.outcomes:
        _say(out, f"The job (uid {outcome.uid}): {outcome_text(outcome)}")
    for text in pattern_texts(story):
        _say(out, text)
    for share in story.forwarders:
        _say(out, share_text(share))
    for key, count in story.shared.items():
        _say(
            out,
            f"This decision also applies to {count} more of the array's tasks: `reprise match explain {key}` shows all",
        )
    if story.hidden or any(one.hidden for one in story.decisions):
        _say(out, f"Values marked {HIDDEN} belong to another user, or would reveal how similar their job is.")
    if story.more:
        _say(out, "Older decisions or reports are not shown.")


def _say(out: Console, text: str) -> None:
    for line in text.split("\n"):
        out.print(printable(line), soft_wrap=True)


def _show_decision(out: Console, story: Story, one: Explained) -> None:
    decision = one.decision
    job = "" if decision.job_id is None else f" for job {decision.job_id}"
    if decision.array_task is not None:  # the first task that sent a request or report; others may share the decision
        job = f" for array task {decision.array_task} (job {decision.job_id}) and those submitted with it"
    _say(out, f"Decision {decision.id}{job}: {decision.verdict}")
    _say(out, headline(decision))
    _say(
        out,
        f"Asked {when(decision.at)} at {decision.point} by {decision.user} (uid {decision.uid}), "
        f"mode {decision.mode}, answered in {decision.elapsed_ms:.1f} ms",
    )
    for line in (*source_texts(story, decision), *job_text(decision), *mpi_text(decision)):
        _say(out, line)
    out.print()
    if decision.fields:
        out.print(_waterfall(out, decision))
    _say(out, score_text(decision, story.model, hidden="score" in one.hidden))
    for line in shortfall_text(decision, one.shortfall) if one.shortfall else ():
        _say(out, line)
    if decision.injected:
        out.print()
        _say(out, "Set:" if decision.verdict == "apply" else "Would have been set:")
        for name, value in decision.injected.items():
            _say(out, f"  {name}={value}")
    elif "injected" in one.hidden:
        out.print()
        _say(out, f"Would have been set: {HIDDEN}")
    if decision.alternatives:
        out.print()
        _say(out, "Records considered:")
        out.print(_alternatives(out, decision))


def show_top(out: Console, found: Top) -> None:
    """Print the records that are nearest to a job."""
    for line in top_texts(found):
        _say(out, line)


def plain_table(out: Console) -> Table:
    """Return an empty table in the style of all printed lists."""
    return Table(box=box.SIMPLE_HEAD if out.is_terminal else None, pad_edge=False, padding=(0, 2, 0, 0))


def _waterfall(out: Console, decision: Decision) -> Table:
    table = plain_table(out)
    table.add_column("field", overflow="fold", min_width=NAME_WIDTH)
    for name in ("this job", "the record's"):
        table.add_column(name, overflow="fold")
    for name in (
        ("similarity", "at most", "adds", "bits")
        if in_bits(decision.fields)
        else ("similarity", "weight", "adds", "score")
    ):
        table.add_column(name, justify="right", no_wrap=True)
    digits = 2 if in_bits(decision.fields) else 4
    for step in waterfall(decision.fields):
        table.add_row(
            printable("  " * step.depth + step.name),
            printable(step.left),
            printable(step.right),
            f"{step.similarity:.4f}",
            f"{step.weight:.{digits}f}",
            f"{step.contribution:.{digits}f}",
            "" if step.total is None else f"{step.total:.{digits}f}",
            style="" if step.depth == 0 else "dim",
        )
    return table


def _alternatives(out: Console, decision: Decision) -> Table:
    table = plain_table(out)
    for name in ("record", "score"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("component", "job", ""):
        table.add_column(name, overflow="fold")
    for row in decision.alternatives:
        table.add_row(
            str(row["record"]),
            "" if row["score"] is None else f"{row['score']:.4f}",
            printable(row["component"]),
            printable(HIDDEN if row.get("hidden") else row["job"] or "(whole cluster)"),
            printable("used" if row["used"] else f"not used: {row['why']}" if row["why"] else "not used"),
        )
    return table
