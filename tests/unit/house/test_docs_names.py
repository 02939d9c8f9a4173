# SPDX-License-Identifier: Apache-2.0
"""Check that the settings, variables, plugin arguments and files that the documentation names exist."""

from __future__ import annotations

import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from reprise.config import DEFAULT_PATH, SOCKET_PATH, Config, load
from tests.places import ROOT
from tests.unit.house.test_docs import BLOCK, PAGES, code

TEXTS = "".join(page.read_text() for page in PAGES)
CODE = [word for page in PAGES for word in code(page)]
PRODUCT = "".join(
    path.read_text(errors="replace")
    for directory in ("reprise", "matcher", "database", "tuner", "templates", "web", "spank", "accelerators", "etc")
    for path in sorted((ROOT / directory).rglob("*"))
    if path.suffix in (".py", ".c", ".h", ".toml", ".yaml", ".conf", ".service", ".socket", ".lua", ".j2")
    or path.name == "reprise-skeleton"
)
SECTIONS = "|".join(Config.model_fields)
# names with a dot that are not settings: a file and modules
FILES_NOT_KEYS = {"web.key", "reprise.matcher.linkage", "reprise.tuner.model.landscape"}
INSTALLATION = (ROOT / "docs/reference/installation.md").read_text()
ROLLOUT = (ROOT / "docs/how-to/rollout.md").read_text()
CREATED = {"StateDirectory": "/var/lib/", "RuntimeDirectory": "/run/"}
UNITS = {
    f"{CREATED.get(setting, '')}{value}"
    for unit in (*(ROOT / "etc/systemd").iterdir(), *(ROOT / "accelerators/forward/forwarder").glob("*.service"))
    for setting, value in re.findall(
        r"^(EnvironmentFile|ListenStream|StateDirectory|RuntimeDirectory)=-?(\S+)$", unit.read_text(), re.MULTILINE
    )
}
"""Paths that systemd reads or creates for the units."""
NOT_PYTHON = ("spank", "etc", "docs", "accelerators", "packaging", "tools")
ADMINS_OWN = (
    "/etc/slurm",
    "/etc/prometheus",
    "/opt/",
    "/etc/reprise/ours.toml",
    "/etc/reprise/smtp-password",
    "/etc/reprise/webhook",
    "/etc/reprise/proxy-secret",
    "/etc/nginx",
    "/etc/sudoers.d/",
    "/etc/ood",
    "/var/www/ood",
    "/etc/reprise/bcast.yaml",
    "/var/lib/reprise/artifacts/",
    "/var/lib/reprise/snapshot.db",
)
"""Paths that belong to a site, or that an admin or a campaign creates."""


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
    examples = {"SRO_PINNED", "SRO_QUEUE", "SRO_THREADS"}  # variables of example components
    assert {name for name in named - examples if f'"{name}"' not in PRODUCT and f"{name}:" not in PRODUCT} == set()


