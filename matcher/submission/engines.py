# SPDX-License-Identifier: Apache-2.0
"""Engines, which are programs that run other programs or scripts, such as workflow engines and MATLAB.

The job's program is the program or script that an engine runs. Each reader of an engine's command returns that program
and its arguments. It returns [] if the command does not show the program, the whole command if the engine itself is the
program, and None if the command does none of the job's work.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from reprise.matcher.submission.side_work import Side, side


class Input(NamedTuple):
    """A command's standard input: the name of a file, or the text of a here-document."""

    file: str = ""
    text: str = ""


Reader = Callable[[Sequence[str], Input], list[str] | None]

_CODE_LIMIT = 2_048
"""Maximum number of characters that are read of a line of code; a call near the beginning names the program."""
_STATEMENT = re.compile(r"[\n;,]")
_FILE_IN_CODE = re.compile(
    r"""(?:run|source|include|render|execfile|open)\s*\(\s*['"]([^'"()]+\.(?:m|R|r|Rmd|jl|py|pl|qmd))['"]"""
)
_CALL = re.compile(r"(?:try\s++)?(?:\[?[\w., ~]++\]?\s*+=(?!=)\s*+)?(?:run\s+)?([A-Za-z][\w./]*)(?![\w./]|\s*=(?!=))")
_PREPARES_CODE = re.compile(
    r"(?:clear|close|clc|cd|addpath|rmpath|genpath|parpool|par(?:Safe|Start|Pool)\w*|matlabpool|parcluster|maxNumCompThreads|warning|disp|display|"
    r"fprintf|exit|quit|try|catch|end|if|for|while|format|feature|rng|rand|num2str|str2func|strcat|fullfile|numel|length|zeros|ones|size|getenv|setenv|str2num|str2double|pwd|ver|"
    r"version|javaaddpath|delete|diary|global|load|pkg|dbstop|error|rethrow|run|set|startup|setup|setpath|"
    r"restoredefaultpath|pctRunOnAll|set[A-Z]\w*|(?:set|add)_?[pP]aths?\w*|init(?:[A-Z_]\w*)?|startup_?\w*|parallel|profile|savepath|tic|toc|gpuDevice|batch|import|path|system|mex|wall|unix|dos|assert|import|true|false|ans|err|ME)\Z"
)
# Functions that probably read input rather than do the work if their result is assigned, as in `cfg =
# ini2struct('x.ini')`.
_READS_CODE = re.compile(
    r"(?:[A-Za-z]++2\w+|read\w*|load\w*|parse\w*|get[A-Z_]\w*|str\w*|cell\w*|struct\w*|sprintf|lin\w*|log\w*)\Z"
)
_BUILDS = (
    "all clean distclean install build debug release opt depend dep veryclean realclean mrproper lib libs help check "
    "test tests config configure doc docs uninstall"
)
_BUILD_TARGETS = frozenset(_BUILDS.split())


def _script(*endings: str) -> Reader:
    """Return a reader that takes the first file with one of these suffixes as the command's program."""

    def read(argv: Sequence[str], _: Input) -> list[str]:
        for position, word in enumerate(argv[1:], start=1):
            if word.endswith(endings) and word[0] != "-":
                return list(argv[position:])
        return []

    return read


def _service(_argv: Sequence[str], _given: Input) -> None:
    """Return None, because a service (such as a scheduler, worker or web page) does none of the job's work itself."""


def _value(argv: Sequence[str], *names: str) -> str:
    """Return the value of the first of these options that is present; "" if none is present."""
    for position, word in enumerate(argv[1:], start=1):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else "".join(argv[position + 1 : position + 2])
        short = word[:2]
        if short in names and len(word) > 2 and word[1] != "-":
            return word[2:]
    return ""


def _snakemake(argv: Sequence[str], _: Input) -> list[str] | None:
    if "--unlock" in argv or "--version" in argv:
        return None
    rule = _value(argv, "--allowed-rules")  # set if this snakemake runs a single job of a workflow
    file = rule or _value(argv, "-s", "--snakefile")
    return [file] if file else []


_SESSION = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")
# Options of `nextflow run` and the number of words that each takes, including the option. A session id may follow
# `-resume`.
_NEXTFLOW_OPTIONS = dict.fromkeys(
    (
        *("-hub", "-r", "-revision", "-profile", "-c", "-config", "-C", "-params-file", "-w", "-work-dir", "-name"),
        *("-entry", "-user", "-qs", "-queue-size", "-ansi-log", "-main-script", "-bucket-dir", "-output-dir"),
    ),
    2,
) | dict.fromkeys(("-latest", "-stub", "-stub-run", "-bg", "-offline", "-q", "-resume", "-dump-hashes"), 1)


