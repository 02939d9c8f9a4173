# SPDX-License-Identifier: Apache-2.0
"""Generate manual pages and completions: `python -m reprise.cli.manual DIRECTORY PLUGSTACK_FILE`.

Manual sections: 1 for commands, 5 for files, 8 for commands of administrators.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete
from pydantic import BaseModel

from reprise import __version__
from reprise.cli.main import reprise as program
from reprise.cli.settings import tables
from reprise.config import DEFAULT_PATH, Config
from reprise.tuner.definition.campaign_definition import Definition

FOR_ADMINISTRATORS = ("serve", "arbiter", "council", "web", "doctor")
COMPLETIONS: Mapping[str, type[ShellComplete]] = {
    "reprise.bash": BashComplete,
    "_reprise": ZshComplete,
    "reprise.fish": FishComplete,
}
STATUSES = (
    "0: success; 1: the command failed, or a check found a problem; "
    "2: the command line is wrong; 3: the job is unknown, the campaign was stopped or interrupted, "
    "or Open MPI would not use the file; 4: no matcher answers; 130: interrupted. "
    "An error is one line on standard error."
)
SEE = "The installed documentation, and https://slurm.schedmd.com/spank.html for plugins."


def pages(plugstack: str) -> dict[str, str]:
    """Return the text of all manual pages in roff (man(7)), by file name.

    `plugstack` is the text of the plugin's plugstack.conf.
    """
    found = {"reprise.1": _program()}
    for name in program.list_commands(click.Context(program)):
        section = 8 if name in FOR_ADMINISTRATORS else 1
        found[f"reprise-{name}.{section}"] = _command(name, section)
    found["reprise.toml.5"] = _file("reprise.toml", "configuration of Reprise", str(DEFAULT_PATH), Config, _toml)
    about = "campaign file of Reprise"
    found["reprise-campaign.5"] = _file("reprise-campaign", about, "a file for `reprise tune run`", Definition, _yaml)
    found["spank_reprise.8"] = _plugin(plugstack)
    return found


def completions() -> dict[str, str]:
    """Return the text of each shell's completions, by file name."""
    made = {}
    for name, kind in COMPLETIONS.items():
        text = kind(program, {}, "reprise", "_REPRISE_COMPLETE").source()
        made[name] = text if text.endswith("\n") else text + "\n"
    return made


def escaped(text: str) -> str:
    """Escape text for roff, so that no line is a request, and hyphens and quotes can be copied from the page."""
    text = (
        text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    )
    text = text.replace("~", "\\(ti")
    return "\n".join(f"\\&{line}" if line.startswith((".", "\\(aq")) else line for line in text.split("\n"))


def _prose(text: str) -> str:
    """Format the paragraphs of a docstring in roff, with text between backticks in bold."""
    shown = []
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        words = " ".join(paragraph.split())
        parts = re.split(r"`([^`]+)`", words)
        shown.append("".join(f"\\fB{escaped(part)}\\fR" if at % 2 else escaped(part) for at, part in enumerate(parts)))
    return "\n.PP\n".join(shown)


def _head(name: str, section: int, about: str) -> str:
    about = about.rstrip(".")
    title = f'.TH {escaped(name.upper())} {section} "" "Reprise {__version__}" "Reprise"'
    return f"{title}\n.SH NAME\n{escaped(name)} \\- {escaped(about[:1].lower() + about[1:])}"


