# SPDX-License-Identifier: Apache-2.0
"""The command line of benchmarks with several parts, each of them for itself."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Results = Mapping[str, Any]
"""Values by the keys of the benchmark; `details` has others by name."""


def parser(name: str, description: str, parts: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser of the command line of `bench.<name>`, with `--only`, whose value becomes a list of parts."""

    def chosen(text: str) -> list[str]:
        words = text.split(",")
        if unknown := set(words) - set(parts):
            raise argparse.ArgumentTypeError(
                f"unknown part {', '.join(sorted(unknown))}: choose from {', '.join(parts)}"
            )
        return words

    made = argparse.ArgumentParser(prog=f"python -m bench.{name}", description=description.splitlines()[0])
    made.add_argument("--only", type=chosen, default=list(parts), help="parts to run, separated by commas")
    return made


def run(chosen: Sequence[str], parts: Mapping[str, Callable[[], Results]], keys: Sequence[str]) -> int:
    """Run parts, print what each found and the JSON object, and return 1 if one failed. The others continue."""
    results: dict[str, Any] = {**dict.fromkeys(keys), "details": {}, "failed": []}
    for name in chosen:
        try:
            found = dict(parts[name]())
        except Exception:
            traceback.print_exc()
            results["failed"].append(name)
            continue
        results["details"] |= found.pop("details", {})
        results |= found
        sys.stdout.write(f"{name}: {json.dumps(found)}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{json.dumps(results)}\n")
    return 1 if results["failed"] else 0
