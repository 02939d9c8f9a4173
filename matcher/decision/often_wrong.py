# SPDX-License-Identifier: Apache-2.0
"""Matches that are wrong more often than others: those with another user's record, and those of a program whose name
says nothing."""

from __future__ import annotations

import re

from reprise.database.entities import Scope
from reprise.matcher.decision.known_records import Known

_NAMES = """
    a analysis app application batch bench benchmark binary code command demo driver eval evaluate evaluation example
    exe exec executable experiment finetune finetuning foo go hello infer inference job launch launcher main model
    pipeline predict prog program run runner script sim simulation slurm solve solver start submit task test tests train
    trainer training tune work worker wrapper
"""
GENERIC_NAMES = frozenset(_NAMES.split())
"""Names that people who have nothing to do with each other give to their programs, in lower case, without ending and
number. In 11,897 published batch scripts, 667 of 3,430 owners run a program with such a name."""
_NUMBERED = re.compile(r"[-_.]?v?[0-9]+\Z")


def is_generic(program: str) -> bool:
    """Whether a program's name tells nothing about which program it is: `a.out`, `main.py`, `run2.sh`, or none."""
    stem = program.lower().partition(".")[0]
    return not stem or stem in GENERIC_NAMES or _NUMBERED.sub("", stem) in GENERIC_NAMES


def is_often_wrong(record: Known, *, user: str, program: str) -> bool:
    """Whether a match of `user`'s job with the record is of a kind that is often wrong. One that is for the whole
    cluster is no match of two jobs."""
    if record.scope == Scope.CLUSTER:
        return False
    return record.user != user or is_generic(program)
