# SPDX-License-Identifier: Apache-2.0
"""Check that the pages for support list exactly the messages and keys that the daemon and the commands print."""

from __future__ import annotations

import dataclasses
import re

from reprise.database import observed_jobs
from reprise.matcher.support.jobs import (
    job_listing,
    observed_benefit,
    past_jobs,
    run_time_rank,
    unmatched_classes,
    unread_scripts,
)
from reprise.matcher.support.staff import Reader
from tests.places import ROOT
from tests.unit.matcher.support.test_jobs import A_CLASS, A_JOB, AN_UNREAD_SCRIPT

PAGE = (ROOT / "docs/reference/reasons.md").read_text()
LOG = (ROOT / "docs/reference/log.md").read_text()
NOTIFY = ROOT / "reprise/notify"
KEYS = (ROOT / "docs/reference/commands.md").read_text()
SAID = "".join(PAGE.split(head)[1].split("\n\n")[0] for head in ("| text |", "| message |"))


def test_every_warning_of_the_daemon_is_explained_and_no_other() -> None:
    sources = "".join(path.read_text() for path in [*(ROOT / "matcher").rglob("*.py"), *NOTIFY.glob("*.py")])
    warnings = set(re.findall(r'warning\(\s*(?:log, )?(?:line\()?"([a-z-]+)"', sources))
    explained = [row.split("|")[1] for row in LOG.splitlines() if row.startswith("| `")]
    assert set(re.findall("`([a-z-]+)`", " ".join(explained))) == warnings


def test_every_answer_that_is_explained_is_given() -> None:
    source = (ROOT / "matcher/support/explanation.py").read_text()
    phrases = [
        part for answer in re.findall("^\\| `([^`]+)`", SAID, re.MULTILINE) for part in re.split(r"\d+|\.\.\.", answer)
    ]
    assert len(phrases) > 5
    assert [phrase for phrase in phrases if phrase.strip(" ,") not in source] == []


def test_what_is_quoted_by_symptom_is_said_by_the_commands() -> None:
    sources = "".join(path.read_text() for path in sorted((ROOT / "matcher").rglob("*.py")))
    quoted = re.findall(r'"([a-z][^"|`]+)"', (ROOT / "docs/how-to/troubleshooting.md").read_text())
    assert len(quoted) > 4
    parts = [part for one in quoted for part in re.split(r"\d+|\.\.\.", one)]
    assert [part for part in parts if part.strip(" :") not in sources] == []


def test_only_observing_jobs_that_match_is_not_a_cause_of_none() -> None:
    rows = [
        row.split("|")
        for row in (ROOT / "docs/how-to/troubleshooting.md").read_text().splitlines()
        if row.startswith("| ")
    ]
    symptoms = [row[1].strip() for row in rows]
    for at, row in enumerate(rows):
        symptom = next(one for one in reversed(symptoms[: at + 1]) if one)
        if "only observes" in row[2]:
            assert "`observe`" in symptom
        assert "all of them `none`" not in symptom or "observe" not in row[2]


def test_every_key_that_the_commands_for_jobs_print_is_explained() -> None:
    me = Reader(0, True)
    spread = run_time_rank.Spread(0, None, None, None)
    documents = {
        "list": job_listing.document([A_JOB], me, False),
        "show": {
            "version": 1,
            "explanation": {},
            "beside": run_time_rank.Beside(1, 2, "", spread, spread, []).to_json(),
        },
        "unmatched": unmatched_classes.document(
            [A_CLASS], unmatched_classes.Expected(0.1, 0, 0), me, lambda _rank: None
        ),
        "unknown": unread_scripts.document([AN_UNREAD_SCRIPT], me),
        "replay": past_jobs.History("thesis/1", 0, records={1: past_jobs.Share()}).to_json(),
    }
    share = observed_benefit.RecordShare(1, "x", 1, 1, 1.0, 0.1, 0.0, 0.2, "run time")
    seen = observed_jobs.ObservedClass(1, 4242424, "eve", "solve", 2, 1, 1, 1.0)
    report = observed_benefit.document(observed_benefit.Observed(0.0, 1, [share], [seen]), me)
    table = KEYS.split("| key of `report benefit --observe` |")[1].split("\n\n")[0]
    assert keys(report) <= set(re.findall(r"`(\w+)", table))
    documents["show"]["beside"]["runs"] = [dataclasses.asdict(run_time_rank.run(1.0, True, [], []))]
    for name, document in documents.items():
        table = KEYS.split(f"| key of `jobs {name}` |")[1].split("\n\n")[0]
        assert keys(document) <= set(re.findall(r"`(\w+)", table)), name


def keys(value: object) -> set[str]:
    """Return all keys in a JSON document."""
    if isinstance(value, dict):
        return {*value}.union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list | tuple) else set()
