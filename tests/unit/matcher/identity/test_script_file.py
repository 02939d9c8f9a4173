# SPDX-License-Identifier: Apache-2.0
"""Test which functions and imports are found in scripts, in the languages that jobs are written in."""

from __future__ import annotations

import zlib

import pytest

from reprise.matcher.identity.script_file import read_script


def numbers(*names: str) -> list[int]:
    return sorted(zlib.crc32(name.encode()) for name in names)


@pytest.mark.parametrize(
    ("text", "functions", "imports"),
    [
        ("import os.path as p, sys\nasync def f(x):\n  import torch\n", ["f"], ["os", "sys", "torch"]),
        ("library(ggplot2)\nfit <- function(x) x\nplot.it = function() 1\n", ["fit", "plot.it"], ["ggplot2"]),
        ("using MPI, LinearAlgebra\nfunction step!(u)\nend\n", ["step!"], ["MPI", "LinearAlgebra"]),
        ("source env.sh\n. ./lib\nrun() {\n:\n}\nfunction stop {\n:\n}\n", ["run", "stop"], ["env", "./lib"]),
        ("use strict;\nuse Bio::Seq;\nsub align {\n}\n", ["align"], ["strict", "Bio::Seq"]),
        ("x = 1\n", [], []),
    ],
    ids=["python", "r", "julia", "shell", "perl", "none"],
)
def test_functions_and_imports_are_found(text: str, functions: list[str], imports: list[str]) -> None:
    found = read_script(text)
    assert found.functions.tolist() == numbers(*functions)
    assert found.imports.tolist() == numbers(*imports)


def test_any_text_is_read_in_bounded_time() -> None:
    for text in (" " * 200_000, "a" * 200_000, "import " + "a, " * 80_000, "f (" * 70_000, "\t\n" * 100_000):
        read_script(text)
