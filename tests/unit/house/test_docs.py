# SPDX-License-Identifier: Apache-2.0
"""Check that files, make targets, commands, options and campaigns that the documentation names exist."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import click
import pytest
import yaml

from reprise.cli.main import reprise
from reprise.matcher.linkage.features import FEATURES
from reprise.matcher.linkage.linkage_model import KINDS
from reprise.matcher.submission import engines, interpreters, launchers, wrappers
from reprise.matcher.submission.metadata import JobMetadata
from reprise.matcher.submission.program import PROGRAMS_LIMIT
from reprise.matcher.submission.stored_metadata import VALUE_LIMIT
from reprise.matcher.submission.submitted import ARGUMENT_LIMIT, MODULE_LIMIT, SCRIPT_LIMIT, TEXT_LIMIT
from reprise.matcher.submission.work_limit import WORK_LIMIT
from reprise.tuner.definition.campaign_definition import check
from tests.markdown import anchors
from tests.places import ROOT

TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")]
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def code(page: Path) -> list[str]:
    """Return the code in a page: the lines of code blocks, and text between backquotes."""
    text = page.read_text()
    lines = [line.strip() for _, block in BLOCK.findall(text) for line in block.splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists() or target.startswith("https://"), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_sections_lead_to_a_heading(page: Path) -> None:
    for target, section in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
        linked = page.parent / target if target else page
        assert section in anchors(linked.read_text()), f"{target}#{section}"


def test_the_index_links_to_every_page_of_the_four_kinds() -> None:
    docs = ROOT / "docs"
    linked = set(re.findall(r"\]\(([^)#]+)", (docs / "index.md").read_text()))
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"index.md"}
    assert pages - linked == set()
    assert {page.split("/")[0] for page in pages} == {"tutorial", "how-to", "reference", "explanation"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_targets_of_make_are_there(page: Path) -> None:
    for line in code(page):
        if found := re.match(r"(?:\$ )?make ([a-z-]+)", line):
            assert found[1] in TARGETS, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_are_there(page: Path) -> None:
    for line in code(page):
        if found := re.match(r"(?:\$ )?(?:sudo -u reprise )?reprise ((?:[a-z]+ ?)+)(.*)", line):
            command: click.Command = reprise
            words = found[1].split()
            while words and isinstance(command, click.Group):
                inner = command.get_command(click.Context(command), words.pop(0))
                assert inner, line
                command = inner
            known = {name for option in command.params for name in option.opts}
            own = f" {found[2]}".split("#")[0].split(" -- ")[0]
            assert set(re.findall(r"(?<=\s)--[a-z-]+", own)) <= known, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_campaigns_can_be_run(page: Path) -> None:
    for language, block in BLOCK.findall(page.read_text()):
        if language == "yaml" and re.search(r"^ *component:", block, re.MULTILINE):
            check(yaml.safe_load(block), page.name)


def test_the_page_on_metadata_states_the_limits() -> None:
    page = (ROOT / "docs/reference/metadata.md").read_text()
    assert f"beyond {WORK_LIMIT:,} steps" in page
    stated = {int(number.replace(",", "")) for number in re.findall(r"^\| [^|]+ \| ([\d,]+)\b", page, re.MULTILINE)}
    assert {SCRIPT_LIMIT, TEXT_LIMIT, ARGUMENT_LIMIT, PROGRAMS_LIMIT, MODULE_LIMIT, WORK_LIMIT, VALUE_LIMIT} <= stated


def test_the_page_on_metadata_has_every_field() -> None:
    page = (ROOT / "docs/reference/metadata.md").read_text().partition("\n## Fields")[2].partition("\n### ")[0]
    named = {name for row in re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == {field.name for field in dataclasses.fields(JobMetadata)}


def test_the_page_on_models_has_every_feature_and_comparer() -> None:
    page = (ROOT / "docs/reference/linkage-model.md").read_text()
    features, comparers = page.partition("\n## Features")[2].split("\n## Comparers")
    rows = re.findall(r"^\| (`[^|]+) \| .* \| (\w+) \|$", features, re.MULTILINE)
    assert {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)} == {
        name: feature.kind for name, feature in FEATURES.items()
    }
    assert dict(re.findall(r"^\| `([\w-]+)` \| ([\w, ]+) \|", comparers, re.MULTILINE)) == {
        name: ", ".join(kinds) for name, kinds in KINDS.items()
    }


def test_the_page_on_programs_lists_what_is_looked_through() -> None:
    page = (ROOT / "docs/reference/programs.md").read_text()
    table = page.partition("\n## Launchers, wrappers, interpreters and engines")[2]
    listed = {
        row.split("|")[0].strip(): set(re.findall(r"`([^`]+)`", row.split("|")[1])) for row in table.split("\n|")[3:]
    }
    assert listed == {
        "launchers": set(launchers.LAUNCHERS),
        "wrappers": set(wrappers.WRAPPERS),
        "containers and others with a verb": {
            f"{name} {verb}" for name, runner in wrappers.RUNNERS.items() for verb in runner.verbs
        },
        "interpreters": set(interpreters.INTERPRETERS),
        "modules of `python -m`": set(interpreters.PYTHON_RUNNERS),
        "engines": set(engines.ENGINES),
    }
