# SPDX-License-Identifier: Apache-2.0
"""A site after a month of operation: users' jobs, a finished campaign, a quarantined record, and a pool of forwarders.

The pictures in the docs show this site. Names, programs and run times are invented. The campaign, the decisions about
jobs and the matcher are real.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from reprise.database import Database
from reprise.database.entities import Decision, Measurement, Outcome, RecordStatus
from reprise.matcher.benefit import record_benefit
from reprise.matcher.benefit.harm_test import SLOWER
from reprise.matcher.decision.configured import knowledge_of, model_of, policy_of
from reprise.matcher.decision.decide import Knowledge, Question, decide
from reprise.matcher.errors import MatcherError
from reprise.matcher.forwarding.map_directory import MapDirectory
from reprise.matcher.submission import Submission, parse
from reprise.matcher.wire.client import PING, ask
from tests.places import ROOT
from tests.unit.forked import Forked
from tests.unit.matcher_daemon import RULES, record
from tests.waiting import wait_for
from tests.web.pool_history import POOL, add_history
from tests.web.site import DAY, WebSite

CLUSTER = "fjord"
HELD_OUT = 4  # jobs per block of a record; one job of each block is held out
JOBS = 640
SCRIPT = """\
#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --partition=standard
#SBATCH --account={account}
#SBATCH --nodes={nodes}
#SBATCH --ntasks-per-node={tasks}
#SBATCH --time=04:00:00
module purge
module load gcc/12.2 openmpi/4.1.4 {modules}
srun {program} {options}
"""
COMPONENT = """\
name: sro
version: "1"
description: Zone size, threshold and prefetched size of the Small Read Optimizer
kind: application
parameters:
  SRO_CLUSTER_THRESHOLD: {default: 2, values: [2, 22, 42, 62]}
  SRO_DSC_BINSIZE: {default: 1048576, min: 262144, max: 1048576, step: 262144}
  SRO_PREFETCH_SIZE: {default: 20971520, min: 1048576, max: 20971520, step: 2, step_type: multiplicative}
objective:
  pattern: '^walltime ([0-9.]+) s$'