def _program() -> str:
    context = click.Context(program, info_name="reprise")
    lines = [_head("reprise", 1, program.help or ""), ".SH SYNOPSIS", _synopsis(program, context)]
    lines += [".SH DESCRIPTION", _prose(program.help or ""), ".SH OPTIONS", *_options(program, context), ".SH COMMANDS"]
    for name in program.list_commands(context):
        section = 8 if name in FOR_ADMINISTRATORS else 1
        command = program.get_command(context, name)
        lines += [".TP", f".BR reprise\\-{escaped(name)} ({section})", escaped(_short(command))]
    lines += [
        ".SH ENVIRONMENT", ".TP", ".B REPRISE_CONFIG", "The configuration file, like \\fB\\-\\-config\\fR.",
        ".SH EXIT STATUS", STATUSES,
        ".SH FILES", ".TP", f".I {DEFAULT_PATH}", "see", ".BR reprise.toml (5)", ".SH SEE ALSO", escaped(SEE),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _command(name: str, section: int) -> str:
    context = click.Context(program, info_name="reprise")
    command = program.get_command(context, name)
    if command is None:
        raise ValueError(name)
    inner = click.Context(command, info_name=name, parent=context)
    lines = [_head(f"reprise-{name}", section, _short(command)), ".SH SYNOPSIS"]
    leaves = list(_leaves(command, inner))
    for leaf, its in leaves:
        lines += [_synopsis(leaf, its), ".br"]
    lines += [".SH DESCRIPTION", _prose(command.help or "")]
    if not isinstance(command, click.Group):
        lines += [".SH OPTIONS", *_options(command, inner)]
    else:
        lines.append(".SH COMMANDS")
        for leaf, its in leaves:
            lines += [f".SS {escaped(its.command_path)}", _prose(leaf.help or ""), *_options(leaf, its)]
    lines += [".SH SEE ALSO", ".BR reprise (1),", ".BR reprise.toml (5)"]
    return "\n".join(lines) + "\n"


def _leaves(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """Yield a command, or the commands below it if it is a group, without groups and hidden commands."""
    if not isinstance(command, click.Group):
        yield command, context
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        if below and not below.hidden:
            yield from _leaves(below, click.Context(below, info_name=name, parent=context))


def _short(command: click.Command | None) -> str:
    text = " ".join((command.help if command and command.help else "").split())
    return re.split(r"(?<=[.:;])\s", text, maxsplit=1)[0].rstrip(".:;").replace("`", "")


def _synopsis(command: click.Command, context: click.Context) -> str:
    words = " ".join(command.collect_usage_pieces(context))
    return f"\\fB{escaped(context.command_path)}\\fR {escaped(words)}"


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and "--help" not in record[0]:
            yield ".TP"
            yield f"\\fB{escaped(record[0])}\\fR"
            yield _prose(record[1]) or "\\&"


def _file(name: str, about: str, where: str, model: type[BaseModel], line: Any) -> str:
    lines = [_head(name, 5, about), ".SH SYNOPSIS", escaped(where), ".SH DESCRIPTION"]
    kind = "TOML" if line is _toml else "YAML"
    lines += [
        escaped(f"A file in {kind}. Absent settings have their defaults; unknown settings are refused."),
        ".SH SETTINGS",
    ]
    lines += _settings(model, line)
    lines += [".SH SEE ALSO", ".BR reprise (1)"]
    return "\n".join(lines) + "\n"


def _settings(model: type[BaseModel], line: Any) -> Iterator[str]:
    for table in tables(model):
        if table.names:
            yield f".SS {escaped(line(table.names))}"
            yield _prose(table.about)
        for setting in table.settings:
            default = f"default {setting.default}" if setting.default else "required"
            words = f"; one of {setting.words}" if setting.words else ""
            yield ".TP"
            yield f"\\fB{escaped(setting.name)}\\fR ({escaped(default + words)})"
            yield escaped(setting.meaning) or "\\&"


def _toml(above: tuple[str, ...]) -> str:
    return f"[{'.'.join(above)}]"


def _yaml(above: tuple[str, ...]) -> str:
    return f"{'.'.join(above)}:"


def _plugin(plugstack: str) -> str:
    """Return the plugin's manual page, made from the comments of the plugstack.conf that sites copy."""
    text = [one.removeprefix("#").removeprefix(" ") for one in plugstack.splitlines()[1:]]
    lines = [_head("spank_reprise", 8, "Slurm plugin that gives jobs the best settings known for jobs like them")]
    lines += [
        ".SH SYNOPSIS",
        f"\\fB{escaped(text[-1])}\\fR",
        ".SH DESCRIPTION",
        ".nf",
        escaped("\n".join(text[:-1])),
        ".fi",
    ]
    lines += [
        ".SH OPTIONS OF sbatch, salloc AND srun", ".TP",
        f"\\fB{escaped('--reprise=on|off|observe|explain|profile')}\\fR",
        "For one job: on applies settings; off does not ask the matcher; observe asks, but applies nothing; explain",
        "applies settings and prints the reason; profile applies settings and profiles the job for",
        "\\fBreprise jobs profile\\fR.",
        ".SH SEE ALSO", ".BR reprise (1),", ".BR reprise\\-doctor (8),", ".BR sbatch (1)",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write manual pages and completions to the subdirectories `man` and `completions` of a directory."""
    directory, plugstack = Path(sys.argv[1]), Path(sys.argv[2])
    for name, made in (("man", pages(plugstack.read_text())), ("completions", completions())):
        below = directory / name
        below.mkdir(parents=True, exist_ok=True)
        for file, text in made.items():
            (below / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
