# SPDX-License-Identifier: Apache-2.0
"""Generated files. A template is rendered with exactly the values it names: a missing one is an error, never empty."""

from __future__ import annotations

if __name__ != "reprise.templates":  # found in the current directory or on PYTHONPATH; it would be loaded twice
    raise ImportError("this is reprise.templates: import it by that name")

import shlex
from functools import cache

import jinja2


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("reprise.templates", ""),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # pages; in shell scripts and rules files every value goes through `quote`
        autoescape=jinja2.select_autoescape(enabled_extensions=["html.j2"], default=False),
    )
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    environment.filters["quote_all"] = lambda values: shlex.join(str(value) for value in values)
    return environment


def render(template: str, **values: object) -> str:
    """The template (e.g. `trial.sh.j2`) with these values. Raises jinja2.UndefinedError for a missing one.

    In a page (`*.html.j2`) every value is escaped that is no Markup.
    """
    return _environment().get_template(template).render(values)
