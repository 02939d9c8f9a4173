# SPDX-License-Identifier: Apache-2.0
"""`reprise rules`: what each release of Open MPI makes of a rules file, wherever the file came from."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reprise.output import versioned

if TYPE_CHECKING:
    from reprise.tuner.openmpi.rules.releases import Family

F = TypeVar("F", bound=Callable[..., Any])

_RELEASES = (
    "A release (5.0.7), a family of releases as it is printed (5.0.7+), or `nodes`, a build with a level of nodes."
)


@click.group()
def rules() -> None:
    """Say what Open MPI makes of a rules file, which it never says itself.

    FILE is what OMPI_MCA_coll_tuned_dynamic_rules_filename names, in any form; with --han it is what
    OMPI_MCA_coll_han_dynamic_rules_filename names. Nothing is run: how the releases from 4.1.0 on read files is known.
    """


def _common(command: F) -> F:
    for option in (
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--release", "releases", multiple=True, help=f"{_RELEASES} Again for more; default: all."),
        click.option("--han", is_flag=True, help="FILE is the one of the component han."),
        click.option("--json", "as_json", is_flag=True, help="For programs."),
    ):
        command = option(command)
    return command


@rules.command()
@_common
@click.option("--collective", help="Only this one's rules.")
def show(file: Path, releases: Sequence[str], han: bool, as_json: bool, collective: str | None) -> None:
    """Print the rules that FILE holds, as each release reads them.

    Releases that read it alike are shown together. Sizes are in the unit that Open MPI compares.
    """
    from reprise.tuner.openmpi.rules import showing

    data, families = _load(file, releases)
    _print(showing.show_han(data, families) if han else showing.show(data, families, collective), as_json)


@rules.command()
@_common
def check(file: Path, releases: Sequence[str], han: bool, as_json: bool) -> None:
    """Say what each release would do with FILE, and what is wrong or surprising in it.

    Any bytes will do. Exit status: 0 if all releases read it and no job would fail, 3 if not, 1 if it cannot be read.
    """
    from reprise.tuner.openmpi.rules import showing

    data, families = _load(file, releases)
    shown = showing.check_han(data, families) if han else showing.check(data, families)
    _print(shown, as_json)
    sys.exit(0 if shown.good else 3)


@rules.command()
@_common
@click.option("--collective", required=True, help="As MPI names it, in small letters: bcast.")
@click.option("--ranks", required=True, type=click.IntRange(1, 2**31 - 1), help="Ranks of the communicator.")
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes that they lie on.")
@click.option(
    "--size",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Bytes, as benchmarks state them: one rank's part for gather, scatter, allgather, alltoall and "
    "reduce_scatter_block, one element for scan and exscan, the whole message for others.",
)
def explain(
    file: Path,
    releases: Sequence[str],
    han: bool,
    as_json: bool,
    collective: str,
    ranks: int,
    nodes: int,
    size: int,
) -> None:
    """Say which rule of FILE decides a call, in which line it stands, and why no other does.

    With --han, RANKS are those of the communicator of each level, and SIZE is one rank's bytes.
    """
    from reprise.tuner.openmpi.rules import showing
    from reprise.tuner.openmpi.rules.explaining import Call

    call = Call(collective, nodes, ranks, size)
    data, families = _load(file, releases)
    _print(showing.explain_han(data, families, call) if han else showing.explain(data, families, call), as_json)


def _load(file: Path, releases: Sequence[str]) -> tuple[bytes, list[Family]]:
    from reprise.tuner.openmpi.rules.releases import FAMILIES, family_of, load

    return load(file), list(dict.fromkeys(family_of(release) for release in releases)) or list(FAMILIES)


def _print(shown: Any, as_json: bool) -> None:
    click.echo(json.dumps(versioned(shown.document), indent=2) if as_json else "\n".join(shown.lines))
