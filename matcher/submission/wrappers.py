# SPDX-License-Identifier: Apache-2.0
"""Commands that run another command, such as wrappers, containers and profilers, with their options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


REPEATERS = frozenset({"parallel", "xargs"})
"""Wrappers that run a command once for each of several inputs."""
# For each wrapper, the number of its own words before the command, and its options that are followed by a value.
WRAPPERS: dict[str, tuple[int, frozenset[str]]] = {
    name: (own, _words(options))
    for name, own, options in (
        ("env", 0, "-u --unset -C --chdir -S --split-string"),
        ("exec", 0, "-a"),
        ("command", 0, ""),
        ("time", 0, "-f --format -o --output"),
        ("nohup", 0, ""),
        ("setsid", 0, ""),
        ("nice", 0, "-n --adjustment"),
        ("ionice", 0, "-c --class -n --classdata"),
        ("stdbuf", 0, "-i --input -o --output -e --error"),
        ("unbuffer", 0, ""),
        ("catchsegv", 0, ""),
        (
            "xvfb-run",
            0,
            "-n --server-num -s --server-args -f --auth-file -e --error-file -w --wait -p --xauth-protocol",
        ),
        ("timeout", 1, "-s --signal -k --kill-after"),
        ("taskset", 1, ""),
        ("chrt", 1, "-T -P -D"),
        ("flock", 1, "-w --wait --timeout -E --conflict-exit-code"),
        (
            "numactl",
            0,
            "-i --interleave -w --weighted-interleave -m --membind -N --cpunodebind -C --physcpubind -p --preferred "
            "-P --preferred-many",
        ),
        ("likwid-pin", 0, "-c -s -d"),
        ("likwid-perfctr", 0, "-c -C -g -t -o -s -M -T -H -f"),
        ("omplace", 0, "-nt -c -b -s"),
        ("tacc_affinity", 0, ""),
        ("valgrind", 0, ""),
        ("strace", 0, "-e -o -p -s -S -u -E -a -b -I -O -P -X"),
        ("ltrace", 0, "-e -o -p -s -a -A -D -F -l -n -u -x"),
        ("gdb", 0, "-ex -x -iex -ix -d -cd -command -eval-command -init-command --command --eval-command -s -c -D"),
        ("heaptrack", 0, "-o --output"),
        (
            "ncu",
            0,
            "-o --export -k --kernel-name -s --launch-skip -c --launch-count --set --section --metrics "
            "--target-processes --section-folder --section-folder-recursive --kernel-id --kernel-name-base --rule "
            "--launch-skip-before-match --nvtx-include --nvtx-exclude --replay-mode --clock-control --cache-control "
            "--page --log-file --config-file-path --sampling-interval --sampling-max-passes --devices --csv-header",
        ),
        ("compute-sanitizer", 0, "--tool --log-file --save"),
        ("cuda-memcheck", 0, "--tool --log-file"),
        ("vtune", 0, "-collect -r -result-dir -knob -data-limit"),
        ("rocprof", 0, "-i -o -d -t --timestamp --basenames"),
        ("hpcrun", 0, "-e --event -o --output -f -fp"),
        ("tau_exec", 0, "-T"),
        ("scalasca", 0, "-e -f -t"),
        ("kernprof", 0, "-o --outfile -p --prof-mod -s --setup"),
        (
            "parallel",
            0,
            "-j --jobs -P --max-procs --joblog --delay --timeout --env --memfree --load --halt -I -C -L "
            "-a --arg-file --colsep -n -N --results --retries --sshlogin -S --tmpdir --workdir --wd",
        ),
        ("xargs", 0, "-n --max-args -P --max-procs -I -L -d --delimiter -a --arg-file -s -E"),
        ("nvprof", 0, "-o --export-profile --log-file -m --metrics -e --events -f --kernels --devices -t --timeout"),
        ("remora", 0, ""),
        ("psrecord", 0, "--log --plot --interval --duration"),
        ("proxychains4", 0, "-f"),
        ("runApplication", 0, "-s -suffix"),
        ("dplace", 0, "-c -n -x -r"),
        ("pin", 0, "-t"),
        ("aps", 0, "-r"),
        ("advixe-cl", 0, "-collect -project-dir"),
        ("amplxe-cl", 0, "-collect -r -result-dir -knob"),
        ("map", 0, "-o --output -n"),
        ("ddt", 0, "-n"),
        ("perf-report", 0, "-o --output -n"),
        ("pat_run", 0, "-o"),
        ("erun", 0, ""),
        ("dumb-init", 0, ""),
        ("tini", 0, ""),
        ("sudo", 0, "-u -g"),
        ("shifter", 0, "-i --image -V --volume -m --module -w --workdir -e --env --env-file"),
        ("ch-run", 1, "-b --bind -c --cd -g --gid -u --uid --feature"),
    )
}


@dataclass(frozen=True)
class Runner:
    """Command-line syntax of a command with verbs that run another command, such as `apptainer exec IMAGE COMMAND`.

    `verbs` are the verbs that run another command, with the number of words before that command. `images` are verbs
    after which the image counts as the program if no command follows. `options` are the options that are followed by a
    value. If `has_image` is True, an image precedes the command after a verb that has no words of its own. The verbs in
    `interactive` wait for input or for other commands, except `shell` with a script. `detached` are options with which
    a container waits for other commands.
    """

    verbs: Mapping[str, int]
    images: frozenset[str]
    options: frozenset[str]
    has_image: bool = False
    interactive: frozenset[str] = frozenset()
    detached: frozenset[str] = frozenset()


_APPTAINER = Runner(
    {"exec": 1, "run": 0},
    frozenset(),
    _words(
        """
