# SPDX-License-Identifier: Apache-2.0
"""Recognition, by name, of commands that prepare a job's work or evaluate its results rather than do the work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from posixpath import basename


class Side(IntEnum):
    """Distance of a command from the job's work, judged by the command's name; a lower value is closer."""

    CODE = 0
    """Runs a simulation code that is widely used, such as VASP; all other commands of the job only support it."""
    MAIN = 1
    """Has a name that suggests the main work, such as `train.py`."""
    WORK = 2
    PERHAPS = 3
    """Evaluates, plots or converts; this is the job's work only if the job starts nothing closer to work."""
    PREPARES = 4
    """Prepares the input of other commands."""
    INSTALLS = 5
    """Installs programs for other commands."""
    LOOKS = 6
    """Inspects the machine or the environment."""


# Simulation codes that run for hours; other scripts in the same job prepare their input or read their output.
_CODE = re.compile(
    r"(?:mdrun\w*|lmp\w*|namd[23]?|vasp(?:_\w+)?|pw\.x|cp\.x|cp2k\.\w+|pmemd(?:\.\w+)*|sander(?:\.\w+)*|orca|g09|g16|nwchem|"
    r"wrf\.exe|siesta|abinit|dftb\+|cpmd\.x|cpmd|openmx|gpumd|hoomd|desmond|charmm)\Z"
)
# Tools that come with widely used codes, but only prepare input, or run for a few seconds after the code.
_TOOLS = """
blockMesh snappyHexMesh surfaceFeatureExtract surfaceFeatures decomposePar reconstructPar reconstructParMesh setFields
topoSet checkMesh renumberMesh mapFields foamToVTK foamCleanTutorials patchSummary potentialFoam redistributePar
extrudeMesh createPatch real.exe ungrib.exe metgrid.exe geogrid.exe link_grib.csh real ungrib metgrid geogrid
xgenerate_databases xmeshfem2D xmeshfem3D xdecompose_mesh xcombine_vol_data makeneutral packmol tleap antechamber
psfgen pdb2gmx editconf setup.py tensorboard
pip pip2 pip3 bowtie2-build hisat2-build collectl BuildDatabase bismark_genome_preparation makeblastdb tabix
gmx_index vdb-validate vdb-config nrnivmodl makelocalrc grompp grompp_d grompp_mpi
genbox trjconv g_energy 3dcopy
"""
_PERFORMS = re.compile(
    r"(?:all_?reduce|all_?gather|reduce_scatter|alltoall|sendrecv|broadcast)_perf(?:_mpi)?\Z"
)  # NCCL's tests
_LOOKS = "collect_env deviceQuery deviceQueryDrv bandwidthTest sys-info.sh sysinfo.sh ds_report rocminfo clinfo"
_LOOKING = frozenset(_LOOKS.split())
# Compilers' scripts that are meant to be sourced, and commands that write lists of hosts.
_SETS_UP = re.compile(
    r"(?:ifort|icc|ifc|compiler|psxe|mkl|mpi|tbb|ipp|daal|advixe-|amplxe-|set)vars\.c?sh\Z|"
    r"(?:host|machine|node)(?:file|list)\w*\Z"
)
# Commands that fetch or inspect sequencing reads for other programs.
_OF_READS = frozenset({"prefetch", "fastq-dump", "fasterq-dump", "parallel-fastq-dump", "fastqc", "multiqc"})
_INSTALLERS = re.compile(r"(?:Miniconda|Miniforge|Mambaforge|Anaconda|Micromamba)[\w.-]*\.sh\Z")
# A program inspects the machine if its name has a word from each of these two sets: `show_gpus.py`, `check_env.sh`.
_OF_MACHINE = frozenset({"gpu", "gpus", "cuda", "cudnn", "nccl", "system", "env", "environment"})
_ASKS = frozenset({"check", "list", "info", "available", "verify", "show"})
_GROMACS = """
grompp pdb2gmx editconf solvate genion make_ndx trjconv energy genrestr insert-molecules check eneconv trjcat dump
rms gyrate genconf tune_pme report-methods convert-tpr
"""
_OF_GROMACS = frozenset(_GROMACS.split())
TOOLS = frozenset(_TOOLS.split())
# Subcommands that only prepare data for other subcommands of the same tool.
_VERBS = "index faidx dict convert pull download login CreateSequenceDictionary IndexFeatureFile"
_PREPARING_VERBS = frozenset(_VERBS.split())
_ANY_PREPARING = frozenset({"genomeGenerate", "grompp"})
# Toolkits for sequencing reads and variants, and their subcommands that convert data for another program.
_TOOLKITS = frozenset({"bcftools", "samtools", "picard", "picard.jar", "gatk", "bedtools"})
_PASSING_VERBS = frozenset({"view", "query", "sort", "getfasta", "SortVcf", "SortSam"})
_FIRST_ARGUMENTS = 4  # maximum number of first arguments of a command that are searched for _ANY_PREPARING
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SKIPPED = frozenset({"run", "do", "step", "my", "script", "a", "job", "sub"})
_PREPARING = """
setup install installation download downloads downloader preprocess preprocessing preprocessed preproc initialize
initialise prejob postjob cleanup hostfile nodelist nodefile check verify fetch configure compile mkdir activate rename
backup notify kill monitor pre prep prepare allclean reset split
"""
_PREPARING_FIRST = """
init link get clean copy delete drop remove stagein stageout stage build start stop load archive log watch unpack untar
bcast broadcast git checkout sanitize upload sync compress set mount cp mv scp rsync transfer
"""
_PREPARING_LAST = """
init clean build env environment module modules deps requirements log info sysinfo header preamble prep hosts stagein
stageout load unload nodes vars mps
"""
_ANYWHERE = frozenset(_PREPARING.split())
_FIRST = frozenset(_PREPARING_FIRST.split())
_LAST = frozenset(_PREPARING_LAST.split())
_PERHAPS_WORDS = """
post report merge combine concat collect gather viz draw make generate gen create extract eval evaluate evaluation
test tests testcase testcases pytest ctest augment augmentation validate score print show tokenize export predict infer
inference index stat stats hello bandwidth data dataset datasets scatter average compare diff parse count filter write
update assign
"""
_MAIN = frozenset({"main", "train", "training", "simulate", "simulation", "simulations", "solve", "solver"})
_PERHAPS = frozenset(_PERHAPS_WORDS.split())
_PERHAPS_BEGINNINGS = ("plot", "postproc", "analys", "analyz", "summar", "visuali", "convert")
_ENDING = re.compile(r"\.(?:py|sh|bash|R|r|jl|pl|m|exe|x|out|ipynb|nf|smk|bin|csh|slurm|rb|jar|ex|mpi|ksh|zsh|tcsh)\Z")
_WORKFLOWS = (".nf", ".cwl", ".smk", ".wdl", "nakefile")  # always the job's work, whatever the name suggests
_FORMATS = "csv|pkl|json|hdf5|h5|npy|npz|txt|bam|sam|fasta|fastq|vcf|mat|nc|tiff?|png|jpg|dicom|nii|parquet|gtf|gff|bed"
_CONVERTS = re.compile(rf"(?:^|[_-])(?:{_FORMATS})_?(?:to|2)_?(?:{_FORMATS})(?=[_-]|$)")
_STAGE = re.compile(r"stage[_-]?[0-9]")
SOURCED = re.compile(
    r"(?:add|build|checkout|clean|clone|copy|create|download|fetch|get|install|launch|make|perform|pop|post|push|"
    r"save|start|stop|update|write)_\w+\Z"
)
"""Pattern of command names that, without a path or arguments, are probably functions from a sourced file."""
# Pattern of the names of tools with which sites and users set up a job. The names have no path and no suffix.
SITE_TOOL = re.compile(
    r"(?:\w|(?:de)?activate|(?:de)?spacktivate|workon|setpkgs|vpkg_\w+|jutil|uenv|pyenv|rbenv|nvm|soft|use|reuse|"
    r"getconf|setfacl|tput|stty|"
    r"set(?:cuda|gcc|mpi|python|java|intel|cmake)\w*|unlog|"
    r"logger|mail|mailx|sendmail|usage|die|abort|error|fail|info|warn|warning|debug|main|nodeset|testreport|newgrp|"
    r"ssh-agent|ssh-add|klist|kinit|krenew|aklog|umount|mount|fusermount|sysctl|lsmod|locale|lockfile|dos2unix|"
    r"(?:load|set|setup|init|determine|enable|disable|print|log|check|config|export|module|mod|env|say|msg|print)[_-]\w+|"
    r"[\w-]*(?:quota|job-?stats|jobinfo|job-info|resources|-start|-stop|_version)|"
    r"\w+_(?:env|environment|modules?|log|lmod|usage|help|message|status))\Z",
    re.IGNORECASE,
)


