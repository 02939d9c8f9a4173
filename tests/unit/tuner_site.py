# SPDX-License-Identifier: Apache-2.0
"""A site that runs campaigns of the fake component, either without Slurm or with the fake Slurm."""

from __future__ import annotations

import io
import json
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from reprise.cli import main
from reprise.config import Config
from reprise.database.entities import Trial
from reprise.database.facade import Database
from reprise.tuner.campaign import session
from reprise.tuner.definition.campaign_definition import check
from reprise.tuner.report import campaign_overview
from reprise.tuner.report.progress import LineReport
from tests import fake_component


class Site:
    """A directory with a configuration and a database, and methods that run campaigns of the fake component."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        for name in ("components", "db"):
            (directory / name).mkdir()
        (directory / "components/fake.yaml").write_text(fake_component.FILE)
        (directory / "app.sh").write_text("#!/bin/bash\n#SBATCH -J heat -N 4\nsrun ./heat --steps 3\n")
        self.settings = {
            "site": {"cluster": "testing"},
            "database": {"path": str(directory / "db/reprise.db")},
            "artifacts": {"directory": str(directory / "artifacts")},
            "tuner": {"components": str(directory / "components"), "work": str(directory / "work")},
        }
        self.config = Config.model_validate(self.settings)
        Database.open(self.config.database.path, create=True).close()

    def definition(self, **changes: Any) -> dict[str, Any]:
        """Return a campaign's definition with these changes; `settings` are added to the component's settings."""
        settings = {"log": str(self.log), "problems": ["p/1", "p/2"], **changes.pop("settings", {})}
        base = {
            "name": "test",
            "component": "fake",
            "application": {"script": str(self.directory / "app.sh"), "user": "alice"},
            "search": {"method": "random", "budget": 8},
            "noise": {"policy": "none"},
            "repetitions": {"default_runs": 2, "final_pairs": 3},
            "executor": {"kind": "local"},
        }
        return {**base, **changes, "settings": settings}

    def begin(self, **changes: Any) -> int:
        with Database.open(self.config.database.path) as database:
            return session.begin(database, check(self.definition(**changes), "test"), self.config, 1_000_000.0).id

    def run(self, campaign_id: int, report: LineReport | None = None, **others: Any) -> Sequence[int]:
        with Database.open(self.config.database.path) as database:
            quiet = report or self.quiet()
            return session.run(database, database.campaign(campaign_id), self.config, quiet, **others)

    def read(self, what: Callable[[Database], Any]) -> Any:
        with Database.open(self.config.database.path, read_only=True) as database:
            return what(database)

    def trials(self, campaign_id: int) -> list[Trial]:
        return list(self.read(lambda database: database.trials(campaign_id)))

    def campaign(self, campaign_id: int) -> Any:
        return self.read(lambda database: database.campaign(campaign_id))

    def runs(self) -> list[str]:
        """Return the points of the benchmark's runs, in the order of the runs, from the benchmark's log."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    def killed(self, campaign_id: int, **others: Any) -> int:
        """Run the campaign in a separate process that is killed while it runs, and return the process's exit code."""
        process = multiprocessing.get_context("fork").Process(target=self.run, args=(campaign_id,), kwargs=others)
        process.start()
        process.join(60)
        assert process.exitcode is not None
        return process.exitcode

    def described(self, campaign_id: int) -> dict[str, Any]:
        """Return the campaign's description, from which reports are made."""
        campaign = self.campaign(campaign_id)
        return self.read(  # type: ignore[no-any-return]
            lambda database: campaign_overview.describe(database, campaign, self.config, detailed=True)
        )

    @staticmethod
    def quiet() -> LineReport:
        return LineReport(io.StringIO())


class Command:
    """The command `reprise`, with the site's configuration file."""

    def __init__(self, site: Site) -> None:
        lines = [
            f"[{table}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in keys.items())
            for table, keys in site.settings.items()
        ]
        self.path = site.directory / "reprise.toml"
        self.path.write_text("\n".join(lines))

    def __call__(self, *arguments: str) -> Any:
        return CliRunner().invoke(main.reprise, ["--config", str(self.path), *arguments])
