# SPDX-License-Identifier: Apache-2.0
"""Report of an evaluation, as JSON or as tables, which are also used in docs/reference/evaluation-tables.md."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from reprise.matcher.evaluation.measurement import WRONG, Answer, Measures, Verdict, by_kind, measure
from reprise.matcher.evaluation.share_interval import Share, share
from reprise.matcher.submission.metadata import JobMetadata

THRESHOLDS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
"""Thresholds at which every report shows results, in addition to the model's threshold."""
FAILURES = 6
EXAMPLES = 2
MEASURES = ("right_application", "right_nodes", "unknown_matched", "precision")
OUTCOMES = {
    Verdict.OTHER_NODES: "right application, other node count",
    Verdict.MISSED: "not matched",
    Verdict.CONFUSED: "matched with another application",
    Verdict.FALSE_MATCH: "matched, though never tuned",
}


@dataclass(frozen=True)
class Failure:
    """A type of wrong answer for one kind of job; `share` is the share of the kind's jobs that have this answer."""

    kind: str
    verdict: Verdict
    share: Share
    examples: tuple[Answer, ...]


@dataclass(frozen=True)
class Report:
    """Results of a model on a scenario, at the model's threshold."""

    scenario: str
    model: str
    threshold: float
    seeds: int
    answers: tuple[Answer, ...]

    @property
    def measures(self) -> Measures:
        """The measures over all jobs, at the model's threshold."""
        return measure(self.answers, self.threshold)

    def kinds(self) -> dict[str, Measures]:
        """Return the measures over each kind of job, at the model's threshold."""
        return {kind: measure(found, self.threshold) for kind, found in by_kind(self.answers).items()}

    def merged_kinds(self) -> list[tuple[list[str], Measures]]:
        """Return the measures over each kind of job; kinds without wrong answers are merged into one, the last."""
        kinds = by_kind(self.answers)
        right = [
            kind for kind, found in kinds.items() if not any(one.verdict(self.threshold) in WRONG for one in found)
        ]
        apart = [([kind], measure(found, self.threshold)) for kind, found in kinds.items() if kind not in right]
        if not right:
            return apart
        return [*apart, (right, measure([one for kind in right for one in kinds[kind]], self.threshold))]

    def by_threshold(self) -> dict[float, Measures]:
        """Return the measures over all jobs, at each of THRESHOLDS and at the model's threshold."""
        return {at: measure(self.answers, at) for at in sorted({*THRESHOLDS, self.threshold})}

    def failures(self) -> list[Failure]:
        """Return at most FAILURES failures, in decreasing order of the lower bound of `Failure.share`."""
        found = [one for kind, answers in by_kind(self.answers).items() for one in self._failures_of(kind, answers)]
        found.sort(key=lambda one: (-(one.share.low or 0.0), one.kind, one.verdict))
        return found[:FAILURES]

    def _failures_of(self, kind: str, answers: Sequence[Answer]) -> Iterator[Failure]:
        judged = [(answer, answer.verdict(self.threshold)) for answer in answers]
        for verdict in sorted(WRONG):
            failed = [answer for answer, what in judged if what is verdict]
            sites = (
                (sum(answer.seed == seed for answer in failed), sum(answer.seed == seed for answer in answers))
                for seed in {answer.seed for answer in answers}
            )
            if failed:
                yield Failure(kind, verdict, share(sites), tuple(failed[:EXAMPLES]))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object with the failures, and the measures over all jobs, by kind of job and by threshold."""
        return {
            **self.measures.to_json(),
            "kinds": {kind: measures.to_json() for kind, measures in self.kinds().items()},
            "by_threshold": [{"threshold": at, **found.to_json()} for at, found in self.by_threshold().items()],
            "failures": [
                {
                    "kind": one.kind,
                    "outcome": one.verdict,
                    "share": one.share.to_json(),
                    "examples": [_example(answer) for answer in one.examples],
                }
                for one in self.failures()
            ],
        }


def as_json(reports: Sequence[Report]) -> dict[str, Any]:
    """Return a JSON object with the model, its threshold, the number of seeds, and the report for each scenario."""
    first = reports[0]
    head = {"model": first.model, "threshold": first.threshold, "seeds": first.seeds}
    return {**head, **{report.scenario: report.to_json() for report in reports}}


def _example(answer: Answer) -> dict[str, Any]:
    nearest = answer.nearest.metadata.to_json() if answer.nearest else None
    return {
        "seed": answer.seed,
        "job": answer.query.job.to_json(),
        "application": answer.query.application,
        "nearest": nearest,
        "nearest_application": answer.found,
        "score": answer.score,
    }


@dataclass(frozen=True)
class Table:
    """A table whose cells are texts. `title` may be empty; every row has as many cells as `head`."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def headline(reports: Sequence[Report]) -> str:
    """Return a line that states the model, its threshold and the seeds."""
    first = reports[0]
    return (
        f"Model {first.model}, threshold {first.threshold:g}, seeds 0 to {first.seeds - 1}. "
        "Percent, with 95 % confidence intervals."
    )


