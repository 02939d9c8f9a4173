# SPDX-License-Identifier: Apache-2.0
"""Test the forms of secrets in docs/reference/secrets.md: each is masked, or not, as the page states."""

from __future__ import annotations

import json
import re

import pytest

from reprise.database.masked_columns import OURS, masked_cell
from reprise.database.masked_json import masked_json
from reprise.database.upkeep import TABLES
from reprise.matcher.submission import Submission, parse
from reprise.matcher.submission.masked_metadata import masked
from reprise.matcher.submission.metadata import JobMetadata
from tests.places import ROOT

PAGE = (ROOT / "docs/reference/secrets.md").read_text()
SHORT, DRAWN, HEX = "hunter2x", "k3J9vQ2mX7pL4tR8wB5nY1cZ6hD0fG3sA9uE2iO7", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
GIVEN = {"S": SHORT, "R": DRAWN, "H": HEX}
FIXED = ("IOSFODNN7EXAMPLE", "YWxpY2U6aHVudGVyMg")


def forms(section: str) -> list[str]:
    """Return the first column of the table in a section of the page: forms of secrets."""
    text = PAGE.split(f"### {section}\n", 1)[1].split("\n## ", 1)[0].split("\n### ", 1)[0]
    return re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)


def submitted(form: str) -> JobMetadata:
    # The placeholders S, R and H are whole words, or next to lowercase letters and punctuation; `-H` is an option.
    text = re.sub(r"(?<![A-Z0-9])(?<! -)[SRH](?![A-Za-z])", lambda found: GIVEN[found.group()], form)
    script = f"#!/bin/bash\n#SBATCH -n 4\n{text.replace('; ', chr(10))}\n"
    return parse(Submission.for_script("/home/alice/job.sh", script), user="alice", submit_time=1.0)


def stored(job: JobMetadata) -> str:
    return json.dumps(job.to_json())


def found(text: str) -> list[str]:
    return [one for one in (*GIVEN.values(), SHORT[:6], DRAWN[:10], DRAWN[-10:], *FIXED) if one in text]


@pytest.mark.parametrize("form", forms("Masked"))
def test_a_form_is_masked(form: str) -> None:
    job = submitted(form)
    nothing_kept = not job.program  # some forms, such as `wandb login`, start no program that would be stored
    assert found(form) or found(stored(job)) or "$" in form or "set --" in form or nothing_kept, (
        "before masking, the stored job contains the secret"
    )
    assert not found(stored(masked(job)))
    assert masked(masked(job)) == masked(job)
    as_stored = masked_json(job.to_json())
    assert JobMetadata.from_json(as_stored) == masked(job), "metadata as JSON is masked like a job"
    assert json.loads(masked_cell(stored(job))) == as_stored, "a cell of text is masked like JSON"


@pytest.mark.parametrize("form", forms("Not found"))
def test_a_form_listed_as_not_found_is_not_masked(form: str) -> None:
    assert found(stored(masked(submitted(form))))


@pytest.mark.parametrize("form", forms("Not masked"))
def test_a_form_without_a_secret_is_unchanged(form: str) -> None:
    job = submitted(form)
    assert masked(job) == job


def test_the_page_lists_the_columns_that_are_not_masked() -> None:
    listed = {
        table: set(re.findall(r"`(\w+)`", columns))
        for table, columns in re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.split("## Columns\n", 1)[1], re.MULTILINE)
    }
    columns = {table.name: set(table.columns()) for table in TABLES}
    assert listed == {table: set(names) & columns[table] for table, names in OURS.items()}
