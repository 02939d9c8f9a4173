# SPDX-License-Identifier: Apache-2.0
"""Environment modules that a script has loaded, found by following its `module` and `ml` commands."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from reprise.matcher.submission.submitted import MODULE_LIMIT

COMMANDS = ("module", "ml")
_VERBS = {
    "load": "load",
    "add": "load",
    "try-load": "load",
    "unload": "unload",
    "rm": "unload",
    "del": "unload",
    "swap": "swap",
    "switch": "swap",
    "sw": "swap",
    "purge": "purge",
    "reset": "purge",
    "restore": "purge",  # the names in a saved collection are unknown
    "list": "",
    "avail": "",
    "use": "",
    "unuse": "",
    "show": "",
}


class Modules:
    """Names of the loaded modules, in the order of loading; at most MODULE_LIMIT names are kept.

    `used` are the names of all modules with which a launcher starts a program, also those that are unloaded later, and
    those that a later pass of a loop loads.
    """

    def __init__(self) -> None:
        self.loaded: list[str] = []
        self.used: dict[str, None] = {}
        self._has_changed = False
        self._in_other_passes: dict[str, None] = {}

    @contextlib.contextmanager
    def inherited(self) -> Iterator[None]:
        """Let a child shell change the loaded modules until the end of the `with` block."""
        outer = list(self.loaded)
        yield
        self.loaded[:] = outer

    def use(self) -> None:
        """Note that a launcher starts a program with the loaded modules."""
        if self._has_changed:
            self.used |= dict.fromkeys((*self.loaded, *self._in_other_passes))
            self._in_other_passes.clear()
            self._has_changed = False

    def change(self, command: str, arguments: Sequence[str]) -> None:
        """Update the list after a command such as `module load a b` (Environment Modules, Lmod) or `ml a b` (Lmod)."""
        self._has_changed = True
        names = [argument for argument in arguments if not argument.startswith("-")]
        if command == "ml":  # `ml -gcc` unloads
            self._unload([word[1:] for word in arguments if word[:1] == "-" and word[1:2] != "-"])
        verb = "load"
        if command == "module" or (names and names[0] in _VERBS):
            verb, names = (_VERBS.get(names[0], ""), names[1:]) if names else ("", [])
        modules = self.loaded
        if verb == "purge":
            modules.clear()
        if verb in ("unload", "swap"):
            self._unload(names[:1] if verb == "swap" and len(names) > 1 else names)
        if verb in ("load", "swap"):
            modules += [name for name in names[-1:] if verb == "swap"] or [n for n in names if n not in modules]
            del modules[MODULE_LIMIT:]

    def load_in_other_pass(self, command: str, arguments: Sequence[str]) -> None:
        """Note the modules that a command loads in a pass of a loop other than the first, with that pass's words."""
        one = Modules()
        one.change(command, arguments)
        if len(self._in_other_passes) < MODULE_LIMIT:
            self._in_other_passes |= dict.fromkeys(one.loaded)

    def _unload(self, names: Sequence[str]) -> None:
        gone = set(names)
        self.loaded[:] = [module for module in self.loaded if module not in gone and module.split("/")[0] not in gone]
