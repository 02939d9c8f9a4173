# SPDX-License-Identifier: Apache-2.0
"""Convert settings that a campaign has tried to the variables and files of an ordinary job.

    python -m bench.real.trial_points CAMPAIGN WORDS...

The program runs on the cluster. WORDS describe a setting as `reprise tune application --json` does (the keys `best` and
`own` of `proxy`). The program prints a JSON array with one object for each setting, with the keys `environment` and
`files`; `{directory}` in a variable stands for the directory that contains the files.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from bench.real.plan_settings import JobSettings, job_settings
from reprise import config as configuration
from reprise.cli.reading import open_to_read
from reprise.config import Config
from reprise.database.entities import Campaign
from reprise.tuner.application.proxy_ranking import in_words
from reprise.tuner.definition import component_registry
from reprise.tuner.model.space import Parametrization


class NotFoundError(LookupError):
    """No trial of the campaign has a setting, or ordinary jobs cannot use the setting."""


def unverified(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return the definition of several components, without the checks in trials.

    Trials check settings with the witness (a preloaded library), which would add to the run time of jobs.
    """
    parts = definition["components"]
    without = {name: {key: value for key, value in own.items() if key != "verify"} for name, own in parts.items()}
    return {**definition, "components": without}


def job_of(campaign: Campaign, points: Sequence[Parametrization], words: str, config: Config) -> JobSettings:
    """Return the variables and files that give a job the setting that the words describe.

    `points` are the settings of the campaign's trials. Raises NotFoundError if none of them fits the words, or if the
    setting needs options of `sbatch` or a changed script.
    """
    settings = campaign.spec["definition"]["settings"]
    component = component_registry.build(unverified(campaign.spec["component"]), settings, config)
    (problem,) = component.problems()
    point = next((one for one in points if in_words(one, problem.default) == words), None)
    if point is None:
        raise NotFoundError(f"campaign {campaign.id} has no trial with {words}")
    plan, plain = component.plan(problem.key, point), component.plan(problem.key, problem.default)
    if plan.script != plain.script or [*plan.options, *plan.directives] != [*plain.options, *plain.directives]:
        raise NotFoundError(f"{words}: needs options or lines of the batch script")
    return job_settings(plan)


def main(argv: Sequence[str]) -> int:
    """Print the variables and files of the settings that the arguments describe."""
    config = configuration.load()
    with open_to_read(config) as database:
        campaign = database.campaign(int(argv[0]))
        points = [trial.parametrization for trial in database.trials(campaign.id)]
    click.echo(json.dumps([job_of(campaign, points, words, config) for words in argv[1:]]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
