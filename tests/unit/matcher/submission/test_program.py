# SPDX-License-Identifier: Apache-2.0
"""Test that the programs of scripts are found behind launchers, wrappers, interpreters and variables."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import NamedTuple

import pytest

from reprise.matcher.submission.launchers import MPI_OPTIONS
from reprise.matcher.submission.loaded_modules import Modules
from reprise.matcher.submission.program import Program, programs_of
from reprise.matcher.submission.program_arguments import read_options
from reprise.matcher.submission.script_execution import started
from reprise.matcher.submission.shell import Shell
from reprise.matcher.submission.shell_variables import Variables
from reprise.matcher.submission.work_limit import Work


class Reading(NamedTuple):
    program: Program
    modules: list[str]
    programs: list[str]


def read(text: str, *arguments: str, known: bool = True) -> Reading:
    modules = Modules()
    commands = started(text, Shell(Variables({"SLURM_SUBMIT_DIR": "/sub"})), modules, arguments if known else None)
    found = programs_of(commands, modules)
    return Reading(found.main, list(found.modules), found.names)


def launched(text: str, *arguments: str) -> tuple[str, tuple[str, ...], str]:
    program = read(text, *arguments).program
    return program.path, program.arguments, program.launcher


@pytest.mark.parametrize(
    ("line", "launcher", "tasks"),
    [
        ("srun ./x a", "srun", None),
        ("srun -n4 -N 2 --mpi=pmix -c 2 -l -u ./x a", "srun", 4),
        ("srun --ntasks 4 --export=ALL,A=1 --cpu_bind=cores ./x a", "srun", 4),
        ("mpirun -np 4 --mca pml ob1 -x VAR --hostfile h --bind-to core ./x a", "mpirun", 4),
        ("mpirun --np 4 -mca a b --map-by ppr:2:node -report-bindings ./x a", "mpirun", 4),
        ("/opt/openmpi/bin/mpirun -n 4 ./x a", "mpirun", 4),
        ("mpiexec -n 4 ./x a", "mpiexec", 4),
        ("mpiexec.hydra -ppn 2 -genv A 1 -n 4 -bind-to core ./x a", "mpiexec", 4),
        ("orterun -c 4 ./x a", "mpirun", 4),
        ("mpirun_rsh -np 4 -hostfile h MV2_DEBUG=1 A=b ./x a", "mpirun", 4),
        ("aprun -n4 -N 2 -ss ./x a", "aprun", 4),
        ("lrun -p4 -N 2 ./x a", "lrun", 4),
        ("ccc_mprun -n 4 -E '--exclusive' ./x a", "ccc_mprun", 4),
        ("charmrun +p4 ++ppn 2 ./x a", "charmrun", 4),
        ("likwid-mpirun -np 4 -pin S0:0 -mpi slurm ./x a", "likwid-mpirun", 4),
        ("prun --prtemca a b --np 4 ./x a", "mpirun", 4),
        ("mpirun -np $SLURM_NTASKS ./x a", "mpirun", None),
        ("time mpirun -np 4 ./x a", "mpirun", 4),
        ("timeout -s KILL 60 mpirun -np 4 ./x a", "mpirun", 4),
        ("exec nohup nice -n 5 mpirun -np 4 ./x a", "mpirun", 4),
        ("env -u B A=1 mpirun -np 4 ./x a", "mpirun", 4),
        ("A=1 B=2 mpirun -np 4 ./x a", "mpirun", 4),
        ("srun -n4 env A=1 numactl -m 0 --cpunodebind=1 ./x a", "srun", 4),
        ("srun -n4 taskset -c 0-3 stdbuf -oL ./x a", "srun", 4),
        ("mpirun -np 4 ./x a : -np 2 ./y b", "mpirun", 4),
        ("./x a", "", None),
        ("numactl -l ./x a", "", None),
    ],
)
def test_the_program_is_found_behind_launchers_and_wrappers(line: str, launcher: str, tasks: int | None) -> None:
    program = read(line).program
    assert (program.path, program.arguments, program.launcher, program.tasks) == ("./x", ("a",), launcher, tasks)


@pytest.mark.parametrize(
    "line",
    [
        "if mpirun ./x a; then echo ok; fi",
        "! mpirun ./x a",
        "cd dir && mpirun ./x a || exit 1",
        "(cd dir; mpirun ./x a) &",
        "{ mpirun ./x a; }",
        "while read -r line; do mpirun ./x a; done < list",
        "mpirun ./x a > out.txt 2>&1 &",
        "mpirun ./x a 2>err | tee log",
        "mpirun ./x < input a",
        "mpirun ./x a &>> log",
        "mpirun \\\n  ./x \\\n  a  # comment",
        "mpirun './x' \"a\"",
        'RUN="mpirun -np 4"; $RUN ./x a',
        "f() {\n mpirun ./x a\n}\nf",
        "function f { mpirun ./x a; }\nf",
        'f() {\n  mpirun -n 2 "$@"\n}\nf ./x a',
        'function f() { local n=$1; shift; mpirun -n $n "$@"; }; f 2 ./x a',
        'function f\n{\n  if true; then { echo; }; fi\n  mpirun "$1" $2\n}\nf ./x a b',
        'f() ( mpirun "$@" )\nf ./x a',
        'f() { mpirun "$@"; }; g() { f ./x "$1"; }; g a',
        "f() { mpirun ./no; }\nmpirun ./x a",
        "f() { mpirun ./x a; }\ntrap f EXIT",
        'f() { mpirun "$@" ; f "$@"; }; f ./x a',
        'C="mpirun ./x a"; echo $C; eval $C',
        "eval 'cd d; mpirun ./x a'",
        "eval() { mpirun ./x $1; }; eval a b",
        "eval $(prepare) ; mpirun ./x a",
        "module() { eval `modulecmd bash $*`; }; module load b; mpirun ./x a",
        'C=(mpirun -n 4\n ./x); C+=(a) # more\n"${C[@]}"',
        'A=(a); mpirun ./x "${A[@]}"',
        "mpirun -n 4 singularity exec --nv -B /a:/b --env A=1 img.sif ./x a",
        "apptainer -q exec img.sif mpirun ./x a",
        "singularity pull docker://y; srun shifter --image=y ./x a",
        "srun ch-run -b /a:/b img -- ./x a",
        "singularity run ./x a",
        "case $1 in\n a|b) echo ./y ;;\n (c) ;;\n *) mpirun ./x a;;\nesac",
        "[[ -n $A && -f ./y || $B =~ ^(./z)$ ]] || mpirun ./x a",
        "((i++)); for ((i=0; i<3; i++)); do mpirun ./x a; done",
        "cat > f <<EOF\nmpirun ./no\nEOF\nmpirun ./x a",
        "cat > f <<-'E F'\n\tmpirun ./no\n\tE F\nmpirun ./x a",
        "cat <<A <<B\nmpirun ./no\nA\nmpirun ./no\nB\nmpirun ./x a",
        "# mpirun ./no\nmpirun ./x a",
        "echo mpirun ./no; mpirun ./x a",
        "echo \"mpirun ./no\" 'mpirun ./no'; mpirun ./x a",
        "T=$(mpirun ./no); U=`mpirun ./no`; mpirun ./x a",
        "A=`echo \\`mpirun ./no\\``; mpirun ./x a",
        "list=(mpirun ./no); mpirun ./x a",
        "diff <(mpirun ./no) f; mpirun ./x a",
        "srun mkdir -p /tmp/d; srun hostname; mpirun ./x a",
        "./prepare; mpirun ./x a; mpirun ./y",
        "bash -c 'cd d; mpirun ./x a'",
        "srun -n1 hostname\r\nmpirun ./x a\r\n",
    ],
)
def test_the_program_is_found_in_all_constructs_of_the_shell(line: str) -> None:
    program = read(line).program
    assert (program.path, program.arguments) == ("./x", ("a",))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("EXE=./x\nsrun $EXE", "./x"),
        ("export EXE=./x\nsrun ${EXE}", "./x"),
        ("declare -r EXE=./x\nsrun $EXE", "./x"),
        ("D=/opt V=2\nsrun $D/app-${V}/bin/x", "/opt/app-2/bin/x"),
        ("srun ${EXE:-./x}", "./x"),
        ("EXE=./y; srun ${EXE:-./x}", "./y"),
        ("P=a; P+=b; srun ./$P", "./ab"),
        ("srun $SLURM_SUBMIT_DIR/x", "/sub/x"),
        ("srun $HOME/x", "$HOME/x"),
        ("srun ${HOME}/$V/x", "${HOME}/$V/x"),
        ("srun $(which x)", "x"),
        ("srun `which x`", "x"),
        ("$(command -v srun) $(type -p ./x)", "./x"),
        ("M=$(which srun); $M ./x", "./x"),
        ("srun $(find . -name x)", ""),
        ("D=$(dirname $0); srun $D/x", "$(dirname $0)/x"),
        ("D=$(pwd)/bin; srun $D/x", "$(pwd)/bin/x"),
        ("D=/a; unset D; srun $D/x", "$D/x"),
        ("D='$V'; V=1; srun $D", ""),
        ("srun '$EXE'", ""),
        ("A='my dir'; srun \"$A/x\"", "my dir/x"),
        ("for f in a b; do srun ./$f; done", "./a"),
        ('E=./a; if [ -n "$1" ]; then E=$1; fi; srun $E', "./a"),
        ('E=./a; if [ -n "$1" ]; then E=./b; fi; srun $E', "./b"),
        ('C="./a x"; while read l; do C="./b $l"; eval "$C"; done', "./b"),
        ("E=./a; E=$1; srun $E", ""),
        ("srun relative/x", "relative/x"),
    ],
)
def test_variables_that_the_script_sets_are_expanded_and_others_are_not(text: str, path: str) -> None:
    assert read(text).program.path == path


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("singularity run app.sif /data out", "app.sif"),
        ("singularity run app.sif participant", "app.sif"),
        ("singularity run app.sif /opt/app/bin/x --in a", "/opt/app/bin/x"),
        ("singularity run app.sif ./x.sh", "./x.sh"),
        ("singularity run app.sif gmx mdrun", "gmx"),
        ("singularity run ./sandbox gmx mdrun", "./sandbox"),
        ("singularity run -B $D:/data:ro $(image) /data out", ""),
        ("singularity run -B $D:/data:ro /data out", ""),
        ("singularity shell app.sif", ""),
        ("singularity instance start app.sif i; singularity exec instance://i ./x", "./x"),
        ("docker run -d --name c image; docker exec c ./x", "./x"),
        ("docker run --rm image", "image"),
    ],
)
def test_a_container_runs_its_command_or_else_its_image(line: str, path: str) -> None:
    assert read(line).program.path == path


def test_unquoted_variables_are_split_and_quoted_ones_are_not() -> None:
    assert launched('A="-n 1 -v"\nsrun ./x $A "$A"')[1] == ("-n", "1", "-v", "-n 1 -v")


def test_an_empty_variable_leaves_no_argument() -> None:
    assert launched('A=""\nsrun ./x $A "$A" b')[1] == ("", "b")


def test_known_arguments_of_the_script_are_expanded() -> None:
    assert launched('srun ./x $1 "$2" $#', "in.dat", "b") == ("./x", ("in.dat", "b", "2"), "srun")
    assert launched('srun ./x "$@"', "a", "b")[1] == ("a", "b")
    assert launched('P=$1; shift; srun $P "$@"', "./x", "a b")[:2] == ("./x", ("a b",))
    assert read("shift; srun ./x $1", known=False).program.arguments == ("$1",)
    assert read("srun ./x $1", known=False).program.arguments == ("$1",)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("mpirun $ARGS ./x", "./x"),
        ("mpirun $MPI_ARGS x", "x"),
        ("mpirun -np 4 `cat args` ./x", "./x"),
        ("mpirun $A python x.py", "x.py"),
        ("mpirun $A numactl -l x", "x"),
        ("mpirun $PROFILE_EXE in", ""),
        ("mpirun $EXE ./in", ""),
        ("mpirun $EXE1 $ARGS", ""),
        ("mpirun $A ./run.in", ""),
        ("mpirun $A input", ""),
        ("mpirun $ARGS", ""),
        ("mpirun $D/x ./y", "$D/x"),
        ("srun $OPTS -n 4 ./x", "./x"),
        ("numactl $NUMA_FLAGS ./x", "./x"),
        ("${MPIRUN_CMD} -np 4 ./x", "./x"),
        ("$MPIRUN_ARGS ./x", ""),
    ],
)
def test_an_unknown_variable_before_the_program_is_read_as_options_if_that_is_likelier(line: str, path: str) -> None:
    assert read(line).program.path == path


@pytest.mark.parametrize(
    ("line", "path", "arguments"),
    [
        ("srun python3 train.py --lr 1", "train.py", ("--lr", "1")),
        ("srun python3.11 -u -W ignore train.py", "train.py", ()),
        ("srun /usr/bin/python -m pkg.main -v", "pkg.main", ("-v",)),
        ("srun python -c 'import x'", "", ()),
        ("bash run_it.sh a", "run_it.sh", ("a",)),
        ("srun Rscript --vanilla fit.R a", "fit.R", ("a",)),
        ("srun java -cp lib -Xmx1g -jar app.jar a", "app.jar", ("a",)),
        ("srun julia -t 4 sim.jl", "sim.jl", ()),
        ("libtbx.python fit.py", "fit.py", ()),
        ("gpaw-python fit.py", "fit.py", ()),
        ("python3 -m ml crnn", "ml", ("crnn",)),
        ("shell_stats nextflow run main.nf", "main.nf", ()),
        ('matlab -r "setPaths; fit(1)"', "fit", ()),
        ('P="p = parcluster(); p.Jobs = 4"; matlab -r "$P; fit(1)"', "fit", ()),
        ("srun perl", "", ()),
    ],
)
def test_an_interpreter_is_not_the_program(line: str, path: str, arguments: tuple[str, ...]) -> None:
    assert launched(line)[:2] == (path, arguments)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("set -e\nmodule load a\ncd x\necho hi\nexport A=1\n./x\n./y", "./x"),
        ("mkdir d; cp a b\n./x", "./x"),
        ("srun hostname\nsleep 60", ""),
        ("sleep 60; mv a b; cp b c", ""),
        ("echo hi", ""),
        ("", ""),
        ("# only a comment", ""),
    ],
)
def test_the_first_real_command_is_the_program_if_nothing_is_launched(text: str, path: str) -> None:
    assert read(text).program.path == path


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        ("module purge\nmodule load openmpi/4.1 fftw", ["openmpi/4.1", "fftw"]),
        ("module load a && module add b; module load a", ["a", "b"]),
        ("ml a b/1", ["a", "b/1"]),
        ("ml load a; ml unload a", []),
        ("module -q load a; module swap a b", ["b"]),
        ("module load a/1; module unload a", []),
        ("V=2; module load gcc/$V", ["gcc/2"]),
        ("module avail; module use /x; module list; ml", []),
        ("echo module load a", []),
        ("srun ./x; module load late", []),
    ],
)
def test_modules_loaded_before_the_program_are_listed(text: str, modules: list[str]) -> None:
    assert read(text).modules == modules


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ("-n 100", {"n": ("100",)}),
        ("--key=value", {"key": ("value",)}),
        ("--key value", {"key": ("value",)}),
        ("--flag", {"flag": ()}),
        ("--a --b", {"a": (), "b": ()}),
        ("in.dat out.dat", {"": ("in.dat", "out.dat")}),
        ("-x -5 -y -.5", {"x": ("-5",), "y": ("-.5",)}),
        ("-i a -i b", {"i": ("a", "b")}),
        ("--k=", {"k": ("",)}),
        ("-v -- -n 1", {"v": (), "": ("-n", "1")}),
        ("- --", {"": ("-",)}),
        ("if=a of=b", {"": ("if=a", "of=b")}),
        ("", {}),
    ],
)
def test_arguments_become_options(arguments: str, options: dict[str, tuple[str, ...]]) -> None:
    assert {key: values for key, values in read_options(arguments.split()).items() if key or values} == options


def test_a_variable_that_doubles_repeatedly_stays_bounded() -> None:
    assert len(read("A=x\n" + "A=$A$A\n" * 60 + "srun $A").program.path) < 10_000


def test_every_option_of_the_installed_mpirun_that_takes_values_is_known() -> None:
    if not shutil.which("mpirun"):
        pytest.skip("needs Open MPI")
    text = subprocess.run(
        ["mpirun", "--allow-run-as-root", "--help", "all"], capture_output=True, text=True, check=False
    ).stdout
    described = re.findall(r"^ *(-\S+)((?: <arg\d>)*)", text, re.MULTILINE)
    if len(described) < 50:
        pytest.skip("this mpirun has another format of help")
    takes = {name.lstrip("-"): len(words.split()) for names, words in described for name in names.split("|")}
    del takes["h"], takes["help"]  # with these options, mpirun only prints its help
    assert {name: MPI_OPTIONS.get(name, 0) for name in takes} == takes


def test_a_program_found_just_within_the_limit_of_work_is_kept() -> None:
    def found(text: str, work: int) -> str:
        modules = Modules()
        return programs_of(started(text, Shell(Variables(work=Work(work))), modules), modules).main.path

    launch = "srun ./app\n"
    needed = next(work for work in range(1000) if found(launch, work))
    assert found(launch + "echo 'a' 'b'\n", needed) == "./app"
    assert found(launch, needed - 1) == ""


@pytest.mark.parametrize(
    ("text", "path", "programs"),
    [
        ("./a in; srun ./b; srun ./c", "./b", ["a", "b", "c"]),
        ("./a; ./a x; ./d/a", "./a", ["a"]),
        ("cp a b; module load x; srun hostname; ./a", "./a", ["a"]),
        ("./a; srun $B", "", ["a"]),
        ("./a; $B", "./a", ["a"]),
        ("python prepare.py; $B", "", ["prepare.py"]),
        ("bash -c './a; ./b'; srun ./c", "./c", ["a", "b", "c"]),
        ("srun -n 2 ./a; srun -n 8 ./b", "./b", ["a", "b"]),
        ("srun ./a; srun -n 8 ./b", "./a", ["a", "b"]),
        ("ray start --head; wandb login; python x.py", "x.py", ["x.py"]),
        ("date; hostname", "", []),
        ("cmake ..; make -j8; make install", "make", []),
        ("cmake -B b; cmake --build b", "cmake", []),
        ("wget http://h/a.tgz; tar xf a.tgz; make", "make", []),
        ("wget http://h/a.tgz; tar xf a.tgz", "wget", []),
        ("conda install -y numpy; pip install b", "conda", []),
        ("conda activate b; ./a", "./a", ["a"]),
        ("samtools faidx r.fa; bwa index r.fa; bcftools mpileup r.fa", "bcftools", ["samtools", "bwa", "bcftools"]),
        ("STAR --runMode genomeGenerate; ./count in", "./count", ["STAR", "count"]),
        ("samtools index a.bam", "samtools", ["samtools"]),
        ("BuildDatabase -name d g.fa; RepeatModeler -database d", "RepeatModeler", ["BuildDatabase", "RepeatModeler"]),
        ("./createInput.py x; ./solve", "./solve", ["createInput.py", "solve"]),
        ("./sys-info.sh; python main.py", "main.py", ["main.py"]),
        ("python -m torch.utils.collect_env; python fit.py", "fit.py", ["fit.py"]),
        ("srun ./bcast.sh; srun ./run.sh", "./run.sh", ["bcast.sh", "run.sh"]),
        ("srun python train_stage_2.py; python summary.py", "train_stage_2.py", ["train_stage_2.py", "summary.py"]),
        ("frpc -c f.toml & python serve.py", "serve.py", ["serve.py"]),
        ("pytest tests; ./run.sh", "./run.sh", ["pytest", "run.sh"]),
        ("./insane.py in; gmx mdrun -deffnm em", "gmx", ["insane.py", "gmx"]),
        ("moduel load x; ./a", "./a", ["a"]),
        ("checkout_git; ./configure --prefix=/a; make", "make", []),
        ("add_paths; ./a", "./a", ["a"]),
        ("python -c 'import a; print(a.x)'; make", "make", []),
        ("srun python -c 'import a; print(a.x)'; ./a", "", ["a"]),
        ("python -c 'from a import run; run()'; make", "", []),
        ("cat > m.conf <<E\n0 ./a x\n1-3 ./b\nE\nsrun --multi-prog m.conf", "./a", ["a", "b"]),
        ("echo 0 ./a > m.conf; echo 1 ./b >> m.conf; srun --multi-prog ./m.conf", "./a", ["a", "b"]),
        ("echo -np 1 -wdir d ./a >> m; echo -np 9 ./b >> m; mpirun --configfile d/m", "./b", ["a", "b"]),
        ("srun --multi-prog m.conf", "", []),
        ("srun $EXE in.nml; ./a", "", ["a"]),
        ("in.nml; ./a", "./a", ["a"]),
        ("echo ./a x > go.sh; echo ./b >> go.sh; bash go.sh", "./a", ["a", "b"]),
        ("srun site2torch ./run.sh in", "./run.sh", ["run.sh"]),
        ("sbatch ./run.sh; ./a", "./a", ["a"]),
        ('run_or_die "mpirun -np 2 ./a x"', "./a", ["a"]),
        ('say "a b"; run_or_die " "', "say", ["say", "run_or_die"]),
        ("python csv_to_pkl.py; python fit.py", "fit.py", ["csv_to_pkl.py", "fit.py"]),
        ("python make_list.py; cwltool setup.cwl", "setup.cwl", ["make_list.py", "setup.cwl"]),
        ("python validate.py; $B", "", ["validate.py"]),
        ("srun ./server & sleep 5; srun ./client", "./client", ["server", "client"]),
        ("srun ./a & srun ./b & wait", "./a", ["a", "b"]),
        ("./a & ./a 2 & wait; ./b", "./a", ["a", "b"]),
        ("./a &> log; ./b", "./a", ["a", "b"]),
        ("bash -c './server' & ./client", "./client", ["server", "client"]),
        ("srun ./a & ./b", "./a", ["a", "b"]),
        ("./d/bin/cmake ..; make; ./a", "./a", ["a"]),
        ("./cmake ..; ./a", "./cmake", ["cmake", "a"]),
        ("./Miniconda3-latest-Linux-x86_64.sh -b -p m; ./a", "./a", ["Miniconda3-latest-Linux-x86_64.sh", "a"]),
        ("matlab -r 'prepare_data(1); fit(2)'", "fit", ["fit"]),
        ("matlab -r 'prepare_data(1)'", "prepare_data", ["prepare_data"]),
        ('A="$@"; make', "make", []),
        ("conan install ..; cmake ..; make", "make", []),
        ("mim install mmcv; ./a", "./a", ["a"]),
        ("mim install mmcv", "mim", []),
        ("cp_data.sh in; srun ./a; ./mv_out.sh", "./a", ["cp_data.sh", "a", "mv_out.sh"]),
        ("./list_gpus.py; python fit.py", "fit.py", ["fit.py"]),
        ("matlab -batch make_figures", "make_figures", ["make_figures"]),
        ("srun --container-image nvcr.io/x:1 --container-mounts /a:/b ./a", "./a", ["a"]),
    ],
)
def test_all_programs_are_listed_and_the_main_one_is_chosen(text: str, path: str, programs: list[str]) -> None:
    reading = read(text)
    assert (reading.program.path, reading.programs) == (path, programs)


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ('M=a; if [ "$M" = a ]; then ./a; else ./b; fi; ./c', ["a", "c"]),
        ('M=b; if [ "$M" = a ]; then ./a; else ./b; fi', ["b"]),
        ("M=c; if [[ $M == a ]]; then ./a; elif [[ $M == c ]]; then ./c; else ./b; fi", ["c"]),
        ("M=c\nif test $M != c\nthen\n./a\nelse\n./b\nfi", ["b"]),
        ("N=3; if [ $N -gt 2 ]; then ./a; else ./b; fi", ["a"]),
        ("N=03; if [ ! $N -eq 3 ]; then ./a; else ./b; fi", ["b"]),
        ("D=false; if $D; then ./a; fi; if ! $D; then ./b; fi", ["b"]),
        ('M=; if [ -z "$M" ]; then ./a; fi; if [ -n "$M" ]; then ./b; fi', ["a"]),
        ("if [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("if [ -f in ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; if [ $M = b ] && [ -f in ]; then ./a; else ./b; fi", ["b"]),
        ("M=a; if [ -f in ] && [ $M = b ]; then ./a; else ./b; fi", ["b"]),
        ("M=a; if [ $M = a ] && [ -f in ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; if [ $M = a ] || [ -f in ]; then ./a; else ./b; fi", ["a"]),
        ("M=a; if [ $M = b ] || [ -f in ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; if [ $M = b ] || [ $M = c ] && [ $M = a ]; then ./a; else ./b; fi", ["b"]),
        ("M=a; if ! [ $M = a ] && [ -f in ]; then ./a; else ./b; fi", ["b"]),
        ("M=a; if [ $M = a ] && ! [ $M = b ]; then ./a; else ./b; fi", ["a"]),
        ("M=a; if [ $M = b ]; [ -f in ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; if [ -f in ] && echo x | grep y; then ./a; else ./b; fi", ["a", "b"]),
        ("N=3; if [ $N -ge 1 -a $N -le 2 ]; then ./a; else ./b; fi", ["b"]),
        ("N=3; if [ $N -ge 1 -a $N -le 3 ]; then ./a; else ./b; fi", ["a"]),
        ("M=a; if [[ $M == b* ]]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; if [ -f in ]; then M=b; fi; if [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; [ -f in ] &&\n M=b; if [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; [ -f in ] && M=b; if [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; while getopts m: o; do M=b; done; if [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; case $1 in\nx) M=b;;\ny) ;;\nesac\nif [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; case $1 in x) ;; esac; if [ $M = a ]; then ./a; else ./b; fi", ["a"]),
        ("M=a; N=$M; for M in b c; do :; done; N=$M; if [ $N = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; f() { M=b; }; f; if [ $M = a ]; then ./a; else ./b; fi", ["b"]),
        ("M=a; f() { M=b; }; if [ -f in ]; then f; fi; if [ $M = a ]; then ./a; else ./b; fi", ["a", "b"]),
        ("M=a; if [ $M = b ]; then if [ -f in ]; then ./a; fi; for i in 1; do ./b; done; fi; ./c", ["c"]),
        ("if [ -f in ]; then case $1 in x) ./a;; esac; else ./b; fi; ./c", ["a", "b", "c"]),
        ("for i in 1 2; do if [ $i = 1 ]; then ./a; else ./b; fi; done", ["a", "b"]),
        ('if [ "$#" -eq 2 ]; then ./a; else ./b; fi', ["a", "b"]),
        ("fi; else; then ./a", ["a"]),
    ],
)
def test_a_branch_that_the_scripts_own_settings_exclude_is_left_out(text: str, programs: list[str]) -> None:
    assert read(text).programs == programs


def test_the_number_of_a_scripts_arguments_decides_a_branch() -> None:
    text = 'if [ "$#" -eq 2 ]; then ./a; else ./b; fi'
    assert read(text, "x", "y").programs == ["a"]
    assert read(text, "x").programs == ["b"]


def test_a_function_is_followed_neither_recursively_nor_too_often() -> None:
    assert read('f() { ./a "$1"; f "$@"; }; f 1 & f 2').programs == ["a"]
    assert read("f() { ./a; time f; }; f").programs == ["a"]
    assert read("f() { ./a; parallel g ::: 1 2; }; g() { time f; ./b; }; time f").programs == ["a", "b"]
    text = "log() {\n" + "echo; true; ./l $1\n" * 20 + "}\n" + "log x\n" * 150 + "srun ./app"
    assert read(text).program.path == "./app"


def test_the_program_of_an_overlong_script_is_kept_only_if_it_is_certain() -> None:
    filler = "A=1 B=2 C=3\n" * 2_000
    assert read("./a\n" + filler).program.path == "./a"
    assert read("./a; ./b\n" + filler).program.path == ""
    assert read("srun ./a; ./b\n" + filler).program.path == "./a"
