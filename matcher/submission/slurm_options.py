# SPDX-License-Identifier: Apache-2.0
"""Options of sbatch, srun and salloc, parsed by the rules of getopt_long(3), which these commands use."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import takewhile

CLUSTER_LIMIT = 64
"""Maximum number of characters that are read of a cluster of short options, such as `-HQJname`."""


class Takes(IntEnum):
    """Whether an option takes no value, a value, or only an attached value (as in `-koff` and `--nice=5`)."""

    NOTHING = 0
    VALUE = 1
    ATTACHED = 2


# One word per option of Slurm 22.05, with the option's names, then `:` if it takes a value, `::` if the value must be
# attached. A name of one letter is a short option. All names of an option are synonyms; the parser reports the first.
_COMMON = """
account|A: acctg-freq: bb: bbf: begin|b: chdir|D: cluster-constraint: cluster: clusters|M: comment: constraint|C:
container: context: contiguous core-spec|S: cores-per-socket: cpu-freq: cpus-per-gpu: cpus-per-task|c: deadline:
delay-boot: dependency|d: distribution|m: exclude|x: exclusive:: extra-node-info|B: gid: gpu-bind: gpu-freq:
gpus-per-node: gpus-per-socket: gpus-per-task: gpus|G: gres-flags: gres: help|h hint: hold|H job-name|J: licenses|L:
mail-type: mail-user: mcs-label: mem-bind: mem-per-cpu: mem-per-gpu: mem: mincpus: network: nice:: no-kill|k::
nodefile|F: nodelist|w: nodes|N: ntasks-per-core: ntasks-per-gpu: ntasks-per-node|tasks-per-node: ntasks-per-socket:
ntasks-per-tres: ntasks|n: overcommit|O oversubscribe|s partition|p: power: prefer: priority: profile: qos|q:
quiet|Q reboot reservation: signal: sockets-per-node: spread-job switches: thread-spec: threads-per-core: time-min:
time|t: tmp: uid: usage use-min-nodes verbose|v version|V wckey:
"""
_SBATCH_AND_SRUN = "error|e: export: input|i: open-mode: output|o: propagate:: test-only"
_SBATCH = """
array|a: batch: export-file: get-user-env:: ignore-pbs kill-on-invalid-dep: no-requeue parsable requeue
wait-all-nodes: wait|W wrap:
"""
_SRUN = """
accel-bind: bcast-exclude: bcast:: compress:: cpu-bind|cpu_bind: debugger-test disable-status|X epilog: exact
het-group|pack-group: immediate|I:: interactive jobid: kill-on-bad-exit|K:: label|l mpi: msg-timeout: multi-prog
no-allocate|Z overlap:: preserve-env|E prolog: pty quit-on-interrupt relative|r: resv-ports:: send-libs::
slurmd-debug: task-epilog: task-prolog: threads|T: unbuffered|u wait|W: whole x11::
"""
_SALLOC = "bell get-user-env:: immediate|I:: kill-command|K:: no-bell no-shell wait-all-nodes: x11::"
# Options of Reprise's plugin, of later Slurm releases, and of pyxis. They are recognized only by their full names, so
# that they do not make abbreviations ambiguous.
_WHOLE_NAMES = """
reprise: container-id: extra: external-launcher oom-kill-step:: segment: stepmgr tree-width: tres-bind: tres-per-task:
container-image: container-mounts: container-workdir: container-name: container-save: container-env:
"""


@dataclass(frozen=True)
class OptionTable:
    """The options of one command, in tables that map an option to its reported name and whether it takes a value.

    `long` and `short` contain the long and short names, and `whole` the names that may not be abbreviated
    (_WHOLE_NAMES).
    """

    long: dict[str, tuple[str, Takes]]
    short: dict[str, tuple[str, Takes]]
    whole: dict[str, tuple[str, Takes]]
    names: list[str]  # keys of `long`, sorted

    @classmethod
    def of(cls, *lists: str) -> OptionTable:
        """Return the table of the options in these lists, which have the format of _COMMON."""
        long: dict[str, tuple[str, Takes]] = {}
        short: dict[str, tuple[str, Takes]] = {}
        for word in " ".join(lists).split():
            names = word.rstrip(":").split("|")
            entry = (names[0], Takes(word.count(":")))
            for name in names:
                (short if len(name) == 1 else long)[name] = entry
        whole = {word.rstrip(":"): (word.rstrip(":"), Takes(word.count(":"))) for word in _WHOLE_NAMES.split()}
        return cls(long, short, whole, sorted(long))

    def find(self, name: str) -> tuple[str, Takes] | None:
        """Return the entry of a long option, given its name or an unambiguous abbreviation; None if it is unknown."""
        exact = self.long.get(name) or self.whole.get(name)
        if exact:
            return exact
        first = bisect_left(self.names, name)
        candidates = {self.long[known] for known in takewhile(lambda known: known.startswith(name), self.names[first:])}
        return candidates.pop() if len(candidates) == 1 else None


SBATCH = OptionTable.of(_COMMON, _SBATCH_AND_SRUN, _SBATCH)
SRUN = OptionTable.of(_COMMON, _SBATCH_AND_SRUN, _SRUN)
SALLOC = OptionTable.of(_COMMON, _SALLOC)
TABLES = {"sbatch": SBATCH, "srun": SRUN, "salloc": SALLOC}


@dataclass
class Parsed:
    """The options' values by reported name ("" for an option without a value), and in `rest` the words after them.

    If an option is repeated, the last value counts.
    """

    values: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)


def parse_options(table: OptionTable, words: Sequence[str]) -> Parsed:
    """Parse options up to the first word that is not an option.

    An unknown option (such as one of another plugin) or an ambiguous abbreviation is skipped, as if it took no value.
    """
    parsed = Parsed()
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            position += 1
            break
        if len(word) < 2 or not word.startswith("-"):
            break
        read = _read_long if word.startswith("--") else _read_short
        name, value, needs_next = read(table, word, parsed)
        position += 1
        if needs_next:
            value = words[position] if position < len(words) else ""
            position += 1
        if name:
            parsed.values[name] = value
    parsed.rest = list(words[position:])
    return parsed


def _read_long(table: OptionTable, word: str, _: Parsed) -> tuple[str, str, bool]:
    """Parse `--name` or `--name=value`; return (reported name or "", value, whether the value is the next word)."""
    name, equals, value = word[2:].partition("=")
    entry = table.find(name)
    if not entry:
        return "", "", False
    return entry[0], value, entry[1] is Takes.VALUE and not equals


def _read_short(table: OptionTable, word: str, parsed: Parsed) -> tuple[str, str, bool]:
    """Parse a cluster such as `-HQJname`; return the last option as `_read_long` does, put the others in `parsed`."""
    for position, letter in enumerate(word[1:CLUSTER_LIMIT], start=2):
        name, takes = table.short.get(letter, ("", Takes.NOTHING))
        if takes is Takes.NOTHING and position < len(word):
            if name:
                parsed.values[name] = ""
            continue
        attached = word[position:]
        return name, attached, takes is Takes.VALUE and not attached
    return "", "", False
