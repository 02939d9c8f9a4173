# SPDX-License-Identifier: Apache-2.0
"""Program names that are too common to identify a program."""

from __future__ import annotations

import re
from functools import lru_cache

_GENERIC = re.compile(
    r"(?:a|all|app|bench(?:mark)?|cli|code|command|demo|do|driver|eval(?:uate|uation)?|exec?|example|exp(?:eriment)?s?|exec"
    r"|fine_?tune|fit|generate|go|hello(?:_?world)?|inference|infer|init|job|launch(?:er)?|main|model|my_?(?:app|job|prog\w*)"
    r"|parallel|pipeline|plot|predict|preprocess|pretrain|process|prog(?:ram)?|run(?:ner|me|_all|_?sim\w*|_?exp\w*)?|script"
    r"|setup|sim(?:s|ulate|ulation)?|slurm|solver?|start|submit|sweep|tests?|test_?run|train(?:er|ing|_?model)?|tune|utils?"
    r"|wrapper|analysis|analy[sz]e)[0-9_]*(?:\.[A-Za-z]\w*)?\Z",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def is_generic(name: str) -> bool:
    """Return whether a name, such as `a.out` or `main.py`, is too common to identify a program."""
    return _GENERIC.match(name) is not None
