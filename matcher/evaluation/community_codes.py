# SPDX-License-Identifier: Apache-2.0
"""Codes that are installed at many sites, and patterns of the commands that start these codes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from posixpath import basename

_CODES = {
    "gromacs": r"gmx\w*|mdrun\w*",
    "vasp": r"vasp(?:_\w+|\.\w+|[0-9.]+)?",
    "lammps": r"lmp(?:_\w+)?|lammps",
    "namd": r"namd[23]\w*",
    "quantum-espresso": r"(?:pw|ph|cp|pp|neb|dos|bands|projwfc|epw|q2r|matdyn|turbo_\w+|dynmat)\.x",
    "cp2k": r"cp2k\.\w+",
    "amber": r"pmemd\S*|sander(?:\.\w+)?",
    "gaussian": r"g(?:03|09|16)",
    "orca": r"orca",
    "siesta": r"siesta",
    "abinit": r"abinit",
    "nwchem": r"nwchem",
    "castep": r"castep(?:\.\w+)?",
    "fhi-aims": r"aims\.\S+",
    "dftb+": r"dftb\+",
    "wien2k": r"run(?:sp)?_lapw",
    "openmolcas": r"pymolcas|molcas",
    "molpro": r"molpro",
    "turbomole": r"ridft|dscf|jobex",
    "qchem": r"qchem",
    "crystal": r"runcry\w*",
    "openfoam": r"(?:simple|pimple|piso|ico|inter|rhoPimple|buoyant\w*|potential|snappyHexMesh|blockMesh)(?:Foam)?",
    "ansys-fluent": r"fluent",
    "abaqus": r"abaqus",
    "comsol": r"comsol",
    "star-ccm": r"starccm\+",
    "wrf": r"wrf\.exe|real\.exe|geogrid\.exe|metgrid\.exe",
    "bwa": r"bwa(?:-mem2)?",
    "bowtie": r"bowtie2?(?:-build)?",
    "samtools": r"samtools|bcftools",
    "star": r"STAR",
    "hisat": r"hisat2(?:-build)?",
    "salmon": r"salmon",
    "kallisto": r"kallisto",
    "gatk": r"gatk",
    "picard": r"picard",
    "fastqc": r"fastqc|multiqc",
    "trimming": r"trimmomatic|trim_galore|cutadapt|fastp",
    "blast": r"(?:blast[npx]|tblast[nx]|makeblastdb)",
    "diamond": r"diamond",
    "cellranger": r"cellranger\S*",
    "kraken": r"kraken2(?:-build)?",
    "spades": r"spades\.py|metaspades\.py",
    "iqtree": r"iqtree2?",
    "raxml": r"raxml\S*",
    "beast": r"beast2?",
    "mrbayes": r"mb",
    "plink": r"plink[12]?",
    "alphafold": r"run_alphafold\S*",
    "freesurfer": r"recon-all",
    "fmriprep": r"fmriprep\S*",
    "hpl": r"xhpl",
    "ior": r"ior|mdtest",
    "osu": r"osu_\w+",
    "vllm": r"vllm",
}
_NAMES = tuple(_CODES)
_ANY = re.compile("|".join(f"(?P<c{number}>{pattern})" for number, pattern in enumerate(_CODES.values())))


def codes_in(words: Iterable[str]) -> frozenset[str]:
    """Return the names of the codes that are started by any of these words, each a command's name or its path."""
    return frozenset(code for word in words if (code := _code(word)))


@lru_cache(maxsize=65_536)
def _code(word: str) -> str:
    found = _ANY.fullmatch(basename(word))
    return _NAMES[int((found.lastgroup or "c0")[1:])] if found else ""
