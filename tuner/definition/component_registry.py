# SPDX-License-Identifier: Apache-2.0
"""Lookup of components by name: the file that describes a component, and the module for its kind.

A component file has `name`, `version`, `description` and `kind`, and may list the operations that the component
`touches`; the other keys depend on the kind.
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

FORWARDERS = "forwarders"
TOGETHER = "together"  # the kind that combines several components; the campaign's settings name their files
# Maps a kind to its module, which has `build(definition: Mapping, settings: Mapping, config: Config) -> Component`.
KINDS: dict[str, str] = {
    "application": "reprise.tuner.components.application",
    "collectives": "reprise.tuner.openmpi.collectives_component",
    "mpich-collectives": "reprise.tuner.mpich.mpich_component",
    "nccl": "reprise.tuner.nccl.nccl_component",
    "landscape": "reprise.tuner.model.landscape_component",
    FORWARDERS: "reprise.tuner.forge.forwarders_component",
    TOGETHER: "reprise.tuner.together.together_component",
}

REQUIRED = ("name", "version", "description", "kind")


def read(
    name: str, config: Config, application: Application | None = None, settings: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of a component's file.

    Keys are added to the content: `application` holds the campaign's job if the component runs it, and `components`,
    `proxy` and `pattern` hold the content of the files that the campaign's settings name. All of this is stored with
    the campaign, so that a resumed campaign runs with its original files. Raise CampaignError with one line if a file
    is invalid.
    """
    path = config.tuner.components / f"{name}.yaml"
    if not _is_there(path, name):
        raise CampaignError(f"component {name!r}: {_hint(name, config.tuner.components)}")
    definition = read_mapping(path)
    for key in REQUIRED:
        if not isinstance(definition.get(key), str) or not definition[key]:
            raise CampaignError(f"{path}: {key!r} must be a string: add it (in quotes if it looks like a number)")
    if definition["name"] != name:
        raise CampaignError(f"{path}: its name is {definition['name']!r}: rename the file or correct the name")
    if definition["kind"] not in KINDS:
        raise CampaignError(f"{path}: kind {definition['kind']!r} is unknown: use one of {', '.join(KINDS)}")
    if problem := touched_names.objection(definition.get("touches", [])):
        raise CampaignError(f"{path}: touches: {problem}")
    definition |= _named_files(definition["kind"], settings or {}, config)
    if definition["kind"] in ("application", FORWARDERS, TOGETHER) and application:
        definition["application"] = {
            "path": str(application.script),
            "script": read_script(application.script),
            "directory": str(application.directory or application.script.parent),
            "options": application.options,
        }
    return definition


def _named_files(kind: str, settings: Mapping[str, Any], config: Config) -> dict[str, Any]:
    """Return the content of the files that a campaign's settings name."""
    found: dict[str, Any] = {}
    if kind == TOGETHER:
        found["components"] = {str(one): read(str(one), config) for one in settings.get("components", {})}
        if proxy := settings.get("proxy"):
            found["proxy"] = read_script(Path(str(proxy)))
    if kind == FORWARDERS and (pattern := settings.get("pattern")):
        found["pattern"] = read_script(Path(str(pattern)), "the pattern to replay")
    return found


def _is_there(path: Path, name: str) -> bool:
    try:
        return path.name == f"{name}.yaml" and path.is_file()  # the name must not be a path to another directory
    except OSError:  # the name may be too long for a file
        return False


def read_script(path: Path, what: str = "the application's batch script") -> str:
    """Return a batch script exactly, with bytes that are not UTF-8 as surrogates. Raise CampaignError on failure.

    `what` describes the file in errors.
    """
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read ({error.strerror}): give the path of {what}") from error


def build(definition: Mapping[str, Any], settings: Mapping[str, Any], config: Config) -> Component:
    """Return the component. Raise TunerError if its definition or the campaign's settings for it are invalid."""
    module = importlib.import_module(KINDS[definition["kind"]])
    component: Component = module.build(definition, settings, config)
    return component


def _hint(name: str, directory: Path) -> str:
    known = sorted(path.stem for path in directory.glob("*.yaml")) if directory.is_dir() else []
    if not known:
        return f"there are no component files in {directory}: install them, or set tuner.components"
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"not in {directory}: use one of {', '.join(known)}"
