# SPDX-License-Identifier: Apache-2.0
"""Templates of generated files and web pages.

If a value that a template uses is missing, rendering fails instead of inserting an empty text.
"""

from __future__ import annotations

if __name__ != "reprise.templates":  # found in the current directory or on PYTHONPATH, and would be loaded twice
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
        # In pages, values are escaped automatically; templates of shell scripts use the filter `quote`.
        autoescape=jinja2.select_autoescape(enabled_extensions=["html.j2"], default=False),
    )
    environment.filters["quote"] = lambda value: shlex.quote(str(value))
    environment.filters["quote_all"] = lambda values: shlex.join(str(value) for value in values)
    return environment


def render(template: str, **values: object) -> str:
    """Return the text of a template (e.g. `trial.sh.j2`) with these values.

    Raise jinja2.UndefinedError if the template uses a value that is missing.

    In a page (`*.html.j2`), every value is escaped unless it is Markup.
    """
    return _environment().get_template(template).render(values)
