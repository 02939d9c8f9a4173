# SPDX-License-Identifier: Apache-2.0
"""Stored results of `bench.real`, one file per program, so that the benchmark can run in parts and be interrupted.

A file contains parts (such as `runs` and `gains`) with their options and results. A result counts only for the code and
the network with which it was measured.
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
"""Folders of the product that can affect a result."""
FORMAT = 3
"""The version of the files' format. Increase it if the meaning or the measurement of a part changes."""
DIGITS = 12


@dataclass(frozen=True)
class Origin:
    """The code and the network of a result.

    `code` is a digest of the files of the product and of the program; `network` is the cluster's description.
    """

    code: str
    network: str


@dataclass
class Kept:
    """A program's stored results. Results of this `origin` count; if `stale` is set, so do those of other code."""

    path: Path
    program: str
    origin: Origin
    stale: bool = False
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def counted(self) -> dict[str, dict[str, Any]]:
        """The parts whose result or failure counts."""
        return {name: one for name, one in self.parts.items() if self._counts(one)}

    @property
    def failed(self) -> dict[str, str]:
        """The reasons why parts failed, by part."""
        return {name: one["failed"] for name, one in self.counted.items() if "failed" in one}

    @property
    def is_outdated(self) -> bool:
        """Whether the file contains results that do not count."""
        return len(self.counted) < len(self.parts)

    def has(self, part: str, asked: Mapping[str, Any]) -> bool:
        """Return whether a part has a result that counts and was measured with these options."""
        one = self.counted.get(part, {})
        return "found" in one and one["asked"] == json.loads(json.dumps(asked))

    def found(self, part: str) -> Any:
        """Return the result of a part, or None if the part has no result that counts."""
        return self.counted.get(part, {}).get("found")

    def keep(self, part: str, asked: Mapping[str, Any], found: Any) -> None:
        """Write the result of a part to the file immediately."""
        self._write(part, {"asked": dict(asked), "found": found})

    def fail(self, part: str, reason: str) -> None:
        """Write to the file why a part failed. This replaces an earlier result of the part."""
        self._write(part, {"failed": reason})

    def _counts(self, one: Mapping[str, Any]) -> bool:
        return one["network"] == self.origin.network and (self.stale or one["code"] == self.origin.code)

    def _write(self, part: str, told: Mapping[str, Any]) -> None:
        """Write the file atomically, so that an interruption leaves no partial file."""
        self.parts[part] = {**vars(self.origin), **told}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"format": FORMAT, "program": self.program, "parts": self.parts}, indent=1) + "\n")
        new.replace(self.path)


def kept(directory: Path, program: Program, origin: Origin, *, stale: bool = False) -> Kept:
    """Read the stored results of a program. Raises ValueError if the file was not written by this benchmark."""
    found = Kept(directory / f"{program.name}.json", program.name, origin, stale)
    if not found.path.exists():
        return found
    try:
        told = json.loads(found.path.read_text())
        if told["format"] == FORMAT:
            found.parts = told["parts"]
        found.counted  # noqa: B018 - raises if a part has no origin
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{found.path}: not a result of this bench ({error!r}): remove it") from error
    return found


def product(root: Path = ROOT) -> str:
    """Return a digest of the current contents of the product's files, as git lists them."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--", *MEASURED], capture_output=True, check=True, timeout=60
    )
    total = hashlib.sha256()
    for name in sorted(filter(None, listed.stdout.decode().split("\0"))):
        path = root / name
        total.update(f"{name}\0".encode() + (path.read_bytes() if path.is_file() else b"") + b"\0")
    return total.hexdigest()


def origin(program: Program, product_digest: str, network: str) -> Origin:
    """Return the origin of results that are measured now, with this code of the product on this network."""
    total = hashlib.sha256(f"{product_digest} {program.model_dump_json()}".encode())
    return Origin(total.hexdigest()[:DIGITS], network)
