#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Maintain the table of the options of sbatch, srun and salloc, and the plugin's copy of it.

`tools/slurm_options.py read RELEASE ROOT` asks the three commands below ROOT for the options that they pass to
getopt_long(3), and replaces the options of RELEASE in the table. ROOT is `/`, a root that debootstrap made, or a
directory into which `dpkg-deb -x` extracted slurm-client, slurm-wlm-basic-plugins and the libraries that they need.
Nothing in ROOT is changed. `tools/slurm_options.py header` writes the plugin's header from the table; `read` does so,
too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from itertools import groupby
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
TABLE = TOP / "matcher/submission/slurm_options.toml"
HEADER = TOP / "spank/slurm_options.h"
COMMANDS = ("salloc", "sbatch", "srun")
TAKES = ("nothing", "value", "attached")  # by getopt's has_arg
TIMEOUT_S = 30.0
LIBRARIES = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/slurm-wlm")
LOADERS = ("lib64/ld-linux-x86-64.so.2", "lib/x86_64-linux-gnu/ld-2.31.so", "usr/lib64/ld-linux-x86-64.so.2")

Names = tuple[str, ...]
Options = dict[str, dict[Names, str]]
"""Options of each command: the names of an option, the reported one first, and its kind of value (TAKES)."""

CONFIGURATION = "ClusterName=c\nSlurmctldHost=localhost\nNodeName=n\nPlugStackConfig=/dev/null\n"
START = """\
# SPDX-License-Identifier: Apache-2.0
# Options of sbatch, srun and salloc: the names of each option (a single letter is a short option), whether it takes no
# value, a value, or only an attached value (-koff, --nice=5), the commands that have it, and the first and last of
# `releases` that have it, if not all do. `tools/slurm_options.py read` replaces `releases` and `options` by what the
# commands of a release pass to getopt_long(3).
"""
PLUGINS = """
# Options of SPANK plugins. Reprise's own option is always present where a submission is read. Most sites do not have
# pyxis, so its options are recognized only by their full names. This list is maintained by hand.
"""


