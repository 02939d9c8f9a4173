# SPDX-License-Identifier: Apache-2.0
"""Identity of a program beyond its name, as kept in metadata."""

from __future__ import annotations

from dataclasses import dataclass, fields

from reprise.matcher.submission.metadata import JobMetadata


@dataclass(frozen=True)
class ProgramIdentity:
    """Fingerprints of a program's file, which reveal nothing but their similarity to others; "" is unknown.

    `build_id` is the linker's, in hexadecimal digits. The others are sketches (matcher.submission.sketch): `functions`
    of the names that the file defines, `imports` of the names that it uses from others, `contents` of the words in its
    text constants or, for a script, in its text. `runtime` is the path of an executable's own loader, or its sanitizer,
    which a preloaded library may conflict with (matcher.identity.own_runtime); "" if there is none.
    """

    build_id: str = ""
    functions: str = ""
    imports: str = ""
    contents: str = ""
    runtime: str = ""


UNKNOWN = ProgramIdentity()


def identity_in(job: JobMetadata) -> ProgramIdentity:
    """Return the program's identity in metadata."""
    return ProgramIdentity(**{field.name: getattr(job, field.name) for field in fields(ProgramIdentity)})
