# SPDX-License-Identifier: Apache-2.0
"""Conversion of form values: users in searches for jobs, and the settings of new campaigns."""

from __future__ import annotations

import pwd
from collections.abc import Mapping
from typing import Any

import yaml

from reprise.config import Config
from reprise.database.entities import Decision
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.support.jobs import campaign_proposal
from reprise.matcher.support.slurm_job import slurm_says
from reprise.tuner.definition import component_registry, yaml_text
from reprise.tuner.definition.campaign_definition import CampaignError, check, read_mapping
from reprise.tuner.errors import TunerError

HEAD = "# SPDX-License-Identifier: Apache-2.0\n# Check it; `reprise tune plan FILE` shows what it would run.\n"


def user_of(text: str | None) -> tuple[str | None, int | None, int | None]:
    """Convert a user's name or id to a tuple (name, id that has no name, id of the name).

    For an empty text, all three are None. If an id has no name, only the second is set; if a name has no id, only the
    first is set.
    """
    if not text:
        return None, None, None
    try:
        entry = pwd.getpwuid(int(text)) if text.isdecimal() and len(text) < 11 else pwd.getpwnam(text)
    # an unknown user, a NUL character in the text, or a number that is too large
    except (KeyError, ValueError, OverflowError):
        return (None, int(text), None) if text.isdecimal() and len(text) < 11 else (text, None, None)
    return entry.pw_name, None, entry.pw_uid


def components(config: Config) -> list[dict[str, Any]]:
    """Return the site's components, sorted by name, with their descriptions.

    If a component's file cannot be read, the component has the error text as `problem` instead of a description.
    """
    found: list[dict[str, Any]] = []
    for path in sorted(config.tuner.components.glob("*.yaml")):
        try:
            read = read_mapping(path)
        except TunerError as error:
            found.append({"name": path.stem, "problem": str(error)})
        else:
            keys = ("version", "description", "kind", "parameters")
            about = {**{key: read.get(key) for key in keys}, "needs": campaign_proposal.needs(read)}
            found.append({"name": path.stem, "problem": "", **about})
    return found


def empty(config: Config, component: str) -> dict[str, Any]:
    """Return the initial content of a campaign file for a component, without a job. Raise TunerError on failure."""
    return campaign_proposal.definition(JobMetadata("", "", ""), None, component_registry.read(component, config))


def for_job(config: Config, component: str, decision: Decision) -> dict[str, Any]:
    """Return the initial content of a campaign file for a component and the job of a decision.

    Raise TunerError on failure.
    """
    described = component_registry.read(component, config)
    job = JobMetadata.from_json(decision.metadata)
    return campaign_proposal.definition(job, campaign_proposal.script_of(decision, job, slurm_says), described)


def as_text(definition: Mapping[str, Any]) -> str:
    """Return the text of the campaign file with this content."""
    return HEAD + yaml.safe_dump(dict(definition), sort_keys=False)


def fields_of(definition: Mapping[str, Any]) -> dict[str, str]:
    """Convert the initial content of a campaign file to values for the form's fields."""
    application = definition.get("application", {})
    executor = definition.get("executor", {})
    script = application.get("script", "")
    settings = {name: "" if value is None else value for name, value in definition.get("settings", {}).items()}
    return {
        "settings": "".join(
            f"{name}: {yaml.safe_dump(value, default_flow_style=True, width=1000).splitlines()[0] if value else ''}\n"
            for name, value in settings.items()
        ),
        "name": definition.get("name", ""),
        "script": "" if script == campaign_proposal.PLACEHOLDER else script,
        "user": application.get("user", ""),
        "directory": application.get("directory", ""),
        "options": " ".join(application.get("options", [])),
        "method": "",
        "budget": "",
        "seed": "",
        "partition": executor.get("partition", ""),
        "account": executor.get("account", ""),
    }


def filled_in(fields: Mapping[str, str], config: Config) -> dict[str, Any]:
    """Convert the form's values to the content of a campaign file. Raise a TunerError that names an invalid setting."""
    said = {key: value.strip() for key, value in fields.items()}
    search: dict[str, Any] = {key: number(said, key) for key in ("budget", "seed") if said.get(key)}
    application: dict[str, Any] = {"script": said.get("script", ""), "user": said.get("user", "")}
    if said.get("directory"):
        application["directory"] = said["directory"]
    if said.get("options"):
        application["options"] = said["options"].split()
    definition: dict[str, Any] = {
        "name": said.get("name", ""),
        "component": said.get("component", ""),
        "application": application,
        "executor": {"kind": "slurm", **{key: said[key] for key in ("partition", "account") if said.get(key)}},
    }
    if said.get("settings"):
        definition["settings"] = _mapping(said["settings"], "these settings")
    if said.get("method"):
        search["method"] = said["method"]
    if search:
        definition["search"] = search
    check(definition, "this campaign")
    described = component_registry.read(definition["component"], config)
    if left_open := campaign_proposal.missing(definition, described):
        raise CampaignError(f"this campaign lacks {'; '.join(left_open)}: fill in the missing settings")
    return definition


def from_text(text: str) -> dict[str, Any]:
    """Parse a campaign file that the user has edited. Raise a TunerError that names an invalid setting."""
    data = _mapping(text, "this campaign")
    check(data, "this campaign")
    return data


def _mapping(text: str, what: str) -> dict[str, Any]:
    try:
        data = yaml_text.load(text)
    except yaml_text.NotYamlError as error:
        raise CampaignError(f"{what}: not valid YAML{error}") from error
    if not isinstance(data, dict):
        raise CampaignError(f"{what}: not a mapping of names to values: write lines like `name: value`")
    return data


def number(said: Mapping[str, str], key: str) -> int:
    """Convert the form's value of a search setting to an integer. Raise CampaignError if it is not an integer."""
    try:
        return int(said[key])
    except ValueError as error:
        raise CampaignError(f"this campaign: setting 'search.{key}': {said[key]!r} is not a number") from error
