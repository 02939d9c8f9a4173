# SPDX-License-Identifier: Apache-2.0
"""Stored results of `bench.releases`, one file per part, so that the benchmark can run in parts.

A result counts as long as the product's code is that with which it was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.real.kept_results import DIGITS, ROOT, product

DIRECTORY = ROOT / "build/bench-releases"


@dataclass(frozen=True)
class Part:
    """The result of a part, or the reason why it failed, with the digest of the code that it was measured with."""

    code: str
    found: Mapping[str, Any]
    failed: str = ""


def code() -> str:
    """Return a digest of the product's current files."""
    return product()[:DIGITS]


def store(name: str, part: Part, directory: Path = DIRECTORY) -> None:
    """Write a part atomically, so that an interruption leaves no partial file."""
    directory.mkdir(parents=True, exist_ok=True)
    new = directory / f"{name}.new"
    new.write_text(json.dumps(vars(part), indent=1) + "\n")
    new.replace(directory / f"{name}.json")


def stored(name: str, directory: Path = DIRECTORY) -> Part | None:
    """Return the stored part, or None if it never ran. Raise ValueError if this benchmark did not write the file."""
    path = directory / f"{name}.json"
    try:
        return Part(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a result of this benchmark ({error}): remove it") from error