def test_variables_that_programs_read_are_documented() -> None:
    read = {
        *re.findall(r'(?:getenv|number)\("((?:REPRISE|SRO)[A-Z0-9_]*)"', PRODUCT),
        *re.findall(r'(?:envvar=|environ(?:\.get\(|\[))"((?:REPRISE|SRO)[A-Z0-9_]*)"', PRODUCT),
        *re.findall(r'(?:VARIABLE|OPTION_TWIN) "(REPRISE[A-Z_]*)"', PRODUCT),
    }
    # Only Reprise itself sets these variables, to control its preloaded library `witness`, so users need not know them.
    of_ours_alone = {"REPRISE_PROFILE", "REPRISE_WITNESS", "REPRISE_WITNESS_SETTINGS", "REPRISE_WITNESS_TRACE"}
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
    table = INSTALLATION.partition("\n## Arguments of the plugstack line\n")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"^\| `(\w+)=` \| (.*?) \|", table, re.MULTILINE))
    defaults = dict(re.findall(r"^#   (\w+)=(\S+)", shipped, re.MULTILINE)) | {
        "credential": "the first that the host has",
        "munge_socket": "munge's default",
        "sack_socket": "Slurm's defaults",
    }
    assert {name: default.strip("`") for name, default in listed.items()} == defaults


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the paths of an installation: those that make targets create, and those that code and packages name."""
    root = tmp_path_factory.mktemp("installed")
    make = ["make", "--silent", "-C", str(ROOT), f"DESTDIR={root}"]
    environment = {"PATH": os.environ["PATH"]}
    quick = ["etc", "docs", "tools", "accelerators", "fallbacks", "forwarder"]
    subprocess.run([*make, *(f"install-{name}" for name in quick)], check=True, capture_output=True, env=environment)
    slow = [*make, "--dry-run", "install-python", "install-manual"]
    told = subprocess.run(slow, check=True, capture_output=True, text=True, env=environment).stdout
    return {
        *(f"/{path.relative_to(root)}" for path in root.rglob("*")),
        *re.findall(rf"{root}(/[\w./-]+)", told),
        *(str(value) for value in defaults() if isinstance(value, Path)),
        *re.findall(r'\.\w+ = "(/[\w./-]+)"', (ROOT / "spank/settings.c").read_text()),
        *UNITS,
        *re.findall(r"\bPRELOADDIR=(/[\w./-]+)", (ROOT / "packaging/debian/rules").read_text()),
        *re.findall(r"%\{buildroot\}(/[\w./-]+)", (ROOT / "packaging/reprise.spec").read_text()),
        *re.findall(r"^%doc (/[\w./-]+)", (ROOT / "packaging/reprise.spec").read_text(), re.MULTILINE),
        *re.findall(r"^(/[\w./-]+)", (ROOT / "packaging/debian/reprise.logrotate").read_text(), re.MULTILINE),
        *re.findall(r"^MATRIX_CACHE \?= (/[\w./-]+)", (ROOT / "Makefile").read_text(), re.MULTILINE),
    }


def defaults() -> list[object]:
    config = Config()
    sections = [getattr(config, name) for name in Config.model_fields]
    return [DEFAULT_PATH, SOCKET_PATH, *(getattr(one, name) for one in sections for name in type(one).model_fields)]


def wrong(texts: list[str], places: set[str]) -> set[str]:
    """Return Reprise's paths in `texts` that are neither in `places` nor directories above a path in `places`."""
    there = {str(above) for place in places for above in (Path(place), *Path(place).parents)}
    named = {
        name.rstrip("/.")
        for word in texts
        for name in re.findall(r"(?<![\w.])(/(?:etc|usr|var|run)/[\w./-]+)", word)
        if "reprise" in name and not name.startswith(ADMINS_OWN)
    }
    assert len(named) > 0
    return named - there


def test_installed_files_that_are_named_are_installed_there(places: set[str]) -> None:
    assert wrong(CODE, places) == set()


@pytest.mark.parametrize(
    "path", ["/etc/wrong/reprise.toml", "/usr/lib/libreprise_sro.so", "/run/reprise.sock", "/usr/local/reprise/bin"]
)
def test_a_right_name_in_a_wrong_directory_is_found(path: str, places: set[str]) -> None:
    assert wrong([f"see {path}."], places) == {path}


def test_what_an_admin_may_write_or_must_know_of_is_named_where_admins_look() -> None:
    rotated = re.findall(r"%config\(noreplace\) (/etc/logrotate.d/\w+)", (ROOT / "packaging/reprise.spec").read_text())
    assert len(rotated) == 1 and len(UNITS) > 3
    assert [path for path in (*rotated, *UNITS) if path not in INSTALLATION] == []


def test_every_setting_is_named_on_some_page() -> None:
    said = "six lists, `allow_users`, `allow_accounts` and `allow_partitions`, and the same three with `deny_`"
    assert said in " ".join(ROLLOUT.split())
    lists = {f"access.{word}_{of}" for word in ("allow", "deny") for of in ("users", "accounts", "partitions")}
    assert [one for one in sorted(settings() - lists) if not re.search(rf"\b{one.split('.')[1]}\b", TEXTS)] == []


def test_files_of_the_source_that_are_named_exist() -> None:
    top = "|".join(path.name for path in ROOT.iterdir() if (path / "__init__.py").exists() or path.name in NOT_PYTHON)
    named = {
        name.rstrip(".")
        for word in CODE
        for name in re.findall(rf"(?<![\w./-])((?:{top})/[\w./-]*)", word)
        if "NAME" not in name
    }
    made = {"bench/fakeapp/fakeapp"}  # `make build` creates this file
    assert len(named) > 20
    assert {name for name in named - made if not (ROOT / name).exists()} == set()
