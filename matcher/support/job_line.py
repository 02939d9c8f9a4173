# SPDX-License-Identifier: Apache-2.0
"""Description of a job in one line, for the mail that Slurm sends at the end of the job."""

from __future__ import annotations

from reprise.matcher.support.explanation import exit_text, headline
from reprise.matcher.support.job_story import Story
from reprise.matcher.support.jobs.run_time_rank import Beside
from reprise.output import on_one_line

LENGTH = 500
"""Maximum number of characters, so that a long reason does not fill the mail; usual lines have 150 to 300."""
WITHOUT_DECISION = {
    "off": "Reprise was switched off for this job.",
    "unreachable": "Reprise did not answer in time, so this job ran with its defaults.",
}


def job_line(job: str, story: Story, rank: Beside | None) -> str:
    """Return what Reprise did for a job, as one printable line.

    `story` and `rank` must be the part that the job's user may see. The line has the newest decision with its reason,
    which names the measured gain, and the run time of the newest run, next to those of the user's other jobs.
    """
    line = on_one_line(f"{_decided(story)} {_ran(story, rank)}")
    if len(line) > LENGTH:
        line = f"{line[: LENGTH - 3]}..."
    return f"{line} (reprise jobs show {job})"


def _decided(story: Story) -> str:
    verdict = story.outcomes[0].verdict if story.outcomes else ""
    if verdict in WITHOUT_DECISION or not story.decisions:
        return WITHOUT_DECISION.get(verdict, "Reprise made no decision about this job.")
    return f"Reprise: {_lower(headline(story.decisions[0].decision))}"


def _ran(story: Story, rank: Beside | None) -> str:
    last = story.outcomes[0] if story.outcomes else None
    if last is None or last.elapsed_s is None:
        return ""
    ran = f"It ran for {last.elapsed_s:.1f} s"
    if last.exit_status:
        return f"{ran} and failed ({exit_text(last.exit_status)})."
    others = (("with settings", rank.given), ("without", rank.held_out)) if rank else ()
    medians = [f"{of.median:.1f} s {kind} (median of {of.jobs})" for kind, of in others if of.median is not None]
    return f"{ran}; your other such jobs: {', '.join(medians)}." if medians else f"{ran}."


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