"""
# Replaces srun: prints a run time that depends on the settings, with a few percent of noise.
SRUN = """\
#!/bin/sh
echo . >> "{log}"
awk -v seed="$(wc -l < "{log}")" -v zone="${{SRO_DSC_BINSIZE:-1048576}}" -v size="${{SRO_PREFETCH_SIZE:-20971520}}" \\
  -v from="${{SRO_CLUSTER_THRESHOLD:-2}}" 'BEGIN {{
  srand(seed * 7919); for (i = 0; i < 12; i++) noise += rand() / 12 - 1 / 24
  near = exp(-(log(size / 4194304) / 1.1) ^ 2) * exp(-(log(zone / 524288) / 0.8) ^ 2) * exp(-((from - 22) / 60) ^ 2)
  printf "walltime %.2f s\\n", 412 * (1 - 0.29 * near) * (1 + 0.08 * noise)
}}'
"""


@dataclass(frozen=True)
class Application:
    """An application that a user runs repeatedly.

    `share` is the application's share of all jobs. `seconds` is the run time of a job on the first number of nodes in
    `nodes`. `gain` is the gain in production of the application's tuned settings; None if it was never tuned.
    """

    user: str
    account: str
    name: str
    program: str
    options: str
    modules: str
    nodes: tuple[int, ...]
    seconds: float
    share: float
    gain: float | None = None
    tasks: int = 32

    def script(self, rng: random.Random | None = None) -> str:
        """Return a job script: a random variant if `rng` is given, otherwise the script that was tuned."""
        return SCRIPT.format(
            name=self.name if rng is None else f"{self.name}-{rng.choice('abcd')}",
            account=self.account,
            nodes=self.nodes[0] if rng is None else rng.choice(self.nodes),
            tasks=self.tasks,
            modules=self.modules,
            program=f"/home/{self.user}/{self.program}",
            options=self.options.format(5000 if rng is None else rng.choice((2500, 5000, 7500))),
        )


LENA = Application(
    "lena", "fluids", "cavity", "nek/bin/nek5000", "--case cavity --re {} --order 9", "hdf5/1.14.0", (4, 4, 4, 8),
    1540.0, 0.30, 0.27,
)  # fmt: skip
MAREK = Application(
    "marek", "biochem", "md-prod", "gromacs/bin/gmx_mpi", "mdrun -s topol.tpr -nsteps {}000", "fftw/3.3.10", (2,),
    2310.0, 0.22, 0.14, tasks=64,
)  # fmt: skip
PRIYA = Application(
    "priya", "climate", "wrf-12h", "wrf/main/wrf.exe", "--hours 12 --domain d0{}", "netcdf/4.9.0", (16,),
    3480.0, 0.16, 0.19,
)  # fmt: skip
TOMAS = Application(
    "tomas", "lattice", "hmc", "chroma/bin/chroma", "-i hmc.xml -o out{}.xml", "qmp/2.5.4", (8,), 2720.0, 0.08, -0.09
)
YUKI = Application(
    "yuki", "materials", "scf-relax", "qe-7.2/bin/pw.x", "-npool 4 -in relax{}.in", "scalapack/2.2", (8,), 4150.0, 0.13
)
OMAR = Application(
    "omar", "engines", "nozzle", "OpenFOAM/bin/simpleFoam", "-parallel -case nozzle{}", "scotch/7.0", (4,), 2980.0, 0.11
)
APPLICATIONS = (LENA, MAREK, PRIYA, TOMAS, YUKI, OMAR)


class Showcase(WebSite):
    """The site that the pictures in the docs show; `matcher` is its daemon."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        text = self.file.read_text().replace('"test"', f'"{CLUSTER}"').replace("nodes = 8", "nodes = 128")
        self.file.write_text(text.replace("holdout = 0.5", f"holdout = {1 / HELD_OUT}"))
        (directory / "components/sleep.yaml").unlink()
        (directory / "components/sro.yaml").write_text(COMPONENT)
        with self.file.open("a") as file:
            file.write(f'[forwarding]\nforwarders = {json.dumps(POOL)}\nmaps = "{directory}/maps"\n')
        self.matcher: Forked | None = None
        self.maps = MapDirectory(directory / "maps")
        self.record_of: dict[str, int] = {}
        self.places: Counter[int] = Counter()
        self.now -= 600

    # -- tuning

    def tune(self) -> None:
        """Tune lena's application in a campaign, and add older records for the other applications."""
        home = self.directory / "home/lena/cavity"
        home.mkdir(parents=True)
        (home / "cavity.sh").write_text(LENA.script())
        commands = self.directory / "commands"
        commands.mkdir()
        for name, text in (("srun", SRUN.format(log=self.directory / "runs")), ("module", "#!/bin/sh\n")):
            (commands / name).write_text(text)
            (commands / name).chmod(0o755)
        definition = {
            "name": "cavity on 4 nodes",
            "component": "sro",
            "application": {"script": str(home / "cavity.sh"), "user": "lena"},
            "search": {"method": "gp-ei", "budget": 26, "seed": 3},
            "noise": {"policy": "none"},
            "repetitions": {"default_runs": 4, "final_pairs": 6},
            "executor": {"kind": "local"},
        }
        path = self.directory / "campaign.yaml"
        path.write_text(yaml.safe_dump(definition))
        done = self.reprise("tune", "run", "--yes", "--json", str(path), PATH=f"{commands}:{os.environ['PATH']}")
        assert done.returncode == 0, done.stderr
        self._as_on_the_cluster(begun_at=self.now - 33 * DAY)
        with Database.open(self.config.database.path) as database:
            self.record_of["lena"] = 1
            for one, made, given in (
                (MAREK, 41, {"component": "openmpi-collectives", "environment": RULES}),
                (
                    PRIYA,
                    37,
                    {"component": "romio", "environment": {"ROMIO_HINTS": "/var/lib/reprise/artifacts/5d/hints"}},
                ),
                (TOMAS, 35, {"component": "openmpi-collectives", "environment": RULES}),
            ):
                self.record_of[one.user] = database.add_record(self._record(one, self.now - made * DAY, **given))

    def _as_on_the_cluster(self, begun_at: float) -> None:
        """Change the campaign as if it had run on a cluster: printed run times, four nodes, and home directories."""
        with Database.open(self.config.database.path) as database, database._write() as connection:
            connection.execute(
                "UPDATE campaign SET spec = replace(spec, ?, ''), created_at = ?", (str(self.directory), begun_at)
            )
            connection.execute(
                "UPDATE trial SET nodes = 4, elapsed_s = value + 9, started_at = ? + 430 * number, "
                "ended_at = ? + 430 * number + value + 9",
                (begun_at, begun_at),
            )
            connection.execute(
                "UPDATE record SET created_at = ?, metadata = replace(metadata, ?, '')",
                (begun_at + 5 * 3600, str(self.directory)),
            )

    def _record(self, one: Application, made_at: float, **given: Any) -> Any:
        gain = abs(one.gain or 0.0)
        tuned = (1 - gain) * one.seconds
        metadata = parse(self._submission(one, one.script()), user=one.user, submit_time=made_at)
        return record(
            metadata=metadata.to_json(),
            context={"cluster": CLUSTER, "nodes": one.nodes[0], "tasks_per_node": one.tasks, "openmpi": ["4.1.4"]},
            created_at=made_at,
            default=Measurement(one.seconds, 0.99 * one.seconds, 1.01 * one.seconds, 6),
            tuned=Measurement(tuned, 0.99 * tuned, 1.01 * tuned, 6),
            gain=gain,
            gain_low=gain - 0.02,
            gain_high=gain + 0.02,
            **given,
        )

    # -- decisions

    def run_jobs(self, seed: int = 11) -> None:
        """Add a month of jobs, fewer on weekends and at night.

        Tomas's record slows his jobs and is therefore quarantined.
        """
        rng = random.Random(seed)  # noqa: S311 (jobs)
        moments = sorted(self._moment(rng) for _ in range(JOBS))
        harmed_until = self.now - 12 * DAY
        with Database.open(self.config.database.path) as database:
            known = knowledge_of(database.record_texts(), model_of(self.config), self.config)
            set_aside = False
            for number, at in enumerate(moments):
                if at >= harmed_until and not set_aside:
                    self._set_aside(database, at)
                    known = knowledge_of(database.record_texts(), model_of(self.config), self.config)
                    set_aside = True
                (one,) = rng.choices(APPLICATIONS, [each.share for each in APPLICATIONS])
                self._job(database, known, one, 48_211 + 3 * number, at, rng)

    def _moment(self, rng: random.Random) -> float:
        while True:
            at = self.now - 29.5 * DAY * rng.random()
            day, hour = int(at // DAY + 4) % 7, at % DAY / 3600  # 0 is Sunday, because 1970-01-01 was a Thursday
            if rng.random() < (0.35 if day in (0, 6) else 1.0) * (1.0 if 7 < hour < 19 else 0.4):
                return at

    def _job(
        self, database: Database, known: Knowledge, one: Application, job_id: int, at: float, rng: random.Random
    ) -> None:
        uid = 5001 + APPLICATIONS.index(one)
        question = Question(self._submission(one, one.script(rng)), one.user, uid, "submit", "on", at)
        made = decide(question, known, policy_of(self.config), f"{int(at * 1000):x}-{rng.getrandbits(32):08x}")
        made = replace(self._placed(made), job_id=job_id, elapsed_ms=rng.uniform(0.8, 2.4))
        database.add_decision(made)
        given = made.verdict == "apply"
        nodes = int(made.metadata["nodes"])
        took = one.seconds * (nodes / one.nodes[0]) ** -0.8 * rng.gauss(1.0, 0.04) * (1 - (one.gain or 0.0) * given)
        waited = rng.expovariate(1 / 900)
        if at + waited > self.now:
            return
        began = Outcome(CLUSTER, job_id, None, uid, made.verdict, at + waited, made.id, len(made.injected) * given)
        if at + waited + took > self.now:
            database.report_start(began)
            return
        failed = 256 if rng.random() < 0.015 else 0
        ended = replace(began, ended_at=at + waited + took, elapsed_s=took, exit_status=failed, confirmed=True)
        database.report_end(replace(ended, present=began.applied or None))

    def _placed(self, made: Decision) -> Decision:
        """Return the decision with its job's place in a block.

        One job of each block is held out, at a different place in each block.
        """
        if made.verdict != "apply" or made.record_id is None:
            return made
        place = self.places[made.record_id]
        self.places[made.record_id] += 1
        held_out = place % HELD_OUT == place // HELD_OUT % HELD_OUT
        block = f"{made.record_id}-{place // HELD_OUT}"
        return replace(
            made,
            verdict="holdout" if held_out else "apply",
            block=block,
            block_size=HELD_OUT,
            compared_id=made.record_id,
            held_out=held_out,
        )

    def _set_aside(self, database: Database, at: float) -> None:
        number = self.record_of["tomas"]
        why = record_benefit.told(SLOWER, database.compared(number, since=0.0))
        database.set_record_status(number, RecordStatus.QUARANTINED, at=at, reason=why)

    @staticmethod
    def _submission(one: Application, script: str) -> Submission:
        return Submission.for_script(
            f"/home/{one.user}/{one.name}/{one.name}.sh", script, cwd=f"/home/{one.user}/{one.name}"
        )

    def job_to_show(self) -> str:
        """Return the id of lena's newest decision that applied settings to a job which ended without error."""
        with Database.open(self.config.database.path, read_only=True) as database:
            rows = database._read(
                "SELECT d.id FROM decision AS d JOIN outcome AS o ON o.decision_id = d.id WHERE d.verdict = 'apply' "
                "AND d.user = 'lena' AND o.exit_status = 0 ORDER BY d.at DESC LIMIT 1"
            )
        return str(rows[0]["id"])

    # -- the forwarders

    def forward(self) -> None:
        """Add a day of the pool's history, and hold the directory of the maps as an arbiter does."""
        with Database.open(self.config.database.path) as database:
            add_history(database, CLUSTER, self.now)
        self.maps.hold()

    # -- the matcher

    def start_matcher(self) -> None:
        with (self.directory / "matcher.log").open("ab") as log:
            words = ["--config", str(self.file), "serve"]
            self.matcher = Forked(words, {**os.environ, "PYTHONPATH": str(ROOT)}, ROOT, log.fileno())

        def answers() -> bool:
            assert self.matcher and self.matcher.poll() is None, (self.directory / "matcher.log").read_text()
            try:
                return bool(ask(self.config.matcher.socket, PING)["kind"] == "ok")
            except MatcherError:
                return False

        wait_for("the matcher", answers)

    def stop_matcher(self) -> None:
        if self.matcher:
            self.matcher.terminate()
            self.matcher.wait()
            self.matcher = None
