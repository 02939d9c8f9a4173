# SPDX-License-Identifier: Apache-2.0
"""Test the batch script of a replay: it starts the replay exactly as the application's script starts its program."""

from __future__ import annotations

import pytest

from reprise.tuner.errors import ProxyError
from reprise.tuner.proxy.replay_script import replay_script

COMMAND = ["/opt/reprise-replay", "/home/a b/app.mix"]
SAID = "/opt/reprise-replay '/home/a b/app.mix'"

SCRIPT = """#!/bin/bash -l
#SBATCH --nodes=4 --ntasks-per-node=2
#SBATCH --time=10:00
# prepares: mpirun -np 1 ./mesh
module load openmpi
export OMP_NUM_THREADS=1
INPUT=big.in
cd /scratch/$USER
./unpack data.tar
for i in 1 2; do
  {line}
done
gzip out
"""


@pytest.mark.parametrize(
    ("line", "launch"),
    [
        ("mpirun -np 8 --map-by ppr:2:node ./app --steps 3 > out", "mpirun -np 8 --map-by ppr:2:node"),
        ("mpirun ./app", "mpirun"),
        ("mpirun --mca btl tcp,self -x A=1 app", "mpirun --mca btl tcp,self -x A=1"),
        ("srun --mpi=pmix -n 8 app", "srun --mpi=pmix -n 8"),
        ("time srun -n $SLURM_NTASKS app", "srun -n $SLURM_NTASKS"),
        ("OMP_PLACES=cores /usr/bin/mpiexec -n 8 app <$INPUT", "OMP_PLACES=cores /usr/bin/mpiexec -n 8"),
        ('mpirun \\\n    -np "$N" \\\n    app', 'mpirun -np "$N"'),
        ("srun hostname; mpirun -np 2 app", "mpirun -np 2"),
    ],
)
def test_the_launcher_and_the_environment_are_kept(line: str, launch: str) -> None:
    assert replay_script(SCRIPT.replace("{line}", line), COMMAND).splitlines() == [
        "#!/bin/bash -l",
        "#SBATCH --nodes=4 --ntasks-per-node=2",
        "#SBATCH --time=10:00",
        "module load openmpi",
        "export OMP_NUM_THREADS=1",
        "INPUT=big.in",
        f"{launch} {SAID}",
    ]


def test_a_given_launcher_overrides_the_scripts() -> None:
    assert replay_script("#!/bin/sh\nmpirun app\n", COMMAND, "srun -n 4").splitlines()[-1] == f"srun -n 4 {SAID}"


def test_a_script_without_a_launcher_is_refused() -> None:
    with pytest.raises(ProxyError, match="--launch 'mpirun -np 8'"):
        replay_script("#!/bin/bash\n./wrapper.sh app\n", COMMAND)
