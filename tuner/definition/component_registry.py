# SPDX-License-Identifier: Apache-2.0
"""From a component's name to the component: the file that describes it, and the module of its kind.

A component file has `name`, `version`, `description` and `kind`, and may say what it `touches`; the rest is the kind's
own.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reprise.config import Config
from reprise.tuner.definition.campaign_definition import Application, CampaignError, read_mapping
from reprise.tuner.model import touched_names
from reprise.tuner.model.component import Component

TOGETHER = "together"  # the kind of several components, whose files the campaign's settings name
# kind: module with `build(definition: Mapping, settings: Mapping, config: Config) -> Component`
KINDS: dict[str, str] = {
    "application": "reprise.tuner.components.application",
    "collectives": "reprise.tuner.openmpi.collectives_component",
    "landscape": "reprise.tuner.model.landscape_component",
    TOGETHER: "reprise.tuner.together.together_component",
}

REQUIRED = ("name", "version", "description", "kind")


def read(
    name: str, config: Config, application: Application | None = None, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the file of a component says; under `application` the campaign's job, where that is what the component runs,
    and under `components` and `proxy` what the files hold that the campaign's settings name.

    All are kept with the campaign, so that a resumed one runs what it began with. Raises CampaignError with one line.
    """
    path = config.tuner.components / f"{name}.yaml"
    if not _is_there(path, name):
        raise CampaignError(f"component {name!r}: {_hint(name, config.tuner.components)}")
    definition = read_mapping(path)
    for key in REQUIRED:
        if not isinstance(definition.get(key), str) or not definition[key]:
            raise CampaignError(f"{path}: {key!r} must be a text: add it (in quotes where it looks like a number)")
    if definition["name"] != name:
        raise CampaignError(f"{path}: its name is {definition['name']!r}: rename the file or correct the name")
    if definition["kind"] not in KINDS:
        raise CampaignError(f"{path}: kind {definition['kind']!r} is unknown: known are {', '.join(KINDS)}")
    if problem := touched_names.objection(definition.get("touches", [])):
        raise CampaignError(f"{path}: touches: {problem}")
    if definition["kind"] == TOGETHER:
        named = (settings or {}).get("components", {})
        definition["components"] = {str(one): read(str(one), config) for one in named}
        if proxy := (settings or {}).get("proxy"):
            definition["proxy"] = read_script(Path(str(proxy)))
    if definition["kind"] in ("application", TOGETHER) and application:
        definition["application"] = {
            "path": str(application.script),
            "script": read_script(application.script),
            "directory": str(application.directory or application.script.parent),
            "options": application.options,
        }
    return definition


def _is_there(path: Path, name: str) -> bool:
    try:
        return path.name == f"{name}.yaml" and path.is_file()  # not one of another directory
    except OSError:  # a name may be too long for one
        return False


def read_script(path: Path) -> str:
    """A batch script, byte for byte (bytes that are no UTF-8 as surrogates). Raises CampaignError."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise CampaignError(
            f"{path}: cannot be read ({error.strerror}): name the batch script of the application"
        ) from error


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """The component. Raises TunerError where its definition or the campaign's settings for it are wrong."""
    module = importlib.import_module(KINDS[definition["kind"]])
    component: Component = module.build(definition, settings, config)
    return component


def _hint(name: str, directory: Path) -> str:
    known = sorted(path.stem for path in directory.glob("*.yaml")) if directory.is_dir() else []
    if not known:
        return f"there are no component files in {directory}: install them, or set tuner.components"
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"is not in {directory}: known are {', '.join(known)}"
