# SPDX-License-Identifier: Apache-2.0
"""Compile the test files once, before each of several pytest processes imports all of them.

Each process of pytest-xdist collects every test. In a fresh checkout, each process would rewrite the assertions of the
same hundreds of files and compile the product's modules, which takes 8 seconds of processor time in each of three
processes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.util import cache_from_source
from pathlib import Path

import pytest

WORTH_IT = 20  # minimum number of files; compiling fewer files takes less time than starting processes


def missing(files: Iterable[Path]) -> list[Path]:
    """Return the `files` that pytest has never compiled.

    Changed files are not included, because pytest recompiles a changed file when it collects the file.
    """
    return [file for file in files if not kept(file).exists()]


def kept(file: Path) -> Path:
    """Return the path at which pytest caches the compiled version of a file, with rewritten assertions."""
    plain = Path(cache_from_source(str(file)))
    return plain.with_name(f"{plain.stem}-pytest-{pytest.__version__}.pyc")


def compile_all(files: Sequence[Path], root: Path, processes: int) -> None:
    """Import the test `files` below `root` in forked processes, so that pytest's import hook compiles and caches them.

    A file that cannot be imported is skipped; pytest reports it when it collects the file.
    """
    by_size = sorted(files, key=lambda file: file.stat().st_size, reverse=True)
    children = [_forked(by_size[number::processes], root) for number in range(processes)]
    for child in children:
        os.waitpid(child, 0)


def _forked(files: Iterable[Path], root: Path) -> int:
    """Fork a process that imports `files`, and return its id."""
    if child := os.fork():
        return child
    try:
        for descriptor in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
        sys.path.insert(0, str(root))
        for file in files:
            with contextlib.suppress(BaseException):
                importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))
    finally:
        os._exit(0)