def _nextflow(argv: Sequence[str], given: Input) -> list[str] | None:
    if "run" not in argv:
        is_about = argv[1:2] and argv[1] in ("pull", "clean", "log", "info", "-version", "-v", "drop")
        return None if is_about else _script(".nf")(argv, given)
    after = _after_nextflow_options(argv[argv.index("run") + 1 :])
    if after and after[0][:1] != "-":
        return after if re.search(r"\w", after[0].rpartition("/")[2]) else []
    return _script(".nf")(["", *after], Input())


def _after_nextflow_options(words: Sequence[str]) -> list[str]:
    """Return the pipeline and its arguments if only known options precede the pipeline; otherwise all words."""
    position = 0
    while position < len(words) and words[position] in _NEXTFLOW_OPTIONS:
        position += _NEXTFLOW_OPTIONS[words[position]]
        position += position < len(words) and _SESSION.match(words[position]) is not None
    is_found = position < len(words) and words[position][:1] != "-"
    return list(words[position:] if is_found else words)


def file_in_code(code: str) -> str:
    """Return the script that code runs, as in `source('fit.R')` or `include("sim.jl")`; "" if there is none."""
    found = _FILE_IN_CODE.search(code[:_CODE_LIMIT])
    return found.group(1).strip() if found else ""


def _matlab_code(code: str) -> list[str]:
    """Return the script that MATLAB code runs, or the first function called that does the work; [] if unknown."""
    if file := file_in_code(code):
        return [file]
    code = code[:_CODE_LIMIT]
    prepares: list[str] = []
    for statement in map(str.strip, _STATEMENT.split(code)):
        is_within = statement.count(")") > statement.count("(")  # `n)`, from `parpool(4, n)`
        call = None if is_within else _CALL.match(statement)
        if call and not _PREPARES_CODE.match(call.group(1)):
            name = call.group(1)
            if "$" in statement[call.start(1) : call.end(1) + 1]:
                return []
            is_read = "=" in statement[: call.start(1)] and _READS_CODE.match(name)
            if side(name, ()) < Side.PREPARES and not is_read:
                return [name]
            prepares = prepares or [name]
    return prepares


def _matlab(argv: Sequence[str], given: Input) -> list[str] | None:
    code = _value(argv, "-r", "-batch", "--batch", "--eval", "-eval")
    if code or given.text:
        return _matlab_code(code or given.text)
    if given.file:
        return [given.file]
    return _script(".m")(argv, given)


def _r(argv: Sequence[str], given: Input) -> list[str] | None:
    if argv[1:2] == ["CMD"]:
        if argv[2:3] != ["BATCH"]:
            return None
        files = [word for word in argv[3:] if not word.startswith("-")]
        return files[:1]
    file = _value(argv, "-f", "--file")
    if file or given.file:
        return [file or given.file]
    called = file_in_code(_value(argv, "-e") or given.text)
    return [called] if called else []


def _ray(argv: Sequence[str], given: Input) -> list[str] | None:
    if argv[1:3] == ["job", "submit"]:
        return list(argv[argv.index("--") + 1 :]) if "--" in argv else _script(".py")(argv, given)
    if argv[1:2] in (["submit"], ["exec"]):
        return _script(".py")(argv, given)
    return None if argv[1:] and re.match(r"[a-z-]+\Z", argv[1]) else []


def _orion(argv: Sequence[str], given: Input) -> list[str] | None:
    return _python_launcher(argv, given) if "hunt" in argv[1:4] else None


def _luigi(argv: Sequence[str], _: Input) -> list[str]:
    module = _value(argv, "--module")
    return [module] if module else []


def _wandb(argv: Sequence[str], _: Input) -> list[str] | None:
    return [] if "agent" in argv[1:3] else None


def _mlflow(argv: Sequence[str], _: Input) -> list[str] | None:
    return [] if argv[1:2] == ["run"] else None


def _jupyter(argv: Sequence[str], given: Input) -> list[str] | None:
    if argv[1:2] == ["kernelspec"]:
        return None
    inputs = [word for before, word in pairwise(argv) if before not in ("--output", "-o", "--output-dir")]
    return _script(".ipynb")(["", *inputs], given)


def _casa(argv: Sequence[str], _: Input) -> list[str]:
    file = _value(argv, "-c")
    return [file] if file else list(argv)


