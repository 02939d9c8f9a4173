# SPDX-License-Identifier: Apache-2.0
"""The groups of packages in `etc/packages.debian`, read as `tools/deps` reads them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

LIST = Path(__file__).parents[1] / "etc/packages.debian"


@dataclass
class Group:
    """A group of packages: the packages, and the names of the groups that the group includes."""

    packages: list[str] = field(default_factory=list)
    includes: list[str] = field(default_factory=list)


def groups(text: str) -> dict[str, Group]:
    """Return the groups in the text of `etc/packages.debian`, by name."""
    found: dict[str, Group] = {}
    for line in text.splitlines():
        word = line.partition("#")[0].strip()
        if word.startswith("["):
            name = word.strip("[]")
            if name in found:
                raise ValueError(f"group [{name}] occurs twice")
            found[name] = Group()
        elif word.startswith("@"):
            found[name].includes.append(word[1:])
        elif word:
            found[name].packages.append(word)
    return found


def included(text: str, names: Iterable[str]) -> list[str]:
    """Return the names of these groups and all groups that they include; included groups come first."""
    known, found = groups(text), dict[str, None]()

    def add(name: str) -> None:
        for other in known[name].includes:
            add(other)
        found.setdefault(name)

    for name in names:
        add(name)
    return list(found)


def packages(text: str, names: Iterable[str]) -> list[str]:
    """Return the packages of these groups and of all groups that they include."""
    known = groups(text)
    return [package for name in included(text, names) for package in known[name].packages]
