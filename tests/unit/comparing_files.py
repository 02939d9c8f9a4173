# SPDX-License-Identifier: Apache-2.0
"""A linkage model for tests: the model `site`, which here also compares the contents of program files."""

from __future__ import annotations

from pathlib import Path

from reprise.matcher.calibration.model_file import text
from reprise.matcher.linkage.linkage_model import HammingPart, ModelField, load


def comparing_files(path: Path) -> str:
    """Write to `path` a model like `site` that also compares program files, and return the setting that selects it."""
    site = load("site")
    part = HammingPart(feature="contents", comparer="hamming", curve=((0.0, 0.0), (1.0, 4.0)), unknown=0.0)
    model = site.model_copy(update={"fields": (*site.fields, ModelField(name="file", parts=(part,)))})
    path.write_text(text(model))
    path.chmod(0o644)
    return f'model = "{path}"'
