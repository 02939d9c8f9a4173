# SPDX-License-Identifier: Apache-2.0
"""Test that commands that show what the database holds start without the modules that parse, link and decide."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from reprise.database import Database
from tests.places import ROOT
from tests.unit.database_values import decision, outcome, record

# Modules that take a tenth of a second or more to import, or import such modules.
DECIDING = {
    "reprise.matcher.decision.decide",
    "reprise.matcher.decision.known_records",
    "reprise.matcher.linkage.engine",
    "reprise.matcher.submission.submission_parser",
}
SLOW = {"jinja2", "numpy", "rapidfuzz", "reprise.matcher.wire.protocol"}
# Commands, and the modules of these that each of them needs; those that need none come first.
NEEDS = {
    "match explain 4711": set(),
    "match explain --json 4711": set(),
    "match explain 4712": set(),
    "jobs list": set(),
    "records list": set(),
    "db check": set(),
    "config show": set(),
    "status": {"numpy", "reprise.matcher.wire.protocol"},
}
RUN = """
import contextlib, io, json, sys
from reprise.cli.main import reprise
for words in sys.argv[2:]:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        reprise(["--config", sys.argv[1], *words.split()], standalone_mode=False)
    assert shown.getvalue().strip()
    print(json.dumps([words, *sys.modules]))
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    text = f'[site]\ncluster = "c"\n[database]\npath = "{directory}/reprise.db"\n'
    text += f'[matcher]\nsocket = "{directory}/matcher.sock"\n'
    (directory / "reprise.toml").write_text(text)
    with Database.open(directory / "reprise.db", create=True) as database:
        number = database.add_record(record())
        metadata = {"user": "alice", "program": "solver", "modules": ["openmpi/4.1.4"]}
        given = decision("d1", job_id=4711, verdict="apply", record_id=number, score=0.9, metadata=metadata)
        database.add_decision(given)
        database.add_decision(decision("d2", job_id=4712))
        for job_id, verdict in ((4711, "apply"), (4712, "none")):
            ended = outcome(job_id=job_id, verdict=verdict, ended_at=1600.0, elapsed_s=600.0, exit_status=0)
            database.report_end(ended)
    return directory / "reprise.toml"


def test_commands_import_only_what_they_need(file: Path) -> None:
    """All commands run in one process, which takes less time: a module stays imported for those that follow."""
    command = [sys.executable, "-c", RUN, str(file), *NEEDS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr
    for line in done.stdout.splitlines():
        words, *imported = json.loads(line)
        assert (DECIDING | SLOW) & set(imported) == NEEDS[words], words
    assert len(done.stdout.splitlines()) == len(NEEDS)


def test_the_modules_have_these_names() -> None:
    """A module that was renamed would never be imported, and the test above would prove nothing."""
    assert all(importlib.util.find_spec(name) for name in DECIDING | SLOW)
