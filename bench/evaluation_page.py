# SPDX-License-Identifier: Apache-2.0
"""Update the outputs of commands on the two evaluation pages, each between a comment and `<!-- end -->`.

    python -m bench.evaluation_page

On docs/reference/evaluation-tables.md, `<!-- reprise COMMAND -->` is followed by the output of that command. On
docs/explanation/evaluation.md, `<!-- summary of reprise COMMAND -->` is followed by the first line and the first table
of that output.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
TABLES = DOCS / "reference/evaluation-tables.md"
SUMMARIES = DOCS / "explanation/evaluation.md"
BLOCK = re.compile(
    r"^(?P<begin><!-- (?:summary of )?reprise (?P<command>[^\n]*) -->\n)(?P<output>.*?)(?P<end>^<!-- end -->)$",
    re.M | re.S,
)


def blocks(page: Path) -> dict[str, str]:
    """Return the outputs on a page, by command."""
    return {block["command"]: block["output"] for block in BLOCK.finditer(page.read_text())}


def summary(output: str) -> str:
    """Return the first line and the first table of a command's output."""
    return "\n\n".join(output.split("\n\n")[:2]) + "\n"


def _regenerated(block: re.Match[str]) -> str:
    argv = [sys.executable, "-m", "reprise", *shlex.split(block["command"])]
    output = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=3600).stdout
    return f"{block['begin']}{output}{block['end']}"


def main() -> None:
    """Update the outputs of commands on both evaluation pages."""
    TABLES.write_text(BLOCK.sub(_regenerated, TABLES.read_text()))
    tables = blocks(TABLES)

    def summarized(block: re.Match[str]) -> str:
        return f"{block['begin']}{summary(tables[block['command']])}{block['end']}"

    SUMMARIES.write_text(BLOCK.sub(summarized, SUMMARIES.read_text()))


if __name__ == "__main__":
    main()
