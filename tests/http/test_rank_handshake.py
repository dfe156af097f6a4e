"""Ranks that are not alike: refused by name where that changes what is computed, and the bits of one where it does not."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest
from running_server import PROGRAM, RunningServer, environment
from test_tensor_parallel import TEXT, TWO, answers, others, wait_until
from test_tensor_parallel_mpi import LIBRARY, Job, mpirun, over_mpi, prompt, told  # the last but one are fixtures

NAME_OF_1 = rf"rank 1 \(process \d+ on host {re.escape(socket.gethostname())}\)"


@pytest.fixture
def two(mpirun, tmp_path):
    """two(words of rank 0, words of rank 1, ...) -> how mpirun ended, {rank: exit code}"""

    def start(first, second, program=PROGRAM, folders=(".", "."), env=None):
        job = Job(tmp_path)
        command = [*mpirun, "-np", 1, "--wdir", folders[0], job.counted, PROGRAM, *first, ":", "-np", 1, "--wdir", folders[1], job.counted, program, *second]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, env=environment() | job.env() | (env or {}))
        wait_until(lambda: job.processes() == {})
        return done, job.codes()

    return start


@pytest.mark.parametrize("more, name", [(["--kv-cache-dtype", "f32"], "--kv-cache-dtype"), (["--system", "secret words"], "--system")])
def test_other_options_are_refused_by_name(two, prompt, more, name):
    words = [*prompt, *over_mpi(2)]
    done, codes = two(words, [*words, *more])
    assert codes[0] == 2 and done.stdout == "" and "secret" not in done.stderr
    assert re.search(rf"{NAME_OF_1} has another {name} than rank 0: all ranks must have the same command line", done.stderr), done.stderr


def test_another_model_is_refused(two, prompt, model, tmp_path):
    (tmp_path / "other.gguf").symlink_to(model)
    words = [*prompt, *over_mpi(2)]
    done, codes = two(words, [str(tmp_path / "other.gguf") if word == model else word for word in words])
    assert codes[0] == 2 and re.search(rf"{NAME_OF_1} has another model than rank 0", done.stderr), done.stderr


def test_another_build_is_refused(two, prompt, tmp_path):
    """A program of which one character says another commit."""
    commit = re.search(r"\b[0-9a-f]{7,40}\b", subprocess.run([PROGRAM, "version"], capture_output=True, text=True, check=True).stdout)[0].encode()
    program = tmp_path / "millrace"
    program.write_bytes(PROGRAM.read_bytes().replace(commit, commit[:-1] + (b"0" if commit[-1:] != b"0" else b"1")))
    program.chmod(0o755)
    words = [*prompt, *over_mpi(2)]
    done, codes = two(words, words, program=program, env={"MILLRACE_MPI_LIBRARY": str(LIBRARY)})
    assert codes[0] == 2 and re.search(rf"{NAME_OF_1} has another build than rank 0", done.stderr), done.stderr


def test_what_a_host_decides_may_differ(two, prompt, told):
    words = [*prompt, *over_mpi(2)]
    more_threads = ["2" if before == "-t" else word for before, word in zip(["", *words], words)]
    done, codes = two(more_threads, [*words, "--cpu-isa", "avx2"])
    assert (done.returncode, done.stdout, codes) == (0, told, {0: 0, 1: 0}), done.stderr


def test_more_threads_than_a_rank_has_processors_are_refused(two, prompt):
    words = [word for word in [*prompt, *over_mpi(2)] if word != "--allow-oversubscription"]
    words[words.index("-t") + 1] = "600"
    done, codes = two(words, words)
    assert codes[0] == 2 and "this rank has 600 threads" in done.stderr and "--map-by slot:PE=N" in done.stderr, done.stderr


def change_a_byte(path):
    """In the middle of the largest tensors, where no sample is taken."""
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def test_copies_of_a_model_are_one_and_a_byte_more_or_less_is_another(two, prompt, told, model, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        shutil.copyfile(model, folder / "m.gguf")
    os.utime(folders[1] / "m.gguf", (1e9, 1e9))
    words = ["--log-level", "info", *["m.gguf" if word == model else word for word in prompt], *over_mpi(2)]
    done, codes = two(words, words, folders=folders)
    assert (done.returncode, done.stdout, codes) == (0, told, {0: 0, 1: 0}), done.stderr
    assert "rank 1 has files of another time, which were read whole: they are the same" in done.stderr
    change_a_byte(folders[1] / "m.gguf")
    done, codes = two(words, words, folders=folders)
    assert codes[0] == 2 and re.search(rf"{NAME_OF_1} has another content of the files than rank 0", done.stderr), done.stderr


def test_a_model_whose_files_change_below_a_server(model, logs, server, tmp_path):
    """Ranks that are started anew read them: a file that was only touched is the same, another one is refused."""
    path = tmp_path / "m.gguf"
    shutil.copyfile(model, path)
    request = [(TEXT, {"prompt": "Once upon a time", "max_tokens": 10, "temperature": 0})]
    with RunningServer(str(path), logs(), *TWO) as running:
        os.utime(path, (1e9, 1e9))
        os.kill(others(running)[0], signal.SIGKILL)
        assert answers(running, request) == answers(server, request)
        other = pathlib.Path(shutil.copyfile(model, tmp_path / "new"))
        change_a_byte(other)
        other.rename(path)
        os.kill(others(running)[0], signal.SIGKILL)
        refused = running.call("POST", *request[0])
        assert refused.status in (500, 503), refused
        assert "rank 1 has another content of the files than rank 0" in running.text()
        running.process.kill()
        running.process.wait()
