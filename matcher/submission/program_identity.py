# SPDX-License-Identifier: Apache-2.0
"""Who a program is beyond its name, as metadata keeps it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from reprise.matcher.submission.metadata import JobMetadata


@dataclass(frozen=True)
class ProgramIdentity:
    """A program's file in parts from which nothing but their likeness can be read; "" is unknown.

    `build_id` is the linker's, in hexadecimal digits. The others are sketches (matcher.submission.sketch):
    `functions` of the names of what the file defines, `imports` of what it uses of others, `contents` of the words
    of its text constants or, for a script, of its own.
    """

    build_id: str = ""
    functions: str = ""
    imports: str = ""
    contents: str = ""


UNKNOWN = ProgramIdentity()


def identity_in(job: JobMetadata) -> ProgramIdentity:
    """Return what metadata say of the program's identity."""
    return ProgramIdentity(**{field.name: getattr(job, field.name) for field in fields(ProgramIdentity)})
