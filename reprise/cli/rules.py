# SPDX-License-Identifier: Apache-2.0
"""`reprise rules`: show how Open MPI and NCCL read any file with rules, whether from Reprise or not."""

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

_RELEASES = "A release (5.0.7), a group of releases as printed (5.0.7+), or `nodes` for a build with a level for nodes."


@click.group()
def rules() -> None:
    """Show how Open MPI reads a rules file, or NCCL a tuner file; they do not report it themselves.

    For Open MPI, FILE is the file that OMPI_MCA_coll_tuned_dynamic_rules_filename names, in any form; with --han, the
    file that OMPI_MCA_coll_han_dynamic_rules_filename names. Nothing is run: Reprise knows how all releases since 4.1.0
    read these files.
    """


def _common(command: F) -> F:
    for option in (
        click.argument("file", type=click.Path(path_type=Path)),
        click.option("--release", "releases", multiple=True, help=f"{_RELEASES} May be repeated; default: all."),
        click.option("--han", is_flag=True, help="FILE is a rules file of the component han."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ):
        command = option(command)
    return command


@rules.command()
@_common
@click.option("--collective", help="Print only rules for this collective.")
def show(file: Path, releases: Sequence[str], han: bool, as_json: bool, collective: str | None) -> None:
    """Print the rules in FILE as each release reads them.

    Releases that read the file in the same way are shown together. Sizes are in the unit that Open MPI compares.
    """
    from reprise.tuner.openmpi.rules import showing

    data, families = _load(file, releases)
    _print(showing.show_han(data, families) if han else showing.show(data, families, collective), as_json)


@rules.command()
@_common
def check(file: Path, releases: Sequence[str], han: bool, as_json: bool) -> None:
    """Report how each release would use FILE, and its problems.

    FILE may contain any bytes. Exit status: 0 if all releases read it and no job would fail, 3 if not, 1 if it
    cannot be read.
    """
    from reprise.tuner.openmpi.rules import showing

    data, families = _load(file, releases)
    assumed = _assumptions(releases)
    shown = showing.check_han(data, families, assumed) if han else showing.check(data, families, assumed)
    _print(shown, as_json)
    sys.exit(0 if shown.good else 3)


@rules.command()
@_common
@click.option("--collective", required=True, help="MPI's name of the collective in lower case, e.g. bcast.")
@click.option("--ranks", required=True, type=click.IntRange(1, 2**31 - 1), help="Ranks of the communicator.")
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes of the communicator.")
@click.option(
    "--size",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help="Bytes as benchmarks count them: one rank's part for gather, scatter, allgather, alltoall and "
    "reduce_scatter_block, one element for scan and exscan, the whole message for other collectives.",
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
    """Show which rule of FILE decides a call.

    The output names the rule's line, and the reason why no other rule applies. With --han, RANKS is the number of
    ranks of each level's communicator, and SIZE is one rank's bytes.
    """
    from reprise.tuner.openmpi.rules import showing
    from reprise.tuner.openmpi.rules.explaining import Call

    call = Call(collective, nodes, ranks, size)
    data, families = _load(file, releases)
    _print(showing.explain_han(data, families, call) if han else showing.explain(data, families, call), as_json)


@rules.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--collective", help="Print the line that selects the algorithm for this collective, e.g. allreduce.")
@click.option("--size", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Bytes of its buffer.")
@click.option("--nodes", type=click.IntRange(min=1), default=1, show_default=True, help="Nodes of the communicator.")
@click.option("--ranks", type=click.IntRange(min=1), default=2, show_default=True, help="Ranks of the communicator.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def nccl(file: Path, collective: str | None, size: int, nodes: int, ranks: int, as_json: bool) -> None:
    """Report the mistakes in FILE, a tuner file of NCCL or RCCL, or the line that decides a call.

    Exit status: 0 if there are none, 3 if there are, 1 if FILE cannot be read.
    """
    from reprise.tuner.nccl import showing_lines
    from reprise.tuner.nccl.tuner_decision import Call

    data = showing_lines.load(file)
    if collective is not None:
        _print(showing_lines.explain(data, Call(showing_lines.known(collective), size, nodes, ranks)), as_json)
        return
    shown = showing_lines.check(data)
    _print(shown, as_json)
    sys.exit(0 if shown.good else 3)


def _load(file: Path, releases: Sequence[str]) -> tuple[bytes, list[Family]]:
    from reprise.tuner.openmpi.rules.releases import FAMILIES, family_of, load

    return load(file), list(dict.fromkeys(family_of(release) for release in releases)) or list(FAMILIES)


def _assumptions(releases: Sequence[str]) -> dict[str, str]:
    """Return the assumptions about requested releases of unknown series, by the name of the family assumed for each."""
    from reprise.tuner.openmpi.rules.releases import assumption, family_of

    found: dict[str, str] = {}
    for release in releases:
        if words := assumption(release):
            name = family_of(release).name
            found[name] = f"{found[name]}; {words}" if name in found else words
    return found


def _print(shown: Any, as_json: bool) -> None:
    click.echo(json.dumps(versioned(shown.document), indent=2) if as_json else "\n".join(shown.lines))
