# SPDX-License-Identifier: Apache-2.0
"""Generated files. A template is rendered with exactly the values it names: a missing one is an error, never empty."""

from __future__ import annotations

import shlex
from functools import cache

import jinja2


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("templates", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 (shell scripts and rules files; every value goes through `quote`)
    )
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    environment.filters["quote_all"] = lambda values: shlex.join(str(value) for value in values)
    return environment


def render(name: str, **values: object) -> str:
    """The template `name` (e.g. `trial.sh.j2`) with these values. Raises jinja2.UndefinedError for a missing one."""
    return _environment().get_template(name).render(values)
