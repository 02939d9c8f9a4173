# SPDX-License-Identifier: Apache-2.0
"""Masking of secrets in a job's metadata by the rules for stored records, so that jobs and records stay comparable."""

from __future__ import annotations

import dataclasses
from typing import Any

from reprise.database.secret_masking import masked_options, masked_text
from reprise.database.secret_programs import habits_of_program
from reprise.matcher.submission.metadata import JobMetadata

_WRITTEN = ("user", "job_name", "program", "path", "partition", "account", "directory", "script_path")
"""Fields with text that users write, which may contain secrets; the text of other fields comes from the parser."""


def masked(metadata: JobMetadata) -> JobMetadata:
    """Return the metadata with every secret replaced by `***`, so that it may be stored, logged and shown."""
    values = vars(metadata)
    changes: dict[str, Any] = {name: text for name in _WRITTEN if (text := masked_text(values[name])) != values[name]}
    options = masked_options(metadata.options, habits_of_program(metadata.program))
    if options != metadata.options:
        changes["options"] = options
    for name in ("modules", "programs", "mpi_signs"):
        texts = tuple(map(masked_text, values[name]))
        if texts != values[name]:
            changes[name] = texts
    return dataclasses.replace(metadata, **changes) if changes else metadata
