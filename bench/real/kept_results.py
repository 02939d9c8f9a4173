# SPDX-License-Identifier: Apache-2.0
"""Results of the bench as files, one for each program, so that it can be run in parts and go on where it was stopped.

A file holds parts (`runs`, `gains`, `promise`, `overhead`): the options that a part was asked for with, and what it
found. They count only together with the code and the network that they were measured on.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.real.catalogue import Program

ROOT = Path(__file__).parents[2]
DIRECTORY = ROOT / "build/bench-real"
MEASURED = ("accelerators", "database", "etc", "matcher", "reprise", "spank", "templates", "tuner")
"""The product: what a result can depend on."""
FORMAT = 1
"""Of the files. Raise it where a part measures or means something else than before."""
DIGITS = 12


@dataclass(frozen=True)
class Origin:
    """What a result was measured on. `code`: a digest of the product's files and of the program's own; `network`: as
    the cluster describes it."""

    code: str
    network: str


@dataclass
class Kept:
    """The results of one program: those of its `origin` count, with `stale` also those of other code on its network."""

    path: Path
    program: str
    origin: Origin
    stale: bool = False
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def counted(self) -> dict[str, dict[str, Any]]:
        """The parts that count."""
        return {name: one for name, one in self.parts.items() if self._counts(one)}

    @property
    def failed(self) -> dict[str, str]:
        """Why parts came to no result, by their names."""
        return {name: one["failed"] for name, one in self.counted.items() if "failed" in one}

    @property
    def is_outdated(self) -> bool:
        """Whether there is something that does not count."""
        return len(self.counted) < len(self.parts)

    def has(self, part: str, asked: Mapping[str, Any]) -> bool:
        """Whether a part was measured, with these options."""
        one = self.counted.get(part, {})
        return "found" in one and one["asked"] == json.loads(json.dumps(asked))

    def found(self, part: str) -> Any:
        """What a part found; None where it was not measured."""
        return self.counted.get(part, {}).get("found")

    def keep(self, part: str, asked: Mapping[str, Any], found: Any) -> None:
        """Keep what a part found, in the file, at once."""
        self._write(part, {"asked": dict(asked), "found": found})

    def fail(self, part: str, reason: str) -> None:
        """Keep why a part came to no result, in place of what an earlier run has found."""
        self._write(part, {"failed": reason})

    def _counts(self, one: Mapping[str, Any]) -> bool:
        return one["network"] == self.origin.network and (self.stale or one["code"] == self.origin.code)

    def _write(self, part: str, told: Mapping[str, Any]) -> None:
        """A file is there whole or not at all, whenever the bench is interrupted."""
        self.parts[part] = {**vars(self.origin), **told}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"format": FORMAT, "program": self.program, "parts": self.parts}, indent=1) + "\n")
        new.replace(self.path)


def kept(directory: Path, program: Program, origin: Origin, *, stale: bool = False) -> Kept:
    """What is kept of a program. Raises ValueError for a file that is no result of this bench."""
    found = Kept(directory / f"{program.name}.json", program.name, origin, stale)
    if not found.path.exists():
        return found
    try:
        told = json.loads(found.path.read_text())
        if told["format"] == FORMAT:
            found.parts = told["parts"]
        found.counted  # noqa: B018 - raises where a part does not say what it was measured on
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{found.path}: is no result of this bench ({error!r}): remove it") from error
    return found


def product(root: Path = ROOT) -> str:
    """A digest of the product's files, as they are now. Needs git, which knows which files are its own."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--", *MEASURED], capture_output=True, check=True, timeout=60
    )
    total = hashlib.sha256()
    for name in sorted(filter(None, listed.stdout.decode().split("\0"))):
        path = root / name
        total.update(f"{name}\0".encode() + (path.read_bytes() if path.is_file() else b"") + b"\0")
    return total.hexdigest()


def origin(program: Program, product_digest: str, network: str) -> Origin:
    """What a program's results are measured on now."""
    total = hashlib.sha256(f"{product_digest} {program.model_dump_json()}".encode())
    return Origin(total.hexdigest()[:DIGITS], network)
