# SPDX-License-Identifier: Apache-2.0
"""What the documentation calls by name has that name: settings, variables, arguments of the plugin, files."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from reprise.config import Config, load
from tests.unit.test_docs import BLOCK, PAGES, ROOT, code

TEXTS = "".join(page.read_text() for page in PAGES)
CODE = [word for page in PAGES for word in code(page)]
PRODUCT = "".join(
    path.read_text(errors="replace")
    for directory in ("reprise", "matcher", "database", "tuner", "templates", "web", "spank", "accelerators", "etc")
    for path in sorted((ROOT / directory).rglob("*"))
    if path.suffix in (".py", ".c", ".h", ".toml", ".yaml", ".conf", ".service", ".socket", ".lua", ".j2")
)
MAKEFILES = (ROOT / "Makefile", *ROOT.glob("*/**/Makefile"), ROOT / "packaging/debian/rules")
MADE_BY = PRODUCT + "".join(path.read_text() for path in MAKEFILES if "build" not in path.relative_to(ROOT).parts)
SECTIONS = "|".join(Config.model_fields)
FILES_NOT_KEYS = {"web.key", "matcher.linkage", "tuner.landscape"}  # a file, and Python's modules
NOT_PYTHON = ("spank", "etc", "docs", "accelerators", "packaging", "tools")
ADMINS_OWN = ("/etc/slurm", "/opt/", "/etc/reprise/ours.toml", "/etc/reprise/bcast.yaml", "/var/lib/reprise/artifacts/")
"""Places that are a site's, or that an admin or a campaign makes."""


def settings() -> set[str]:
    return {
        f"{section}.{name}"
        for section, field in Config.model_fields.items()
        for name in field.annotation.model_fields  # type: ignore[union-attr]
    }


def test_settings_that_are_named_exist() -> None:
    named = {name for word in CODE for name in re.findall(rf"(?<![\w./-])((?:{SECTIONS})\.[a-z_]+)\b(?![./])", word)}
    assert len(named) > 10
    assert named - FILES_NOT_KEYS - settings() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_the_configuration_are_accepted(page: Path, tmp_path: Path) -> None:
    for _, block in BLOCK.findall(page.read_text()):
        if re.search(rf"^\[({SECTIONS})\]$", textwrap.dedent(block), re.MULTILINE):
            (tmp_path / "reprise.toml").write_text(textwrap.dedent(block))
            load(tmp_path / "reprise.toml")


def test_every_section_of_the_configuration_is_spoken_of() -> None:
    missing = [one for one in Config.model_fields if not re.search(rf"`?\[{one}\]|\b{one}\.[a-z]", TEXTS)]
    assert missing == []


def test_variables_that_are_named_are_read_or_set() -> None:
    named = {name for word in CODE for name in re.findall(r"\b(?:REPRISE|SRO)_[A-Z0-9_]*[A-Z0-9]\b", word)}
    examples = {"SRO_PINNED", "SRO_QUEUE", "SRO_THREADS"}  # of components that a reader makes up
    assert {name for name in named - examples if f'"{name}"' not in PRODUCT and f"{name}:" not in PRODUCT} == set()


def test_variables_that_programs_read_are_documented() -> None:
    read = {
        *re.findall(r'(?:getenv|number)\("((?:REPRISE|SRO)[A-Z0-9_]*)"', PRODUCT),
        *re.findall(r'(?:envvar=|environ(?:\.get\(|\[))"((?:REPRISE|SRO)[A-Z0-9_]*)"', PRODUCT),
        *re.findall(r'(?:VARIABLE|OPTION_TWIN) "(REPRISE[A-Z_]*)"', PRODUCT),
    }
    of_ours_alone = {"REPRISE_WITNESS", "REPRISE_WITNESS_SETTINGS"}  # trials tell the library that they load
    assert len(read) > 8
    assert {name for name in read - of_ours_alone if not re.search(rf"`[^`\n]*{name}\b", TEXTS)} == set()


def test_arguments_of_the_plugin_are_those_that_it_reads() -> None:
    source = (ROOT / "spank/settings.c").read_text()
    known = set(re.findall(r'^    \{"(\w+)", "', source, re.MULTILINE))
    lines = [word for word in CODE if "spank_reprise.so " in word]
    named = {name for line in lines for name in re.findall(r"(?<=\s)(\w+)=", line)}
    assert len(named) > 1 and named <= known
    shipped = (ROOT / "etc/plugstack.conf.d/reprise.conf").read_text()
    assert set(re.findall(r"^#   (\w+)=", shipped, re.MULTILINE)) == known


def test_installed_files_that_are_named_are_installed() -> None:
    named = {
        name.rstrip("/.")
        for word in CODE
        for name in re.findall(r"(?<![\w.])(/(?:etc|usr|var|run)/[\w./-]+)", word)
        if "reprise" in name and not name.startswith(ADMINS_OWN)
    }
    assert len(named) > 10
    assert {name for name in named if Path(name).name not in MADE_BY} == set()


def test_files_of_the_source_that_are_named_exist() -> None:
    top = "|".join(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists() or path.name in NOT_PYTHON)
    named = {
        name.rstrip(".")
        for word in CODE
        for name in re.findall(rf"(?<![\w./-])((?:{top})/[\w./-]*)", word)
        if "NAME" not in name
    }
    made = {"bench/fakeapp/fakeapp"}  # by `make build`
    assert len(named) > 20
    assert {name for name in named - made if not (ROOT / name).exists()} == set()
