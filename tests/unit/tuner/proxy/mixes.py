# SPDX-License-Identifier: Apache-2.0
"""Small mixes (the MPI calls of each rank of a program) for tests."""

from __future__ import annotations

from reprise.tuner.proxy.folding import fold
from reprise.tuner.proxy.mix import Mix

WORLD = (0, 1, 2)


def mix(*programs: str, comms: tuple[tuple[int, ...], ...] = ()) -> Mix:
    """Return a mix of one rank per program, which has one call per line; repeated calls are folded into loops."""
    ranks = tuple(range(len(programs)))
    lines = [[line.strip() for line in program.strip().splitlines()] for program in programs]
    return Mix((ranks, *comms), [fold((line, 10.0) for line in each) for each in lines], "test", 1.5)


def ring(steps: int, *, last: str = "barrier c=0") -> Mix:
    """Return a mix of three ranks that shift data in a ring: `steps` steps with an allreduce, and `steps` without."""
    programs = []
    for rank in WORLD:
        right, left = (rank + 1) % 3, (rank + 2) % 3
        step = f"irecv c=0 p={left} t=1 n=64 q=0\nsend c=0 p={right} t=1 n=64\nwait q=0\nallreduce c=0 n=8 e=8\n"
        other = f"sendrecv c=0 p={right} t=2 n=32 P={left} T=2 N=32\n"
        programs.append("bcast c=0 p=0 n=100\n" + step * steps + "barrier c=0\n" + other * steps + last)
    return mix(*programs)
