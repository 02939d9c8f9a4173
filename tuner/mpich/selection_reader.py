# SPDX-License-Identifier: Apache-2.0
"""Emulator of MPICH's reader of selection files: which algorithm a file chooses for a call (src/mpi/coll/src/csel.c).

MPICH compares the keys of an object in their order and takes the first that holds. It never goes back: if no key of the
taken object holds, the call has no algorithm. Blanks in keys are ignored. MPICH 4.0.2 ends the program in the cases in
which the emulator raises an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from reprise.tuner.errors import TunerError

INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Call:
    """A call of a collective on an intracommunicator of `ranks` ranks.

    `size` is in bytes, as benchmarks report it, and `count` the number of elements that MPICH counts. `hierarchical`:
    some of the ranks share a node, but not all of them. `one_node`: all ranks share a node.
    """

    collective: str
    size: int
    ranks: int
    count: int = 2**20
    commutative: bool = True
    built_in: bool = True
    in_place: bool = False
    hierarchical: bool = False
    one_node: bool = False

    def __str__(self) -> str:
        return f"{self.collective}:{self.size}:{self.ranks}"


class StopsProgram(TunerError):  # noqa: N818
    """MPICH would end the program, when it reads the file or at the call."""


def selected(table: Mapping[str, Any], call: Call) -> str:
    """Return the name of the algorithm that a table chooses for a call, such as MPIR_Bcast_intra_binomial.

    Raise StopsProgram if MPICH would end the program.
    """
    node = table.get(f"collective={call.collective}")
    while node is not None:
        for key, value in node.items():
            word = key.replace(" ", "")
            if word.startswith(("algorithm=", "composition=")):
                return str(word.partition("=")[2])
            if holds(word, call):
                node = value
                break
        else:
            break
    raise StopsProgram(f"the selection file chooses no algorithm for {call}: MPICH ends the program")


def holds(key: str, call: Call) -> bool:
    """Return whether a condition holds for a call. Raise StopsProgram for a condition that MPICH does not know."""
    if key == "any" or key.endswith("=any"):
        return True
    if key in _WORDS:
        return _WORDS[key](call)
    name, operator, bound = re.fullmatch(r"(\w*)(<=|<|=)?(.*)", key, re.DOTALL).groups()  # type: ignore[union-attr]
    if name not in _NUMBERS or operator not in ("<=", "<"):
        raise StopsProgram(f"the selection file has an unknown key {key!r}: MPICH ends the program")
    limit = int(found[0]) if (found := INTEGER.match(bound)) else 0  # like atoi, 0 if there is no number
    number = _NUMBERS[name](call)
    return number <= limit if operator == "<=" else number < limit


def _total(call: Call) -> int:
    """Return the total size, which MPICH computes for a reduction as if each rank had a message of its own."""
    if call.collective == "reduce_scatter":
        return call.size
    return call.size * call.ranks


_NUMBERS: Mapping[str, Callable[[Call], int]] = {
    "comm_size": lambda call: call.ranks,
    "avg_msg_size": lambda call: call.size,
    "total_msg_size": _total,
    "count": lambda call: call.count,
    "comm_avg_ppn": lambda call: call.ranks if call.one_node else 1,
}
_WORDS: Mapping[str, Callable[[Call], bool]] = {
    "comm_type=intra": lambda _: True,
    "comm_type=inter": lambda _: False,
    "comm_size=pow2": lambda call: call.ranks & (call.ranks - 1) == 0,
    "comm_size=node_comm_size": lambda call: call.one_node,
    "count<pow2": lambda call: call.count < 1 << (call.ranks.bit_length() - 1),
    "is_commutative=yes": lambda call: call.commutative,
    "is_commutative=no": lambda call: not call.commutative,
    "is_op_built_in=yes": lambda call: call.built_in,
    "is_op_built_in=no": lambda call: not call.built_in,
    "is_sendbuf_inplace=yes": lambda call: call.in_place,
    "is_sendbuf_inplace=no": lambda call: not call.in_place,
    "is_block_regular=yes": lambda _: True,
    "is_block_regular=no": lambda _: False,
    "is_node_consecutive=yes": lambda _: True,
    "is_node_consecutive=no": lambda _: False,
    "is_multi_threaded=yes": lambda _: False,
    "is_multi_threaded=no": lambda _: True,
    "comm_hierarchy=parent": lambda call: call.hierarchical,
    **{f"comm_hierarchy={word}": (lambda call: not call.hierarchical) for word in ("node_roots", "node", "flat")},
}
