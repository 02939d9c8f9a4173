# SPDX-License-Identifier: Apache-2.0
"""The few names of Spack that our recipe uses, because Spack itself is in no package index."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from tests.places import ROOT

REPOSITORY = ROOT / "packaging/spack/spack_repo/reprise"
RECIPE = REPOSITORY / "packages/reprise/package.py"
DIRECTIVES = ("license", "version", "variant", "depends_on")


class Prefix(str):
    """A path whose attributes are paths below it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Prefix:
        if name.startswith("__"):
            raise AttributeError(name)
        return Prefix(f"{self}/{name}")


class Spec(dict[str, Any]):
    """The dependencies of a build, by name, with its variants."""

    def __init__(self, dependencies: Mapping[str, Any], *variants: str) -> None:
        super().__init__(dependencies)
        self.variants = variants

    def satisfies(self, variant: str) -> bool:
        return variant in self.variants


def filter_file(pattern: str, new: str, file: str) -> None:
    path = Path(file)
    path.write_text(re.sub(pattern, new, path.read_text(), flags=re.MULTILINE))


class Recipe:
    """The recipe, loaded: its directives as (name, first argument, options), and its class."""

    def __init__(self, make: Callable[..., object]) -> None:
        self.directives: list[tuple[str, str, dict[str, Any]]] = []
        package = ModuleType("spack.package")
        for name in DIRECTIVES:
            setattr(package, name, self._directive(name))
        package.__dict__.update(make=make, filter_file=filter_file, Prefix=Prefix)
        makefile = ModuleType("spack_repo.builtin.build_systems.makefile")
        makefile.__dict__["MakefilePackage"] = object
        parents = [makefile.__name__.rsplit(".", up)[0] for up in (3, 2, 1)]
        modules = {name: ModuleType(name) for name in ("spack", *parents)}
        with patch.dict(sys.modules, modules | {package.__name__: package, makefile.__name__: makefile}):
            self.package = runpy.run_path(str(RECIPE))["Reprise"]()

    def _directive(self, name: str) -> Callable[..., None]:
        def directive(first: str, **options: Any) -> None:
            self.directives.append((name, first, options))

        return directive

    def named(self, name: str) -> list[str]:
        """Return the first arguments of all directives of a name."""
        return [first for directive, first, _ in self.directives if directive == name]


def installed(tree: Path, prefix: Path, mpicc: str, python: str, include: str, *variants: str) -> None:
    """Run the recipe's installation of a source tree into `prefix`, with make."""

    def make(*words: str) -> None:
        done = subprocess.run(["make", *words], cwd=tree, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"make {' '.join(words)}: {done.stdout[-2000:]}{done.stderr[-2000:]}"

    slurm = SimpleNamespace(prefix=SimpleNamespace(include=include))
    openmpi = SimpleNamespace(prefix=SimpleNamespace(bin=SimpleNamespace(mpicc=mpicc)))
    found = {"slurm": slurm, "openmpi": openmpi, "python": SimpleNamespace(command=SimpleNamespace(path=python))}
    Recipe(make).package.install(Spec(found, *variants), Prefix(prefix))
