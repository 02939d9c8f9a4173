# SPDX-License-Identifier: Apache-2.0
"""Update the tables of docs/explanation/evaluation.md (`python -m bench.evaluation_page`).

The text between `<!-- reprise COMMAND -->` and `<!-- end -->` is replaced with the output of `reprise COMMAND`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs/explanation/evaluation.md"
BLOCK = re.compile(
    r"^(?P<begin><!-- reprise (?P<command>[^\n]*) -->\n)(?P<said>.*?)(?P<end>^<!-- end -->)$", re.M | re.S
)


def _anew(block: re.Match[str]) -> str:
    argv = [sys.executable, "-m", "reprise", *shlex.split(block["command"])]
    said = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=3600).stdout
    return f"{block['begin']}{said}{block['end']}"


def main() -> None:
    """Rewrite the page with the present output of its commands."""
    PAGE.write_text(BLOCK.sub(_anew, PAGE.read_text()))


if __name__ == "__main__":
    main()