--add-caps --app --apply-cgroups --bind --blkio-weight --blkio-weight-device --config --cpu-shares --cpus --cpuset-cpus
--cpuset-mems --cwd --dns --drop-caps --env --env-file --fusemount --home --hostname --memory --memory-reservation
--memory-swap --mount --netns-path --network --network-args --no-mount --overlay --pem-path --pids-limit --pwd --scratch
--security --shell --workdir --authfile --cdi-dirs --device --dmtcp-launch --dmtcp-restart --docker-host -B -H -S -W -o
"""
    ),
    has_image=True,
    interactive=frozenset({"shell", "instance"}),
)
_DOCKER = Runner(
    {"exec": 1, "run": 1},
    frozenset({"run"}),
    _words(
        """
-a --add-host --annotation --attach --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile -c --cpu-shares --cpus
--cpuset-cpus --cpuset-mems --device --dns --entrypoint -e --env --env-file --gpus --group-add -h --hostname --ip --ipc
-l --label --link --log-driver --log-opt -m --memory --memory-swap --mount --name --net --network --pid --pids-limit
--platform -p --publish --pull --restart --runtime --security-opt --shm-size --stop-signal --stop-timeout --sysctl
--tmpfs --ulimit -u --user --userns --uts -v --volume --volumes-from -w --workdir
"""
    ),
    detached=frozenset({"-d", "--detach", "-dit", "-itd", "-td", "-dt", "-id", "-di"}),
)
_CONDA = Runner({"run": 0}, frozenset(), frozenset({"-n", "--name", "-p", "--prefix", "--cwd"}))
_PLAIN_RUN = Runner({"run": 0}, frozenset(), frozenset({"-p", "--python", "--with", "-e", "--environment"}))
RUNNERS = {
    **dict.fromkeys(("apptainer", "singularity"), _APPTAINER),
    **dict.fromkeys(("docker", "nvidia-docker", "podman", "podman-hpc", "nerdctl", "udocker"), _DOCKER),
    "enroot": Runner(
        {"start": 1, "exec": 1},
        frozenset({"start"}),
        frozenset({"-c", "--conf", "-e", "--env", "-m", "--mount", "--rc"}),
    ),
    "sarus": Runner(
        {"run": 1}, frozenset({"run"}), frozenset({"-w", "--workdir", "--mount", "-e", "--env", "--device"})
    ),
    **dict.fromkeys(("conda", "mamba", "micromamba"), _CONDA),
    **dict.fromkeys(("poetry", "uv", "pipenv", "pixi"), _PLAIN_RUN),
    "perf": Runner(
        {"stat": 0, "record": 0, "trace": 0},
        frozenset(),
        _words("-e --event -o --output -r --repeat -F --freq -c --count -C --cpu -I -x -m --call-graph -D -p -t"),
    ),
    "nsys": Runner(
        {"profile": 0, "launch": 0},
        frozenset(),
        _words(
            """
-o --output -t --trace -s --sample -c --capture-range -d --duration -y --delay -w -f -b -e -x -n --backtrace
--capture-range-end --cpuctxsw --cuda-memory-usage --cudabacktrace --env-var --export --force-overwrite
--gpu-metrics-device --gpu-metrics-devices --kill --mpi-impl --nvtx-capture --python-backtrace --python-sampling
--pytorch --run-as --sampling-period --session-new --show-output --stats --stop-on-exit --trace-fork-before-exec --wait
"""
        ),
    ),
    "coverage": Runner(
        {"run": 0}, frozenset(), frozenset({"--source", "--rcfile", "--include", "--omit", "--data-file"})
    ),
}