def side(path: str, arguments: Sequence[str]) -> Side:
    """Return a command's distance from the job's work."""
    name = basename(path)
    verb = arguments[0] if arguments else ""
    if name in _LOOKING or name.endswith(".collect_env"):
        return Side.LOOKS
    if _PERFORMS.match(name) or name in _OF_READS:
        return Side.PERHAPS
    if name in TOOLS or _INSTALLERS.match(name) or _SETS_UP.match(name):
        return Side.PREPARES
    if name.startswith(("gmx", "g_")) and verb in _OF_GROMACS:
        return Side.PREPARES
    if name in _TOOLKITS and verb in _PASSING_VERBS:
        return Side.PERHAPS
    if _CODE.match(name) or (name.startswith("gmx") and verb == "mdrun"):
        return Side.CODE
    if verb in ("install", "uninstall") and "." not in name:
        return Side.INSTALLS
    if verb in _PREPARING_VERBS or not _ANY_PREPARING.isdisjoint(arguments[:_FIRST_ARGUMENTS]):
        return Side.PREPARES
    return Side.WORK if name.endswith(_WORKFLOWS) else _side_of_name(name)


def _side_of_name(name: str) -> Side:
    stem = _STAGE.sub("", _ENDING.sub("", name)).replace("pre_train", "pretrain").replace("pre-train", "pretrain")
    words = _words(stem)
    if not _OF_MACHINE.isdisjoint(words) and not _ASKS.isdisjoint(words):
        return Side.LOOKS
    last = words if "." not in stem else _words(stem.rpartition(".")[2])  # the last part of a dotted name
    first = next((word for word in last if word not in _SKIPPED), "")
    if first in _FIRST or not _LAST.isdisjoint(last[-1:]) or not _ANYWHERE.isdisjoint(words):
        return Side.PREPARES
    is_perhaps = not _PERHAPS.isdisjoint(words) or any(word.startswith(_PERHAPS_BEGINNINGS) for word in words)
    if is_perhaps or stem.endswith("convert") or _CONVERTS.search(stem):
        return Side.PERHAPS
    return Side.WORK if _MAIN.isdisjoint(words) else Side.MAIN


def _words(stem: str) -> list[str]:
    """Return the words of a name in lower case, such as run, model and v for `3-runModel_v2`."""
    return [word.lower() for word in _WORDS.findall(stem)]
