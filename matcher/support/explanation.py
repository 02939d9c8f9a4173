# SPDX-License-Identifier: Apache-2.0
"""Explanation of a decision, as sentences and as rows of a waterfall with each field's contribution to the score.

`explanation_console` prints these rows and sentences.
"""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from reprise.database.entities import Decision, ForwarderShare, Outcome, Record, Scope, ServiceRun
from reprise.database.gain_subject import measured_gain, subject
from reprise.matcher.decision.record_owner import described
from reprise.matcher.linkage.features import OF_IO
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.stored_metadata import OMITTED
from reprise.matcher.submission.which_mpi import which_mpi
from reprise.matcher.support.job_story import Story, compared_with
from reprise.matcher.support.nearest_records import Near, Top, most_added, most_lost
from reprise.matcher.support.same_program import program_text
from reprise.matcher.support.shortfall import Change, Shortfall, in_bits

if TYPE_CHECKING:
    from reprise.matcher.support.understood_script import Understood

HIDDEN = "(hidden)"
NOT_LOGGED = "not-logged"  # id of a decision that is only shown, never logged

_TOLD = {
    "program": "program",
    "path": "path",
    "options": "options",
    "nodes": "nodes",
    "tasks": "tasks",
    "tasks_per_node": "tasks per node",
    "directory": "directory",
    "partition": "partition",
    "account": "account",
    "job_name": "job name",
    "launcher": "launcher",
    "modules": "modules",
    "script_path": "script",
    "io_patterns": "I/O patterns of earlier runs",
    OMITTED: "bytes left out",
}
"""Names shown for the keys of a job's metadata; other keys are shown elsewhere or mean nothing to readers."""
_OF_A_SCRIPT = {**_TOLD, "programs": "also starts"}


@dataclass(frozen=True)
class Step:
    """A row of the waterfall.

    `total` is the sum of the contributions up to this row. Rows for the parts of a field (`depth` 1) have no total.
    """

    name: str
    depth: int
    left: str
    right: str
    similarity: float
    weight: float
    contribution: float
    total: float | None


