# SPDX-License-Identifier: Apache-2.0
"""Compare the packages and recipes with the definitions that they repeat; `make test-packages` builds and runs them."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import yaml

from reprise import __version__
from tests import spack
from tests.places import ROOT

PACKAGING = ROOT / "packaging"
SPEC = PACKAGING / "reprise.spec"
RULES = (PACKAGING / "debian/rules").read_text()
CONTROL = (PACKAGING / "debian/control").read_text()
ROLE = PACKAGING / "ansible/roles/reprise"
NAMES = ["reprise", "reprise-plugin", "reprise-tools"]
TARGETS = set(re.findall(r"^(install-[a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def asked(what: str, *macros: str) -> set[str]:
    """Return what the spec asks for when it is expanded with these macros, e.g. "rhel 9"."""
    if not shutil.which("rpmspec"):
        pytest.skip("rpmspec is not installed: `make deps-rpm`")
    defined = [word for macro in macros for word in ("--define", macro)]
    command = ["rpmspec", "--query", f"--{what}", *defined, str(SPEC)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())


@pytest.mark.parametrize(
    ("release", "more", "devel", "python"),
    [
        ("8", [], "python3.11-devel", "3.11"),
        ("9", [], "python3.11-devel", "3.11"),
        ("9", ["python 3.12"], "python3.12-devel", "3.12"),
        ("10", [], "python3-devel", r"3\.\d+"),  # the system's
    ],
)
def test_packages_for_el_need_a_python_that_it_has(release: str, more: list[str], devel: str, python: str) -> None:
    macros = (f"rhel {release}", "slurm_release 24.11", *more)
    needed = asked("buildrequires", *macros)
    assert devel in needed and not {name for name in needed if name.startswith("python")} - {devel}
    assert {"gcc", "json-c-devel", "make", "openmpi-devel", "slurm-devel"} <= needed
    requires = asked("requires", *macros)
    (found,) = [name for name in requires if "python" in name]
    assert re.fullmatch(rf"/usr/bin/python{python}", found)
    assert {"slurm >= 24.11", "slurm < 24.11.99", "/usr/bin/systemd-sysusers"} <= requires
    assert all(f".el{release}." in name for name in asked("rpms", *macros, f"dist .el{release}"))


def test_the_packages_are_the_same_and_contain_the_same() -> None:
    assert re.findall(r"^Package: (\S+)$", CONTROL, re.MULTILINE) == NAMES
    assert [
        "reprise",
        *(f"reprise-{name}" for name in re.findall(r"^%package (\S+)$", SPEC.read_text(), re.M)),
    ] == NAMES
    deb, rpm = (set(re.findall(r"\binstall-[a-z]+\b", text)) for text in (RULES, SPEC.read_text()))
    assert deb == rpm == TARGETS - {"install-skeleton"}
    built = {tuple(re.findall(r"^\s*for dir in (.*?);", text, re.MULTILINE)) for text in (RULES, SPEC.read_text())}
    assert len(built) == 1
    summaries = re.findall(r"^Description: (.*)$", CONTROL, re.MULTILINE)
    assert [one[0].lower() + one[1:] for one in re.findall(r"^Summary: (.*)$", SPEC.read_text(), re.M)] == summaries


def test_packages_give_no_address_that_is_not_the_projects() -> None:
    """The project has no address; the maintainer is the builder, or the author of the newest commit."""
    assert "URL:" not in SPEC.read_text() and "Homepage:" not in CONTROL
    assert "Maintainer: @MAINTAINER@\n" in CONTROL
    environment = {"PATH": "/usr/bin:/bin", "DEBFULLNAME": "A. Packager", "DEBEMAIL": "a@example.org"}
    command = [PACKAGING / "maintainer"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert said == "A. Packager <a@example.org>\n"
    said = subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(r"[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>\n", said)


def test_the_spack_recipe_has_this_version_and_installs_by_targets_that_exist() -> None:
    called: list[tuple[str, ...]] = []
    recipe = spack.Recipe(lambda *words: called.append(words))
    assert recipe.named("version") == [re.sub(r"\.dev\d+$", "", __version__)]
    assert yaml.safe_load((spack.REPOSITORY / "repo.yaml").read_text())["repo"]["namespace"] == spack.REPOSITORY.name
    assert {"slurm", "json-c", "openmpi", "python@3.11:3.13"} <= set(recipe.named("depends_on"))
    source = spack.RECIPE.read_text()
    assert set(re.findall(r'"(install-[a-z]+)"', source)) <= TARGETS
    oldest = re.search(r'^requires-python = ">=(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert oldest and f"python@{oldest[1]}:" in source


def test_the_role_sets_every_path_that_packages_change_and_names_units_that_exist() -> None:
    variables = yaml.safe_load((ROLE / "vars/main.yml").read_text())
    set_by_packages = re.findall(r'^(\w+) = "/usr/local/', (ROOT / "etc/reprise.toml").read_text(), re.MULTILINE)
    assert sorted(variables["reprise_of_packages"]["tuner"]) == sorted(set_by_packages)
    tasks = "".join(path.read_text() for path in sorted(ROLE.rglob("*.yml")))
    units = set(re.findall(r"reprise-\w+\.(?:service|socket|timer)", tasks.replace("service.d", "")))
    assert units and units <= {path.name for path in (ROOT / "etc/systemd").iterdir()}
    assert set(re.findall(r"'(reprise(?:-\w+)?)'", variables["reprise_wanted"])) == set(NAMES)
    line = re.findall(r"^optional .*$", (ROOT / "etc/plugstack.conf.d/reprise.conf").read_text(), re.MULTILINE)
    assert len(line) == 1 and "endpoint=" not in line[0], "the role appends the addresses"


def test_variables_of_the_role_in_the_example_and_the_tasks_have_defaults() -> None:
    defaults = set(yaml.safe_load((ROLE / "defaults/main.yml").read_text()))
    example = yaml.safe_load((PACKAGING / "ansible/hosts.example.yml").read_text())["all"]
    assert set(example["vars"]) <= defaults
    known = defaults | set(yaml.safe_load((ROLE / "vars/main.yml").read_text())) | {"reprise_shipped"}
    texts = "".join(path.read_text() for path in ROLE.rglob("*") if path.is_file())
    used = set(re.findall(r"\breprise_[a-z_]+\b", texts)) - {
        f"reprise_{kind}" for kind in ("matcher", "login", "compute")
    }
    assert used == known
    plays = yaml.safe_load((PACKAGING / "ansible/site.yml").read_text())
    assert sorted(example["children"]) == sorted(play["hosts"] for play in plays)


def test_the_role_accepts_a_boolean_from_the_command_line() -> None:
    """Ansible passes `--extra-vars reprise_active=false` as the string "false", which Jinja takes for true."""
    defaults = yaml.safe_load((ROLE / "defaults/main.yml").read_text())
    switches = [name for name, value in defaults.items() if isinstance(value, bool)]
    texts = "".join(path.read_text() for kind in ("tasks", "handlers", "templates") for path in (ROLE / kind).iterdir())
    for name in switches:
        used = re.findall(rf"\b{name}\b(.{{7}})", texts)
        assert used and set(used) == {" | bool"}, name


def test_the_image_runs_as_the_service_user_and_opens_the_usual_ports() -> None:
    image = (PACKAGING / "oci/Containerfile").read_text()
    assert re.findall(r"^USER (.*)$", image, re.MULTILINE) == ["${UID}"]
    settings = (ROOT / "etc/reprise.toml").read_text()
    for port in re.findall(r"^EXPOSE (\d+) (\d+)$", image, re.MULTILINE)[0]:
        assert f":{port}" in settings