def _python_launcher(argv: Sequence[str], _: Input) -> list[str] | None:
    """Return the program in `torchrun OPTIONS x.py`, `accelerate launch OPTIONS -m module` or a similar command."""
    if argv[0].rpartition("/")[2] == "accelerate" and argv[1:2] != ["launch"]:
        return None
    unknown = False
    for position, word in enumerate(argv[1:], start=1):
        if word in ("-m", "--module") and argv[position + 1 : position + 2]:
            return list(argv[position + 1 :])
        base = word.rpartition("/")[2]
        if word.endswith((".py", ".sh")) and word[:1] != "-" and "=" not in word:
            return list(argv[position:]) if not unknown or base[:1] != "$" else []
        if re.fullmatch(r"python[0-9.]*|bash|sh", base):
            return list(argv[position:])
    words = [word for word in argv[1:] if word[:1] != "-"]
    own = [word for word in words if re.match(r"\.{0,2}/[\w./-]+\Z", word)]
    return list(argv[argv.index(own[0]) :]) if own else []


def _make(argv: Sequence[str], _: Input) -> list[str]:
    """Return a build command unchanged, since building may be a job's only work; [] for `make run` and similar targets.

    Only the makefile, which is not read, shows what such a target runs.
    """
    targets, position = [], 1
    while position < len(argv):
        word = argv[position]
        position += 2 if word in ("-C", "-f", "-I", "-o", "-W") or (word == "-j" and argv[position + 1 :]) else 1
        if word[:1] != "-" and "=" not in word:
            targets.append(word)
    runs = any(not word[:1].isdigit() and word not in _BUILD_TARGETS for word in targets)
    return [] if runs else list(argv)


_PYTHON_LAUNCHERS = (
    "torchrun torch.distributed.run torch.distributed.launch accelerate accelerate.commands.launch deepspeed "
    "deepspeed.launcher.runner horovodrun horovod.runner composer fabric torchx colossalai idr_torchrun elastic_launch "
    "torch-distributed-run torchrun-hpc paddle.distributed.launch fleetrun oneflow.distributed.launch "
    "bagua.distributed.launch intel_extension_for_pytorch.cpu.launch ipexrun scoop"
)
_SERVICES = (
    "dask-worker dask-scheduler dask-mpi dask-ssh dask-cuda-worker dask ipengine ipcontroller ipcluster "
    "start-worker.sh start-head.sh start-master.sh start-all.sh start-slave.sh start-dfs.sh start-yarn.sh mongod "
    "redis-server frpc ngrok cloudflared node_exporter nvidia_gpu_prometheus_exporter nvidia-cuda-mps-control "
    "nvidia-cuda-mps-server toil"
)
_MATLAB = "matlab octave octave-cli MATLAB"
_UNSEEN = (
    "paramrun greasy disBatch disbatch jupyter-lab jupyter-notebook notebook jupyterlab jupyter-server "
    "submitit.core._submit"
)
ENGINES: dict[str, Reader] = {
    "snakemake": _snakemake,
    "nextflow": _nextflow,
    **dict.fromkeys(_MATLAB.split(), _matlab),
    "R": _r,
    "ray": _ray,
    "wandb": _wandb,
    "orion": _orion,
    "luigi": _luigi,
    "casa": _casa,
    "mlflow": _mlflow,
    **dict.fromkeys(("jupyter", "jupyter-nbconvert", "jupyter-execute", "papermill", "nbconvert"), _jupyter),
    **dict.fromkeys(_PYTHON_LAUNCHERS.split(), _python_launcher),
    **dict.fromkeys(_SERVICES.split(), _service),
    **dict.fromkeys(_UNSEEN.split(), _script(".ipynb")),
    **dict.fromkeys(("make", "gmake"), _make),
    **dict.fromkeys(("spark-submit", "spark-shell", "pyspark"), _script(".py", ".jar", ".R", ".scala")),
    **dict.fromkeys(("cwltool", "cwl-runner", "toil-cwl-runner", "arvados-cwl-runner"), _script(".cwl")),
    **dict.fromkeys(("miniwdl", "toil-wdl-runner", "cromwell"), _script(".wdl")),
    "streamlit": _script(".py"),
    **dict.fromkeys(("stata", "stata-mp", "stata-se", "stata-mp-64"), _script(".do")),
    "sas": _script(".sas"),
    **dict.fromkeys(
        ("math", "MathKernel", "wolframscript", "wolfram", "mathematica"), _script(".m", ".wls", ".wl", ".nb")
    ),
}
"""Readers by the command's name, or by the name of the module that `python -m` runs."""


def run_by(name: str, argv: Sequence[str], given: Input) -> list[str] | None:
    """Return the command that the engine of this name runs; the module's docstring lists the possible results.

    A user's own program may have an engine's name. `./ray` counts as the engine only if its command line shows a
    program that it runs.
    """
    inside = ENGINES[name](argv, given)
    is_own = "/" in argv[0] and not argv[0].startswith(("/", "~", "$")) and ENGINES[name] is not _service
    return list(argv) if is_own and not inside else inside