def waterfall(fields: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """Yield a row for each field of a decision, in order, followed by rows for the field's parts if it has several."""
    total = 0.0
    for field in fields:
        total += field["contribution"]
        yield _step(field, 0, total)
        if len(field["parts"]) > 1:
            for part in field["parts"]:
                yield _step(part, 1, None)


def _step(row: Mapping[str, Any], depth: int, total: float | None) -> Step:
    left, right = (value_text(row[side]) for side in ("left", "right"))
    right = HIDDEN if row.get("hidden") else right
    return Step(row["name"], depth, left, right, row["similarity"], row["weight"], row["contribution"], total)


def value_text(value: Any) -> str:
    """Return a compared value as text, with options in the form of a command line, and "" for an unknown value."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        words = (f"{'-' * min(len(key), 2)}{key} {' '.join(values)}".strip() for key, values in value.items())
        return " ".join(words)
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def understood_rows(parts: Sequence[Understood]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, value, source and line of each value read from a script; repeated names are replaced by ""."""
    before = ""
    for part in parts:
        value = "unknown" if part.value is None else value_text(part.value) or "none"
        name = _OF_A_SCRIPT[part.name] if part.name != before else ""
        yield name, value, f"line {part.line}" if part.line else part.source, part.text
        before = part.name


def when(time: float) -> str:
    """Return a time (Unix seconds) in this host's time zone, such as `2026-11-21 14:03:10 CET`."""
    return datetime.fromtimestamp(time).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def exit_text(status: int) -> str:
    """Return the text for a wait(2) status, such as `exit status 1`."""
    try:
        code = os.waitstatus_to_exitcode(status)
    except (ValueError, OverflowError):  # not a valid wait status
        return f"wait status {status}"
    if code < 0:
        return (
            f"killed by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"killed by signal {-code}"
        )
    return f"exit status {code}"


def headline(decision: Decision) -> str:
    """Return the verdict of a decision as one sentence."""
    were = "would be" if decision.id == NOT_LOGGED else "were"
    return {
        "apply": f"Settings {were} applied from {decision.reason}.",
        "none": f"No settings {were} applied: {decision.reason}.",
        "observe": f"No settings {were} applied: {decision.reason}.",
        "holdout": f"No settings {were} applied, for comparison: {decision.reason}.",
        "defer": f"The decision was postponed: {decision.reason}.",
    }.get(decision.verdict, f"{decision.verdict}: {decision.reason}.")


def score_text(decision: Decision, model: str = "", *, hidden: bool = False) -> str:
    """Return a sentence that compares the score with the threshold.

    `model` is the label of the model in force, "" if unknown. If `hidden` is True, the score is not shown, because it
    would reveal details of another user's record.
    """
    if hidden:
        return "The similarity to other users' jobs is not shown"
    if decision.score is None:
        return f"There was no record to compare with (threshold {decision.threshold:.4f})"
    relation = "reaches" if decision.score >= decision.threshold else "is below"
    total = sum(field["contribution"] for field in decision.fields)
    bits = f" ({total:+.2f} bits)" if in_bits(decision.fields) else ""
    since = f" (model {model} is in force now)" if model not in ("", decision.model) else ""
    return (
        f"Score {decision.score:.4f}{bits} {relation} the threshold {decision.threshold:.4f} "
        f"of model {decision.model}{since}"
    )


def shortfall_text(decision: Decision, lacked: Shortfall) -> Iterator[str]:
    """Yield sentences about the changes with which the job would have matched."""
    missing = f"{lacked.missing:.2f} bits" if in_bits(decision.fields) else f"{_up(lacked.missing):.4f}"
    nearest = compared_with(decision)
    what = f"record {nearest['record']}" if nearest else "the nearest record"
    lacks = f"It lacks {missing} to match {what}"
    if lacked.alone:
        yield f"{lacks}; this would have been enough: {_changes(lacked.alone, '; or ')}"
    elif lacked.together:
        yield f"{lacks}; this would have been enough, together: {_changes(lacked.together, ', and ')}"
    elif math.isfinite(lacked.missing):
        yield f"{lacks}; even equal values in all fields would not have been enough"
    yield f"A threshold of {math.floor((decision.score or 0.0) * 1e4) / 1e4:.4f} or less would also have been enough"
    if nearest and nearest.get("refusal"):
        yield f"Even then that record would not have been used: it {nearest['refusal']}"


def _changes(changes: Sequence[Change], between: str) -> str:
    return between.join(
        f"a similarity of {_up(change.needed):.4f} in {change.field} (is {change.similarity:.4f})"
        if _up(change.needed) < 1
        else f"the same {change.field}"
        for change in changes
    )


def _up(number: float) -> float:
    """Round a required similarity up to 4 decimals, so that the displayed value is sufficient."""
    return math.ceil(round(number * 1e4, 6)) / 1e4


def record_text(record: Record, hidden: bool = False) -> str:
    """Return a line that describes a record; if `hidden` is True, the line does not name the user or the program."""
    whose = "another user's job" if hidden else described(record)
    whose = "the whole cluster" if record.scope is Scope.CLUSTER else whose
    source = "" if record.campaign_id is None else f", campaign {record.campaign_id}"
    made = when(record.created_at)
    return (
        f"record {record.id}: {record.component} {record.component_version}, tuned for {whose}, {made}{source}; "
        f"{measured_gain(subject(record.parametrization))}{record.gain:.1%} "
        f"({record.gain_low:.1%} to {record.gain_high:.1%}); now {record.status}"
    )


def job_text(decision: Decision) -> Iterator[str]:
    """Yield a line with the job's known metadata that was not compared; yield nothing if there is none."""
    told = {part["name"] for field in decision.fields for part in field["parts"]}
    if "executable" in told:
        told.add("path")
    if told.intersection(OF_IO):
        told.add("io_patterns")
    known = ((name, decision.metadata.get(name)) for name in _TOLD if name not in told)
    texts = [f"{_TOLD[name]} {value_text(value)}" for name, value in known if value not in (None, "", [], {})]
    if texts:
        yield f"{'Not compared' if decision.fields else 'The job'}: {'; '.join(texts)}"


def mpi_text(decision: Decision) -> Iterator[str]:
    """Yield a line with the MPI that the job uses, and its signs; yield nothing if the job shows no sign of an MPI."""
    words = {name: decision.metadata.get(name) or () for name in ("modules", "mpi_signs")}
    if any(not isinstance(one, list | tuple) for one in words.values()):
        return
    job = JobMetadata(
        user="",
        modules=tuple(map(str, words["modules"])),
        mpi_signs=tuple(map(str, words["mpi_signs"])),
        mpi_library=str(decision.metadata.get("mpi_library") or ""),
    )
    found = which_mpi(job)
    if found.evidence:
        yield f"MPI: {found}"


def source_texts(story: Story, decision: Decision) -> Iterator[str]:
    """Yield lines about the record that the settings come from, the compared record, and the programs' similarity."""
    shown = compared_with(decision)
    compared = shown["record"] if shown else decision.record_id
    for how, number in (("From", decision.record_id), ("Compared with", compared)):
        if number is not None and (how == "From" or number != decision.record_id):
            record = story.records.get(number)
            what = record_text(record, number in story.hidden) if record else f"record {number}, which no longer exists"
            yield f"{how} {what}"
            if (spent := story.profiles.get(number)) and number not in story.hidden:
                yield f"Time of record {number}'s application: {spent}"
    if same := program_text(decision.fields):
        yield f"Program file compared with record {compared}: {same}"


def outcome_text(outcome: Outcome) -> str:
    """Return a line that describes one run of a job, as reported by the job."""
    task = "" if outcome.array_task is None else f"array task {outcome.array_task} (job {outcome.job_id}): "
    verdicts = {
        "off": "Reprise was switched off for the job, by its user (--reprise=off) or by the site",
        "unreachable": "no matcher answered in time, so it ran with defaults",
    }
    told = verdicts.get(outcome.verdict, f"verdict {outcome.verdict}, {_reach(outcome)}")
    if outcome.ended_at is None:
        return f"{task}started {when(outcome.started_at)}; {told}; its end was not reported"
    elapsed = "" if outcome.elapsed_s is None else f" after {outcome.elapsed_s:.1f} s"
    status = "" if outcome.exit_status is None else f", {exit_text(outcome.exit_status)}"
    doubt = "" if outcome.confirmed else " (reported only by the job itself: not confirmed, so it is not counted)"
    return f"{task}started {when(outcome.started_at)}, ended {when(outcome.ended_at)}{elapsed}{status}{doubt}; {told}"


def share_text(share: ForwarderShare) -> str:
    """Return a line on the forwarders that served a job for some time, and why."""
    served = ", ".join(share.forwarders) or "none, direct access"
    until = "" if share.until is None else f" to {when(share.until)}"
    return f"I/O forwarders from {when(share.at)}{until}: {served}: {share.reason or f'by {share.policy}'}"


def _reach(outcome: Outcome) -> str:
    """Return a text that says how many settings reached the job's tasks."""
    variables = f"{outcome.applied} variable{'s' * (outcome.applied != 1)} set"
    number = f"{outcome.unreadable} file{'s' * (outcome.unreadable != 1)}"
    files = f"the variables name {number} that the user cannot read on the node"
    if outcome.unreadable and not outcome.applied:
        return f"nothing set: {files} (see artifacts.directory)"
    if outcome.unreadable:
        variables += f", but {files} (see artifacts.directory)"
    if outcome.present is None or not outcome.applied:
        return variables
    if outcome.present >= outcome.applied:
        return f"{variables}, and the tasks of its first step have them"
    return (
        f"{variables}, but the tasks of its first step have only {outcome.present}: the script, or an option of srun, "
        "removed the others"
    )


def silence_text(
    job: str, submitted: float | None, served: bool, before: ServiceRun | None, after: ServiceRun | None
) -> str:
    """Return the reason why the matcher has no information about a job.

    `submitted` is the time of submission according to Slurm, in Unix seconds; None if Slurm does not know the job
    either. `served` is True if one run of the daemon covers the whole second of submission. `before` is the last run of
    the daemon that started before the submission, and `after` the first that started after it.
    """
    if submitted is None:
        return f"nothing is known of job {job}, neither by the matcher nor by Slurm: check the number"
    if served:
        return (
            f"the matcher was running when job {job} was submitted ({when(submitted)}), but received no request: "
            "run `reprise doctor` on the host that submitted it; or the user reached a limit on requests or stored "
            "data that day: look for `event=not-now` and `event=not-stored` in the log"
        )
    ended = "it had not run before" if not before else _end_of(before)
    begun = "it has not run since" if not after else f"started {when(after.started_at)}"
    return f"the matcher was not running when job {job} was submitted, {when(submitted)} ({ended}, {begun})"


def elsewhere_text(job: str, cluster: str, others: Sequence[str], reason: str) -> str:
    """Return a text on a job that is unknown on `cluster`, although other clusters have a job with its number.

    `reason` is the text for the case that the user means none of these jobs.
    """
    names = ", ".join(others)
    return (
        f"job {job} is unknown on cluster {cluster}, but known on {names}: if this is the job, give "
        f"`--cluster {others[0]}`, and if Slurm's ClusterName is {others[0]}, set site.cluster; otherwise, {reason}"
    )


def waiting_text(job: str, decisions: Sequence[str]) -> str:
    """Return the reason why no decision can be found yet for a job that waits in the queue.

    A job gets its number only after its decision has been made. `decisions` are the ids of decisions that may be the
    job's.
    """
    known = f"job {job} waits in the queue, and its decision can be found by the job's number only after the job starts"
    ask = (
        f"`reprise match explain {decisions[0]}`" if len(decisions) == 1 else "`sbatch --reprise=explain` at submission"
    )
    return f"{known}: until then, use {ask}"


def unknown_text(job: str) -> str:
    """Return the possible reasons why a user gets no explanation of a job."""
    return (
        f"nothing is known of a job {job} of yours: the number is wrong, the job is another user's or has not started, "
        "the matcher received no request for it, or you exceeded your limit of requests or of stored data: "
        "check the number with `scontrol show job`, or ask support staff"
    )


def _end_of(run: ServiceRun) -> str:
    return f"stopped {when(run.stopped_at)}" if run.stopped_at else f"last seen {when(run.seen_at)}"


def top_texts(found: Top) -> Iterator[str]:
    """Yield lines that describe the nearest records, and a line that marks the threshold between them."""
    job = found.job
    nodes = "" if job.nodes is None else f" on {job.nodes} node{'s' * (job.nodes != 1)}"
    first = f" (matches with the same {', '.join(found.prefer)} first)" if found.prefer else ""
    yield f"Nearest to {job.user}'s {job.program or job.job_name or 'job'}{nodes}, by model {found.model}{first}:"
    yield ""
    if not found.nearest:
        yield "  no tuned job is known yet"
    reach = sum(near.score >= found.threshold for near in found.nearest)
    for place, near in enumerate(found.nearest):
        if place == reach:
            yield f"------ below the threshold {found.threshold:.4f} ------"
        yield from _near_texts(place + 1, near)
    if found.nearest and reach == len(found.nearest):
        yield f"------ all of these reach the threshold {found.threshold:.4f} ------"


def _near_texts(place: int, near: Near) -> Iterator[str]:
    record, bits = near.record, in_bits(near.fields)
    total = f" ({sum(field['contribution'] for field in near.fields):+.2f} bits)" if bits else ""
    yield (
        f"{place:>3}. {near.score:.4f}{total}  record {record.id}: {described(record)}, {record.component}, "
        f"{measured_gain(record.subject)}{record.gain:.1%} (at least {record.gain_low:.1%})"
    )
    for how, pairs in (("adds most", most_added(near.fields)), ("lacks most", most_lost(near.fields))):
        if pairs:
            yield f"      {how}: " + ", ".join(
                f"{name} {value:.2f}" if bits else f"{name} {value:.4f}" for name, value in pairs
            )
    if near.refusal:
        yield f"      not used: it {near.refusal}"
