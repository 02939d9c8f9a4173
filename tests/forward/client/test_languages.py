# SPDX-License-Identifier: Apache-2.0
"""Test MPI-IO, of both implementations in Open MPI, and Fortran with the library and a forwarder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.forward.client.conftest import HERE, Site
from tests.forward.client.diod import Diod

pytestmark = pytest.mark.slow

FORTRAN = """
program words
  integer(8) :: many(40000), i, n
  open(10, file='files/fortran', access='stream', form='unformatted', status='replace')
  do n = 1, 20
    many = [(i * n, i = 1, 40000)]
    write(10) many
  end do
  close(10)
  open(10, file='files/fortran', access='direct', form='unformatted', recl=320000, status='old')
  do n = 20, 1, -1
    read(10, rec=n) many
    if (any(many /= [(i * n, i = 1, 40000)])) error stop 'wrong words'
  end do
  close(10)
  open(10, file='files/records', form='unformatted', status='replace')
  write(10) many
  rewind(10)
  many = 0
  read(10) many
  if (any(many /= [(i, i = 1, 40000)])) error stop 'wrong record'
  print *, 'done'
end program
"""


@pytest.mark.parametrize("way", ["ompio", "romio321"])
def test_ranks_share_a_file(site: Site, diod: Diod, way: str) -> None:
    if not shutil.which("mpicc"):
        pytest.skip("mpicc is not installed")
    program = site.directory / "shared"
    subprocess.run(["mpicc", "-O1", str(HERE / "shared.c"), "-o", str(program)], check=True)
    words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", "--mca", "io", way]
    settings = {
        "OMPI_MCA_btl": "self,vader",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "HOME": "/tmp",
    }
    names = [word for name in site.environment() if name.startswith(("REPRISE", "LD_")) for word in ("-x", name)]
    ran = site.run(*words, *names, program, site.files / "shared", env=settings)
    assert (ran.stdout, ran.status) == ("done\n", 0), ran.stderr
    assert ran.total("write_bytes") >= 6 << 20 and ran.total("read_bytes") >= 3 << 20
    assert ran.total("redone_bytes") == ran.total("failures") == ran.total("other_files") == 0
    content = (site.files / "shared").read_bytes()
    stripes = [content[at : at + 32768] for at in range(0, len(content), 32768)]
    assert len(content) == 3 << 20 and {stripe[3] for stripe in stripes[1::3]} == {1}, "the last round is strided"


def test_a_fortran_program_reads_what_it_wrote(site: Site, diod: Diod) -> None:
    if not shutil.which("gfortran"):
        pytest.skip("gfortran is not installed")
    source = Path(site.directory / "words.f90")
    source.write_text(FORTRAN)
    program = site.directory / "words"
    subprocess.run(["gfortran", str(source), "-o", str(program)], check=True)
    ran = site.run(program)
    assert (ran.stdout.split(), ran.status) == (["done"], 0), ran.stderr
    assert ran.total("write_bytes") > 6_000_000 and ran.total("read_bytes") > 6_000_000
