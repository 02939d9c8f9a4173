# SPDX-License-Identifier: Apache-2.0
"""Test the component lustre with a fake `lfs`: a trial has the requested striping, or fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from reprise.tuner.components.application import Workload
from tests.unit.component_values import component, run_locally, shipped

LFS = """\
#!/bin/sh
# setstripe -c COUNT -S BYTES DIRECTORY; getstripe -d -c|-S DIRECTORY
eval "directory=\\${$#}"
case "$1 $3" in
setstripe*) echo "$3 $5" > "$directory/.striping" ;;
"getstripe -c") cut -d" " -f1 "$directory/.striping" ;;
"getstripe -S") cut -d" " -f2 "$directory/.striping" ;;
esac
"""
DEAF = LFS.replace('echo "$3 $5"', 'echo "1 1048576"')
SCRIPT = "#!/bin/bash\n#SBATCH --ntasks=1\ncat {target}/.striping\n"


@pytest.mark.parametrize(("lfs", "status", "said"), [(LFS, 0, "-1 4194304\n"), (DEAF, 1, "")])
def test_a_trial_has_the_requested_striping_or_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lfs: str, status: int, said: str
) -> None:
    target = tmp_path / "lustre"
    target.mkdir()
    program = tmp_path / "bin/lfs"
    program.parent.mkdir()
    program.write_text(lfs)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    workload = Workload("/a/run.sh", SCRIPT.format(target=target), str(tmp_path))
    made = component(shipped("lustre"), {"target": str(target)}, workload)
    (problem,) = made.problems()
    result = run_locally(
        made.plan(problem.key, {**problem.default, "stripe_count": -1, "stripe_size": 4194304}), tmp_path / "trial"
    )
    assert (result.output.exit_status, result.output.stdout) == (status, said)
    complaint = f"lfs getstripe - {target} is not striped as the trial needs\n" if status else ""
    assert result.output.stderr == complaint
