# SPDX-License-Identifier: Apache-2.0
"""What a YAML text holds, where that is no more than somebody may have written by hand."""

from __future__ import annotations

from typing import Any

import yaml

MOST_VALUES = 100_000
"""Aliases written out: ten lines of which each has the line before ten times over would be more than memory holds."""


class NotYamlError(ValueError):
    """A text is no YAML, or too much of it; the message goes behind "is not valid YAML"."""


def load(text: str) -> Any:
    """What the text holds: mappings, lists, texts, numbers, dates. Raises NotYamlError."""
    try:
        if _values(yaml.compose(text, yaml.SafeLoader), {}) <= MOST_VALUES:
            return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" in line {mark.line + 1}" if mark else ""
        words = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be parsed"
        raise NotYamlError(f"{line} ({words}): correct that line") from error
    except (KeyError, IndexError, AttributeError) as error:  # PyYAML's own, of `!!bool x`, `!!int ""`, `!!timestamp x`
        raise NotYamlError(" (a value is not what its tag `!!` says): remove the tag") from error
    except (ValueError, RecursionError) as error:  # a date that is none, brackets without end
        raise NotYamlError(f" ({error}): correct it") from error
    raise NotYamlError(f" (with its aliases written out it has over {MOST_VALUES:,} values): use fewer aliases")


def _values(node: yaml.Node | None, known: dict[int, int]) -> int:
    """How many there are below a node, and itself; an alias within its own anchor counts for nothing."""
    if id(node) not in known:
        known[id(node)] = 0
        below: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            below = node.value
        elif isinstance(node, yaml.MappingNode):
            below = [one for pair in node.value for one in pair]
        known[id(node)] = 1 + sum(_values(one, known) for one in below)
    return known[id(node)]