def read_release(root: Path) -> Options:
    """Return the options of the release of Slurm below `root`. Raises subprocess.SubprocessError, OSError."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        library = directory / "getopt_table.so"
        source = Path(__file__).with_name("getopt_table.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-nostartfiles", "-o", library, source], check=True)  # for old libcs
        plugins = f"PluginDir={root / LIBRARIES[-1]}\n" if root != Path("/") else ""
        (directory / "slurm.conf").write_text(CONFIGURATION + plugins)
        return {command: _parsed(_asked(command, root, directory, library)) for command in COMMANDS}


def _asked(command: str, root: Path, directory: Path, library: Path) -> str:
    """Run the command with `root`'s loader and libraries, and with `library` preloaded, and return its output."""
    program = str(root / "usr/bin" / command)
    environment = {**os.environ, "SLURM_CONF": str(directory / "slurm.conf")}
    if root == Path("/"):
        words = [program, "x"]
        environment["LD_PRELOAD"] = str(library)
    else:
        loader = next(root / path for path in LOADERS if (root / path).exists())
        search = ":".join(str(root / path) for path in LIBRARIES)
        words = [str(loader), "--library-path", search, "--preload", str(library), program, "x"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    return done.stdout


def _parsed(printed: str) -> dict[Names, str]:
    """Return the options in the output of getopt_table.c; names with the same value of getopt are synonyms."""
    letters, *rows = printed.splitlines()
    synonyms: dict[int, list[str]] = defaultdict(list)
    takes: dict[int, str] = {}
    for name, argument, value in (row.split() for row in rows):
        synonyms[int(value)].append(name)
        takes[int(value)] = TAKES[int(argument)]
    for letter in letters.lstrip("+").replace(":", ""):
        synonyms[ord(letter)].append(letter)
        after = letters.partition(letter)[2]
        takes.setdefault(ord(letter), TAKES[len(after) - len(after.lstrip(":"))])
    return {tuple(names): takes[value] for value, names in synonyms.items()}


def releases_in(table: dict[str, Any]) -> dict[str, Options]:
    """Return the options of each release in a table."""
    known = table["releases"]
    found: dict[str, Options] = {release: {command: {} for command in COMMANDS} for release in known}
    for row in table["options"]:
        first, last = (known.index(row.get(key, known[at])) for key, at in (("since", 0), ("until", -1)))
        for release in known[first : last + 1]:
            for command in row["commands"].split():
                found[release][command][tuple(row["names"].split())] = row["takes"]
    return found


def _spans(has: list[bool]) -> list[tuple[int, int]]:
    """Return the first and last index of each run of True."""
    runs = [[at for at, _ in run] for is_true, run in groupby(enumerate(has), lambda pair: pair[1]) if is_true]
    return [(run[0], run[-1]) for run in runs]


def rows_of(releases: dict[str, Options]) -> list[str]:
    """Return the lines of the table's `options`, sorted by name."""
    order = sorted(releases)
    keys = sorted({(n, t) for options in releases.values() for these in options.values() for n, t in these.items()})
    lines = []
    for names, takes in keys:
        by_span = defaultdict(list)
        for command in COMMANDS:
            for span in _spans([releases[release][command].get(names) == takes for release in order]):
                by_span[span].append(command)
        for (first, last), commands in sorted(by_span.items()):
            line = f'  {{ names = "{" ".join(names)}", takes = "{takes}", commands = "{" ".join(commands)}"'
            line += f', since = "{order[first]}"' if first else ""
            line += f', until = "{order[last]}"' if last < len(order) - 1 else ""
            lines.append(f"{line} }},")
    return lines


def table_text(releases: dict[str, Options], plugins: list[dict[str, str]]) -> str:
    """Return the text of the table."""
    quoted = ", ".join(f'"{release}"' for release in sorted(releases))
    own = ["  { " + ", ".join(f'{key} = "{value}"' for key, value in row.items()) + " }," for row in plugins]
    options = ["options = [", *rows_of(releases), "]"]
    return "\n".join([f"{START}releases = [{quoted}]", "", *options, f"{PLUGINS}plugins = [", *own, "]", ""])


def header_text(table: dict[str, Any]) -> str:
    """Return the plugin's header: the options of sbatch, as C."""
    known = table["releases"]
    letters: dict[str, str] = {}
    rows = set()
    for row in table["options"]:
        if "sbatch" not in row["commands"].split():
            continue
        first, last = (known.index(row.get(key, known[at])) for key, at in (("since", 0), ("until", -1)))
        for name in row["names"].split():
            if len(name) == 1:
                letters[name] = name + ":" * TAKES.index(row["takes"])
            else:
                rows.add((name, row["takes"] == "value", first, last))
    for row in table["plugins"]:
        span = (0, len(known) - 1) if row["abbreviated"] == "yes" else (1, 0)
        rows.add((row["names"], row["takes"] == "value", *span))
    lines = [f'    {{"{name}", {str(takes).lower()}, {first}, {last}}},' for name, takes, first, last in sorted(rows)]
    return f"""\
// SPDX-License-Identifier: Apache-2.0
// Generated by tools/slurm_options.py from matcher/submission/slurm_options.toml: the options of sbatch.
#ifndef REPRISE_SLURM_OPTIONS_H
#define REPRISE_SLURM_OPTIONS_H

#include <stdbool.h>

#define SLURM_RELEASES {len(known)} // {", ".join(known)}

// The options that sbatch passes to getopt_long(3). `:` marks a value, `::` an optional value.
static const char short_options[] = "{"".join(letters[letter] for letter in sorted(letters))}";

// A long option: whether the next word is its value, and the first and last release that have it. An option with
// first > last may not be abbreviated.
static const struct long_option {{
    const char *name;
    bool takes_word;
    unsigned char first;
    unsigned char last;
}} long_options[] = {{
{chr(10).join(lines)}
}};

#endif
"""


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit code."""
    table = tomllib.loads(TABLE.read_text())
    match arguments:
        case ["read", release, root]:
            releases = releases_in(table)
            releases[release] = read_release(Path(root).resolve())
            TABLE.write_text(table_text(releases, table["plugins"]))
            table = tomllib.loads(TABLE.read_text())
        case ["header"]:
            pass
        case _:
            print("usage: tools/slurm_options.py read RELEASE ROOT | header", file=sys.stderr)  # noqa: T201
            return 2
    HEADER.write_text(header_text(table))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
