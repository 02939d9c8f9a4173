# SPDX-License-Identifier: Apache-2.0
"""Fingerprints in a job's metadata that identify the job's program more exactly than its name does."""

from __future__ import annotations

from dataclasses import dataclass, fields

from reprise.matcher.submission.metadata import JobMetadata


@dataclass(frozen=True)
class ProgramIdentity:
    """Fingerprints of a program's file, which reveal only how similar the file is to other files; "" means unknown.

    `build_id` is the build ID that the linker writes, in hexadecimal digits. The next three are sketches
    (matcher.submission.sketch). `functions` is the sketch of the names that the file defines, `imports` that of the
    names that it uses from other files, and `contents` that of the words in its text constants or, for a script, in its
    text. `runtime` is not a fingerprint, but the path of an executable's own loader or the name of its sanitizer, with
    which a preloaded library may conflict (matcher.identity.own_runtime); "" if there is none. `mpi_library` is the
    name of an MPI library that an executable needs, such as `libmpi.so.40`; "" if it needs none itself.
    """

    build_id: str = ""
    functions: str = ""
    imports: str = ""
    contents: str = ""
    runtime: str = ""
    mpi_library: str = ""


UNKNOWN = ProgramIdentity()


def identity_in(job: JobMetadata) -> ProgramIdentity:
    """Return the fingerprints of a job's program, given the job's metadata."""
    return ProgramIdentity(**{field.name: getattr(job, field.name) for field in fields(ProgramIdentity)})
