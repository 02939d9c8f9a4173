# SPDX-License-Identifier: Apache-2.0
"""Names that a package offers, whose modules are imported when the names are first used.

Many modules need one light module of a package that also has heavy ones. If the package's `__init__` imported all of
them, commands that need only the light module would start slowly.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for the `__init__` of a package; `modules` has the module of each name that is offered.

    No name may be that of a module in the package, because importing the module would replace the name's value.
    """

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)  # so that the next use does not come here
        return value

    return attribute