def summary(reports: Sequence[Report]) -> Table:
    """Return a table of the measures with one row per scenario."""
    return Table("", ("scenario", *_HEAD), [(report.scenario, *_row(report.measures)) for report in reports])


def details(report: Report) -> list[Table]:
    """Return three tables: the measures by kind of job, the measures by threshold, and the most frequent failures.

    The table by kind omits the precision, because for most kinds of jobs, either all applications have a record or none
    has one. Kinds without a wrong answer share the last row. Consecutive thresholds with equal measures share a row.
    """
    kinds = [("; ".join(kinds), *_row(measures)[:-1]) for kinds, measures in report.merged_kinds()]
    thresholds = [(f"{at:g}", *_shares(measures)) for at, measures in report.by_threshold().items()]
    failures = [row for failure in report.failures() for row in _failure_rows(failure)]
    return [
        Table(f"{report.scenario}: by kind of job", ("kind", *_HEAD[:-1]), kinds),
        Table(f"{report.scenario}: by threshold", ("threshold", *_SHARES), _merged(thresholds)),
        Table(
            f"{report.scenario}: most frequent errors",
            ("kind", "error", "share of the kind", "for example", "nearest record", "score"),
            failures,
        ),
    ]


_SHARES = tuple(name.replace("_", " ") for name in MEASURES)
_HEAD = ("known", "unknown", *_SHARES)


def _row(measures: Measures) -> tuple[str, ...]:
    return (str(measures.right_application.n), str(measures.unknown_matched.n), *_shares(measures))


def _shares(measures: Measures) -> tuple[str, ...]:
    return tuple(percent(getattr(measures, name)) for name in MEASURES)


def _merged(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Merge consecutive rows that differ only in their first cells, which become one cell, e.g. `0.3 to 0.5`."""
    merged = []
    for cells, group in groupby(rows, key=lambda row: row[1:]):
        names = [row[0] for row in group]
        merged.append((names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}", *cells))
    return merged


def percent(part: Share) -> str:
    """Return a share and its interval in percent, such as `91.2 (88.0 to 93.6)`; a dash if there were no jobs."""
    if part.value is None or part.low is None or part.high is None:
        return "-"
    return f"{100 * part.value:.1f} ({100 * part.low:.1f} to {100 * part.high:.1f})"


def _failure_rows(failure: Failure) -> Iterator[tuple[str, ...]]:
    cells = (failure.kind, OUTCOMES[failure.verdict], percent(failure.share))
    for answer in failure.examples:
        nearest = described(answer.nearest.metadata) if answer.nearest else "none"
        yield (*cells, described(answer.query.job), nearest, f"{answer.score:.3f}")
        cells = ("", "", "")


def described(job: JobMetadata) -> str:
    """Describe a job in one line, by its user, name, node count, command and directory."""
    command = shlex.join([job.path, *_words(job.options)])
    return f"{job.user} {job.job_name} {job.nodes}n: {command} in {job.directory}"


def _words(options: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for key, values in options.items():
        for value in values:
            yield f"--{key}={value}" if key else value


def markdown(reports: Sequence[Report]) -> str:
    """Return the reports' tables as Markdown, the main content of docs/reference/evaluation-tables.md."""
    tables = [summary(reports), *(table for report in reports for table in details(report))]
    return "\n\n".join([headline(reports), *map(table_markdown, tables)]) + "\n"


def table_markdown(table: Table) -> str:
    """Return a table as Markdown below its title, or the title and `none` if the table is empty."""
    if not table.rows:
        return f"**{table.title}**: none"
    code = {"for example", "nearest record"}
    lines = [f"**{table.title}**\n"] if table.title else []
    lines += [_line(table.head), "|" + "---|" * len(table.head)]
    for row in table.rows:
        lines.append(_line([f"`{c}`" if name in code else c for name, c in zip(table.head, row, strict=True)]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
