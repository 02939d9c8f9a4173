# SPDX-License-Identifier: Apache-2.0
"""Test `reprise tune record`, which records an application, and `reprise tune replay`, which writes its replay."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reprise.cli import main
from reprise.tuner.proxy import mix_file
from tests.unit.tuner.proxy import otf2_archives
from tests.unit.tuner.proxy.mixes import ring
from tests.unit.tuner.proxy.otf2_archives import collective
from tests.unit.tuner.proxy.traces import event, write

APPLICATION = "#!/bin/bash\n#SBATCH --nodes=3\nmodule load mpi\nmpirun -np 3 ./app\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "libexec").mkdir()
    (tmp_path / "libexec/reprise-witness.so").touch()
    (tmp_path / "reprise.toml").write_text(
        f'[database]\npath = "{tmp_path}/db"\n[tuner]\nlibexec = "{tmp_path}/libexec"\nwork = "{tmp_path}/work"\n'
    )
    (tmp_path / "app.sh").write_text(APPLICATION)
    mix_file.write(ring(100), tmp_path / "app.mix")
    return tmp_path


def command(site: Path, *words: object) -> Result:
    return CliRunner().invoke(main.reprise, ["--config", f"{site}/reprise.toml", "tune", *map(str, words)])


def test_a_replay_is_a_batch_script(site: Path) -> None:
    done = command(site, "replay", site / "app.mix", site / "app.sh", "--output", site / "replay.sh")
    assert done.exit_code == 0, done.output
    last = (site / "replay.sh").read_text().splitlines()[-1]
    assert last == f"mpirun -np 3 {site}/libexec/reprise-replay --compute full {site}/app.mix"


def test_a_share_is_written_as_a_separate_mix(site: Path) -> None:
    done = command(site, "replay", site / "app.mix", site / "app.sh", "--share", "0.1", "--compute", "none", "--json")
    told = json.loads(done.output)
    assert (told["script"], told["mix"]) == (f"{site}/app.replay.sh", f"{site}/app.replay.mix")
    assert (site / "app.sh").read_text() == APPLICATION
    assert told["share"] == pytest.approx(0.1, abs=0.01)
    assert mix_file.read(Path(told["mix"])).calls < ring(100).calls / 9
    assert shlex.split(Path(told["script"]).read_text().splitlines()[-1])[-3:] == ["--compute", "none", told["mix"]]


# A replay written to app.txt would write its mix to app.mix, which is an input here.
@pytest.mark.parametrize("output", ["app.sh", "app.mix", "app.txt"])
def test_a_replay_does_not_overwrite_its_inputs(site: Path, output: str) -> None:
    before = (site / "app.mix").read_text()
    done = command(site, "replay", site / "app.mix", site / "app.sh", "--share", "0.5", "--output", site / output)
    assert done.exit_code == 1 and "would overwrite" in str(done.exception)
    assert (site / "app.sh").read_text() == APPLICATION and (site / "app.mix").read_text() == before


@pytest.mark.slow
def test_a_run_is_recorded(site: Path) -> None:
    # traces in the format of the preloaded library `witness`, but written without MPI
    events = [event("barrier", 0), event("allreduce", 100, send_bytes=8, type_size=8)]
    made = write(site, events, events)
    script = "".join(f'cp {path} "$REPRISE_WITNESS_TRACE/"\n' for path in sorted(made.glob("*.trace")))
    (site / "app.sh").write_text(f"#!/bin/bash\n{script}")
    done = command(site, "record", site / "app.sh", "--executor", "local", "--output", site / "new.mix", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["ranks"], told["calls"]) == (2, 4)
    assert mix_file.read(site / "new.mix").calls == 4
    assert not list((site / "work").glob("*/run/traces"))


def test_a_trace_replaces_the_run(site: Path) -> None:
    calls = [collective("barrier", 0, -1, 0, 0), collective("alltoallv", 0, -1, 16, 16)]
    (site / "app.sh").write_text(f"#!/bin/bash\ntouch {site}/ran\n")
    trace = otf2_archives.write(site, calls, calls)
    done = command(site, "record", site / "app.sh", "--trace", trace, "--output", site / "new.mix", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["calls"] == 6  # 4 calls, and for each rank a final call that represents computation
    assert "calls of MPI_Alltoallv with each rank's sum only, distributed evenly: 1" in done.stderr
    assert mix_file.read(site / "new.mix").source == "otf2"
    assert not (site / "ran").exists() and not (site / "work").exists()


def test_a_trace_without_a_proxy_is_refused(site: Path) -> None:
    done = command(site, "application", site / "app.sh", "--trace", site / "app.sh", "--no-proxy")
    assert done.exit_code == 2 and "leave out --no-proxy" in done.output


@pytest.mark.slow
def test_a_run_that_fails_writes_no_mix(site: Path) -> None:
    (site / "app.sh").write_text("#!/bin/bash\nexit 3\n")
    done = command(site, "record", site / "app.sh", "--executor", "local", "--output", site / "new.mix")
    assert done.exit_code == 1
    assert "the recorded run failed" in str(done.exception)
    assert not (site / "new.mix").exists()


def test_without_the_witness_nothing_is_recorded(site: Path) -> None:
    (site / "libexec/reprise-witness.so").unlink()
    done = command(site, "record", site / "app.sh", "--executor", "local")
    assert done.exit_code == 1 and "make install-tools" in str(done.exception)


@pytest.mark.parametrize("of", ["record", "profile"])
def test_an_output_that_cannot_be_written_is_refused_before_the_run(site: Path, of: str) -> None:
    (site / "app.sh").write_text(f"#!/bin/bash\ntouch {site}/ran\n")
    for output in (site / "nowhere/new", site / "app.sh/new"):
        done = command(site, of, site / "app.sh", "--executor", "local", "--output", output)
        assert done.exit_code == 1 and f"{output}: cannot be written" in str(done.exception)
    assert not (site / "ran").exists() and not (site / "work").exists()


def test_an_application_without_a_valid_campaign_is_refused_before_it_runs(site: Path) -> None:
    done = command(site, "application", site / "app.sh", "--user", "alice", "--partition", "no such")
    assert done.exit_code == 1 and "'executor.partition': must consist of letters" in str(done.exception)
    assert not (site / "work").exists()
