# SPDX-License-Identifier: Apache-2.0
"""Extraction of the data that identify a script: the functions that it defines, the modules it imports, and its words.

Functions and imports are found by patterns rather than by parsing, because Python, R, Julia, shell and Perl have only a
few forms of function definitions and imports.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from reprise.matcher.submission.sketch import sketch

SCRIPT_BYTES = 1 << 18  # maximum bytes that are read; a longer script is identified by its beginning

_FUNCTIONS = re.compile(
    r"^[ \t]*(?:(?:async[ \t]+)?def|class|function|sub|struct|mutable[ \t]+struct|macro)[ \t]+([A-Za-z_][\w.!:]*)"
    r"|^[ \t]*([A-Za-z_][\w.]*)[ \t]*(?:<-|=)[ \t]*function\b"
    r"|^[ \t]*([A-Za-z_]\w*)[ \t]*\([ \t]*\)[ \t]*\{",
    re.MULTILINE,
)
_IMPORTS = re.compile(
    r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import\b"
    r"|^[ \t]*(?:import|using|use|require|source|\.)[ \t]+([\w./:, \t]+)"
    r"|\b(?:library|require|requireNamespace|include|source)[ \t]*\([ \t]*[\"']?([\w./]+)",
    re.MULTILINE,
)
_MODULE = re.compile(r"[\w./:]+")


@dataclass(frozen=True)
class ScriptFile:
    """Contents of a script by which it can be identified.

    `functions` and `imports` are hashes (CRC-32) of the names that the script defines and imports. `contents` is a
    sketch (see `minwise`) of all words of the script.
    """

    functions: npt.NDArray[np.uint64]
    imports: npt.NDArray[np.uint64]
    contents: str


def read_script(text: str) -> ScriptFile:
    """Return the identifying contents of a script in any language."""
    functions = {name for found in _FUNCTIONS.findall(text) for name in found if name}
    imports = {module for found in _IMPORTS.findall(text) for names in found for module in _modules(names)}
    return ScriptFile(_numbers(functions), _numbers(imports), sketch(text))


def _modules(names: str) -> list[str]:
    """Return the top-level modules in an import list, such as numpy and scipy for `numpy as np, scipy.linalg`."""
    listed = (_MODULE.match(name.strip()) for name in names.split(","))
    return [found.group().partition(".")[0] or found.group() for found in listed if found]


def _numbers(names: set[str]) -> npt.NDArray[np.uint64]:
    return np.array(sorted(zlib.crc32(name.encode(errors="replace")) for name in names), np.uint64)
