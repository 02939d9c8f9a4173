# SPDX-License-Identifier: Apache-2.0
"""Commands that are hardly the job's work where it starts others too: they prepare it, or look at what came of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from posixpath import basename


class Side(IntEnum):
    """How far from the job's work a command is, told by its name: lower is nearer."""

    WORK = 0
    PERHAPS = 1
    """Evaluates, plots, converts: the work where the job starts nothing else in this way."""
    PREPARES = 2
    """Sets up what others then compute with."""


# Tools of community codes that only prepare, or take a few seconds afterwards.
_TOOLS = """
blockMesh snappyHexMesh surfaceFeatureExtract surfaceFeatures decomposePar reconstructPar reconstructParMesh setFields
topoSet checkMesh renumberMesh mapFields foamToVTK foamCleanTutorials patchSummary potentialFoam redistributePar
extrudeMesh createPatch real.exe ungrib.exe metgrid.exe geogrid.exe link_grib.csh real ungrib metgrid geogrid
xgenerate_databases xmeshfem2D xmeshfem3D xdecompose_mesh xcombine_vol_data makeneutral packmol tleap antechamber
psfgen pdb2gmx editconf setup.py configure bootstrap autogen.sh tensorboard
pip pip2 pip3 deviceQuery bowtie2-build hisat2-build collectl
"""
_GROMACS = """
grompp pdb2gmx editconf solvate genion make_ndx trjconv energy genrestr insert-molecules check eneconv trjcat dump
rms gyrate genconf tune_pme report-methods convert-tpr
"""
_OF_GROMACS = frozenset(_GROMACS.split())
TOOLS = frozenset(_TOOLS.split())
_PREPARES = re.compile(
    r"(?:^|[_.0-9-])(?:pre|prejob\w*?|postjob\w*?|prep|prepare|preproc\w*?|preprocess\w*?|setup|set_?up|install|"
    r"init|initiali[sz]e|download\w*?|"
    r"fetch|get|clean|cleanup|copy|check|verify|stage|stagein|stageout|compile|build|configure|start|stop|kill|monitor|"
    r"mkdir|load|activate|env|environment|module|modules|rename|backup|archive|log|watch|notify|deps?|requirements)"
    r"(?=[_.0-9-]|$)",
    re.IGNORECASE,
)
_PERHAPS = re.compile(
    r"(?:^|[_.0-9-])(?:plot\w*?|post|postproc\w*?|postprocess\w*?|analy[sz]\w*?|summar\w*?|report|merge|combine|concat|"
    r"collect|gather|visuali[sz]\w*?|viz|draw|make|generate|gen|create|split|extract|eval|evaluate|evaluation|test|"
    r"validate|convert\w*?|score|print|show|tokenize|export|predict|infer|inference|index|stats?|hello|bandwidth|"
    r"data|dataset|datasets|scatter|average|compare|diff|parse|count|filter)(?=[_.0-9-]|$)",
    re.IGNORECASE,
)
# What sites and people name their own tools that set a job up, where these stand bare, without a path or an ending.
SITE_TOOL = re.compile(
    r"(?:(?:de)?activate|workon|setpkgs|vpkg_\w+|jutil|uenv|pyenv|rbenv|nvm|soft|use|reuse|getconf|setfacl|tput|stty|"
    r"logger|mail|mailx|sendmail|usage|die|abort|error|fail|info|warn|warning|debug|main|nodeset|testreport|newgrp|"
    r"ssh-agent|ssh-add|klist|kinit|krenew|aklog|umount|mount|fusermount|sysctl|lsmod|locale|lockfile|dos2unix|"
    r"(?:load|set|setup|init|enable|disable|print|log|check|config|export|module|mod|env|say|msg|print)[_-]\w+|"
    r"[\w-]*(?:quota|job-?stats|jobinfo|job-info|resources|-start|-stop|_version)|"
    r"\w+_(?:env|environment|modules?|log|lmod|usage|help|message|status))\Z",
    re.IGNORECASE,
)


def side(path: str, arguments: Sequence[str]) -> Side:
    """How far from the job's work a command is."""
    name = basename(path)
    verb = arguments[0] if arguments else ""
    if name in TOOLS or verb == "grompp" or (name.startswith(("gmx", "g_")) and verb in _OF_GROMACS):
        return Side.PREPARES
    stem = name.rpartition(".")[0] or name
    if _PREPARES.search(stem):
        return Side.PREPARES
    return Side.PERHAPS if _PERHAPS.search(stem) else Side.WORK
