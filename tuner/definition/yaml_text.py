# SPDX-License-Identifier: Apache-2.0
"""Reader of YAML text that rejects texts whose aliases expand to more values than a person would write by hand."""

from __future__ import annotations

from typing import Any

import yaml

MOST_VALUES = 100_000
"""Maximum number of values after alias expansion. Ten lines, each with ten aliases of the line before, have 10^10
values."""


class NotYamlError(ValueError):
    """A text is not YAML, or is too large; the message is written directly after the words "not valid YAML"."""


def load(text: str) -> Any:
    """Return the content of a text: mappings, lists, strings, numbers and dates. Raise NotYamlError if invalid."""
    try:
        if _values(yaml.compose(text, yaml.SafeLoader), {}) <= MOST_VALUES:
            return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        words = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise NotYamlError(f"{line} ({words}): correct that line") from error
    except (KeyError, IndexError, AttributeError) as error:  # raised for `!!bool x`, `!!int ""`, `!!timestamp x`
        raise NotYamlError(" (a value does not fit its `!!` tag): remove the tag") from error
    except (ValueError, RecursionError) as error:  # raised for an impossible date or thousands of brackets
        raise NotYamlError(f" ({error}): correct it") from error
    raise NotYamlError(f" (with its aliases expanded it has over {MOST_VALUES:,} values): use fewer aliases")


def _values(node: yaml.Node | None, known: dict[int, int]) -> int:
    """Return the number of nodes in the tree at `node`, with aliases expanded; a recursive alias counts as 0."""
    if id(node) not in known:
        known[id(node)] = 0
        below: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            below = node.value
        elif isinstance(node, yaml.MappingNode):
            below = [one for pair in node.value for one in pair]
        known[id(node)] = 1 + sum(_values(one, known) for one in below)
    return known[id(node)]
