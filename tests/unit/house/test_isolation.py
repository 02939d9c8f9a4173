# SPDX-License-Identifier: Apache-2.0
"""Test that Reprise, however it is started, imports no modules from PYTHONPATH or the current directory."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest
import yaml

from reprise.database import Database
from reprise.matcher.errors import DaemonUnreachableError
from reprise.matcher.wire.client import PING, ask
from tests.ordinary_user import AS_ORDINARY_USER
from tests.places import ROOT
from tests.unit.component_values import definition
from tests.unit.database_values import record
from tests.waiting import wait_for
from tests.web.site import free_port

COMMAND = Path(sys.executable).with_name("reprise")
SHADOWS = ("database", "matcher", "numpy", "reprise", "sqlite3", "templates", "tuner", "uvicorn", "web", "yaml")
# Matches lines that start Python, in the files that are shipped.
STARTS_PYTHON = re.compile(r"^(?!\s*(?:#|--|//)).*\b(?:python3?|PYTHON)\b.*$", re.MULTILINE)


class Place:
    """A configuration, and modules that must not be imported: an imported module writes its name to `imported`."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.shadows, self.imported = directory, directory / "shadows", directory / "imported"
        for name in ("shadows", "run", "components"):
            (directory / name).mkdir()
        for name in (*SHADOWS, "sitecustomize", "usercustomize"):
            text = f"open({str(self.imported)!r}, 'a').write({name!r})\nraise SystemExit('the wrong {name}')\n"
            (self.shadows / f"{name}.py").write_text(text)
        self.config, self.port = directory / "reprise.toml", free_port()
        self.config.write_text(
            f'[database]\npath = "{directory}/reprise.db"\n[artifacts]\ndirectory = "{directory}/artifacts"\n'
            f'[matcher]\nsocket = "{directory}/run/matcher.sock"\n[web]\nlisten = "127.0.0.1:{self.port}"\n'
            f'[tuner]\ncomponents = "{directory}/components"\nwork = "{directory}/work"\n'
        )
        with Database.open(directory / "reprise.db", create=True) as database:
            database.add_record(record())

    @property
    def environment(self) -> dict[str, str]:
        variables = {"PYTHONPATH": str(self.shadows), "PYTHONSTARTUP": str(self.shadows / "numpy.py")}
        return {**os.environ, **variables, "PYTHONUSERBASE": str(self.directory), "HOME": str(self.directory)}

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [*AS_ORDINARY_USER, *words]
        return subprocess.run(
            command, cwd=self.shadows, env=self.environment, capture_output=True, text=True, check=False
        )

    @contextmanager
    def serving(self, *words: str) -> Iterator[None]:
        log = self.directory / f"{words[0]}.log"
        with log.open("wb") as out:
            command = [str(COMMAND), "--config", str(self.config), *words]
            process = subprocess.Popen(command, cwd=self.shadows, env=self.environment, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)
            sys.stdout.write(log.read_text())


@pytest.fixture
def shadowed(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_wrong_modules_are_imported_without_isolation(shadowed: Place) -> None:
    done = shadowed.run(sys.executable, "-c", "import numpy")
    assert "the wrong" in done.stderr and shadowed.imported.exists()


@pytest.mark.slow
def test_the_daemon_and_its_processes_import_their_own_modules(shadowed: Place) -> None:
    socket = shadowed.directory / "run/matcher.sock"

    def answers() -> bool:
        try:
            return bool(ask(socket, PING, 1.0).get("records") == 1)
        except DaemonUnreachableError:
            return False

    with shadowed.serving("serve"):
        wait_for("the daemon", answers, 30)
    assert not shadowed.imported.exists()


@pytest.mark.slow
def test_the_pages_import_their_own_modules(shadowed: Place) -> None:
    def answers() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{shadowed.port}/sign-in").status_code == 200
        except httpx.TransportError:
            return False

    with shadowed.serving("web", "serve"):
        wait_for("the pages", answers, 30)
    assert not shadowed.imported.exists()


@pytest.mark.slow
def test_a_campaign_imports_its_own_modules(shadowed: Place) -> None:
    component = definition({"SRO_SIZE": {"default": 4, "values": [0, 4]}})
    (shadowed.directory / "components/small.yaml").write_text(yaml.safe_dump(component))
    script = shadowed.directory / "run.sh"
    script.write_text("#!/bin/bash\ntrue\n")
    campaign = {
        "name": "small",
        "component": "small",
        "application": {"script": str(script), "user": "alice"},
        "search": {"method": "gp-ei", "budget": 2},
        "noise": {"policy": "none"},
        "repetitions": {"default_runs": 1, "final_pairs": 2},
        "executor": {"kind": "local"},
    }
    file = shadowed.directory / "campaign.yaml"
    file.write_text(yaml.safe_dump(campaign))
    done = shadowed.run(COMMAND, "--config", shadowed.config, "tune", "run", "--yes", file)
    assert done.returncode == 0, done.stderr
    assert not shadowed.imported.exists()


@pytest.mark.slow
def test_manual_pages_and_completions_are_made_by_our_own_modules(shadowed: Place) -> None:
    (line,) = re.findall(r"^\t.*bin/python (.*) -m reprise\.cli\.manual", (ROOT / "Makefile").read_text(), re.MULTILINE)
    plugstack = ROOT / "etc/plugstack.conf.d/reprise.conf"
    words: Sequence[str] = [*line.split(), "-m", "reprise.cli.manual"]
    done = shadowed.run(sys.executable, *words, shadowed.directory / "made", plugstack)
    assert done.returncode == 0, done.stderr
    assert (shadowed.directory / "made/man").is_dir() and not shadowed.imported.exists()


def test_units_start_nothing_but_the_isolated_command() -> None:
    units = "".join(path.read_text() for path in (ROOT / "etc/systemd").iterdir())
    started = set(re.findall(r"^Exec\w+=(\S+)", units, re.MULTILINE))
    assert started == {"/usr/local/bin/reprise", "/bin/kill"}
    makefile = (ROOT / "Makefile").read_text()
    assert "tools/isolate $(DESTDIR)$(PREFIX)/lib/reprise/bin/reprise" in makefile
    assert "tools/isolate $(VENV)/bin/reprise" in makefile


@pytest.mark.parametrize(
    "name",
    ["templates/trial.sh.j2", "spank/fallbacks/task_prolog", "spank/fallbacks/cli_filter.lua"]
    + [f"packaging/debian/reprise.{script}" for script in ("postinst", "prerm", "postrm")],
)
def test_files_for_jobs_and_installation_start_no_python(name: str) -> None:
    assert STARTS_PYTHON.findall((ROOT / name).read_text()) == []
