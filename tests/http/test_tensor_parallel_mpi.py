"""A model shared by the processes of a job of mpirun: the bits of one, and an end with a reason where one of them is lost."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid

import pytest
from memory_bits import flip_bit
from running_server import PROGRAM, RunningServer, environment, events
from test_tensor_parallel import CHAT, PROMPTS, TEXT, answers, is_there, wait_until

BUILD = PROGRAM.parents[1]
LIBRARY, RANKS_OF_TESTS = BUILD / "lib/millrace/libmillrace_mpi.so", BUILD / "src/comm/comm_test"
OVER_MPI = ["--distributed-executor-backend", "mpi", "-t", "1", "--allow-oversubscription"]  # whatever the machine has
TCP = ["--mca", "btl", "tcp,self"]
ALL = "MILLRACE_TEST_ALL" in os.environ  # ./dev test --all: signals at twenty points instead of one
STEPS = [i / 10 for i in range(20)] if ALL else [0.3]
LOADING = [0, 0.05, 0.1, 0.2, 0.3, 0.5] if ALL else [0.1]
DRAINED = [0, 0.1, 0.3] if ALL else [0.1]


def over_mpi(ranks):
    return ["-tp", str(ranks), *OVER_MPI]


@pytest.fixture(scope="session")
def mpirun():
    found = shutil.which("mpirun") or pytest.skip("mpirun is not installed: ./dev setup")
    assert LIBRARY.exists(), f"{LIBRARY} is not built: cmake with libopenmpi-dev, ./dev build"
    return [found, "--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]


OPEN_MPI_5 = pathlib.Path(__file__).parents[2] / "build/mpi/bin"


@pytest.fixture(scope="session", params=["", "--with-ft ulfm"], ids=["plain", "ulfm"])
def mpirun5(request, tmp_path_factory):
    """Open MPI 5 of PyPI, and the shared object compiled for it: (words before -np, environment)"""
    if not (OPEN_MPI_5 / "mpirun").exists():
        pytest.skip("build/mpi has no Open MPI 5: ./dev setup")
    library = tmp_path_factory.mktemp("mpi5") / "libmillrace_mpi.so"
    sources = pathlib.Path(__file__).parents[2] / "src"
    subprocess.run([OPEN_MPI_5 / "mpicxx", "-std=c++20", "-O2", "-fPIC", "-shared", "-I", sources, sources / "comm/mpi_library/mpi_calls.cc", "-o", library], check=True)
    # It leaves stdin open otherwise, of which `run` reads to the end.
    return [OPEN_MPI_5 / "mpirun", "--oversubscribe", "--allow-run-as-root", "--stdin", "none", *request.param.split()], {"MILLRACE_MPI_LIBRARY": str(library)}


class Job:
    """What mpirun starts: its ranks are found by a mark in their environment, and leave their exit codes in a file."""

    def __init__(self, folder):
        self.folder, self.mark = folder, f"TEST_JOB={uuid.uuid4()}"
        self.counted = folder / "counted.sh"
        self.counted.write_text('#!/bin/sh\n"$@"\ncode=$?\necho "$OMPI_COMM_WORLD_RANK $code" >> "$(dirname "$0")/codes"\nexit $code\n')
        self.counted.chmod(0o755)

    def env(self):
        return dict([self.mark.split("=")])

    def processes(self):
        """{rank: process} of those that are this program."""
        found = {}
        for folder in pathlib.Path("/proc").iterdir():
            try:
                if not folder.name.isdigit() or os.readlink(folder / "exe") != str(PROGRAM.resolve()):
                    continue
                variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue
            rank = dict(v.split("=", 1) for v in variables if "=" in v).get("OMPI_COMM_WORLD_RANK")
            if self.mark in variables and rank is not None and is_there(folder.name):
                found[int(rank)] = int(folder.name)
        return found

    def codes(self):
        lines = (self.folder / "codes").read_text().splitlines() if (self.folder / "codes").exists() else []
        return {int(rank): int(code) for rank, code in map(str.split, lines)}


class ServerOfRanks(RunningServer):
    def __init__(self, mpirun, model, folder, ranks, *flags, launch=(), before=(), env=None, counted=True):
        self.job = Job(folder)
        words = " ".join(map(str, [*mpirun, *launch, "-np", ranks, *before, *[self.job.counted] * counted, PROGRAM]))
        started = folder / "started.sh"
        started.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        started.chmod(0o755)
        super().__init__(model, folder / "log", *over_mpi(ranks), *flags, program=started, env=self.job.env() | (env or {}))

    def stop(self, seconds=30):
        os.kill(self.job.processes()[0], signal.SIGTERM)  # a launcher that is told to end leaves them one second
        return self.process.wait(seconds)


@pytest.fixture
def run(mpirun, model, tmp_path):
    """run(ranks, "run", ...) -> (rank 0's output, all that was said, {rank: exit code})"""

    def start(ranks, *words, launch=(), env=None, more=()):
        job = Job(tmp_path)
        command = [*mpirun, *launch, "-np", ranks, job.counted, PROGRAM, *words, *more]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60, env=environment() | job.env() | (env or {}))
        assert job.processes() == {}
        return done, job.codes()

    return start


@pytest.fixture(scope="module")
def prompt(model):
    return ["run", model, "Name three rivers.", "--temperature", "0", "--max-tokens", "12"]


@pytest.fixture(scope="module")
def told(prompt):
    return subprocess.run([PROGRAM, *prompt], capture_output=True, text=True, check=True, env=environment()).stdout


def ends_with_the_name_of_rank_1(running, how):
    ranks = running.job.processes()
    os.kill(ranks[1], how)
    begin = time.monotonic()
    wait_until(lambda: 0 in running.job.codes())
    assert time.monotonic() - begin < 5.5
    # The launcher's own code is that of the first rank that ended badly: it may be the one that was killed.
    assert running.process.wait(10) in ([70, 137] if how == signal.SIGKILL else [70])
    assert running.job.codes()[0] == 70, running.text()
    assert f"rank 1 (process {ranks[1]} on host {socket.gethostname()}) has" in running.text()
    assert "; this ends with exit code 70" in running.text()
    wait_until(lambda: running.job.processes() == {})


def test_blocks_and_messages_arrive(mpirun):
    ranks = 4
    assert RANKS_OF_TESTS.exists(), f"{RANKS_OF_TESTS} is not built: ./dev build"
    done = subprocess.run([*mpirun, *TCP, "-np", str(ranks), RANKS_OF_TESTS, "--gtest_brief=1", "--gtest_filter=Mpi.*"], capture_output=True,
                          text=True, timeout=60, env=environment() | {"MILLRACE_TEST_MPI": "1", "MILLRACE_MPI_LIBRARY": str(LIBRARY)})
    assert done.returncode == 0 and done.stdout.count("PASSED") == ranks, done.stdout + done.stderr


def test_answers_are_those_of_one_rank(mpirun, model, tmp_path, server):
    asked = [(TEXT, {"prompt": prompt, "max_tokens": 20, "temperature": 0.9 * (i % 2), "seed": i}) for i, prompt in enumerate(PROMPTS)]
    asked.append((CHAT, {"messages": [{"role": "user", "content": "word " * 200}], "max_tokens": 8, "temperature": 0, "logprobs": True, "top_logprobs": 2}))
    with ServerOfRanks(mpirun, model, tmp_path, 2) as running:
        for _ in range(2):  # the second time their prompts are in pages
            assert answers(running, asked) == answers(server, asked)
        assert running.text().count("listening on") == 1
        ends_with_the_name_of_rank_1(running, signal.SIGSTOP)  # while nobody asks


def test_several_models_take_turns_go_and_come_back(mpirun, model, tmp_path, server):
    """Each has messages and exchanges of its own; ranks forget one that nobody asks for, and load it again."""
    asked = [(TEXT, {"prompt": prompt, "max_tokens": 20, "temperature": 0.9 * (i % 2), "seed": i}) for i, prompt in enumerate(PROMPTS)]
    expected = answers(server, asked)
    both = [(route, body | {"model": name}) for route, body in asked for name in ("m", "other")]
    def states(running):
        return {card["id"]: card["status"] for card in running.call("GET", "/v1/models").json()["data"]}

    with ServerOfRanks(mpirun, model, tmp_path, 2, "--model", f"other={model}", "--model-idle-timeout", "0.5") as running:
        for _ in range(3):
            texts = answers(running, both)
            assert texts[::2] == expected and texts[1::2] == expected
            wait_until(lambda: set(states(running).values()) == {"unloaded"})
        assert running.stop() == 0, running.text()
        assert running.job.codes() == {0: 0, 1: 0}


def test_a_further_model_that_a_rank_cannot_read_is_refused_alone(mpirun, model, tmp_path, server):
    """The second rank's folder has the first model, and not the second."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    for link in (here / "a.gguf", there / "a.gguf", here / "b.gguf"):
        link.symlink_to(model)
    body = {"prompt": "Once upon a time", "max_tokens": 8, "temperature": 0}
    moves = tmp_path / "moves.sh"  # what mpirun starts: each rank in its folder
    moves.write_text(f'#!/bin/sh\ncd {tmp_path}/$([ "$OMPI_COMM_WORLD_RANK" = 0 ] && echo here || echo there)\nexec "$@"\n')
    moves.chmod(0o755)
    with ServerOfRanks(mpirun, "a.gguf", tmp_path, 2, "--model", "b=b.gguf", before=[moves]) as running:
        for _ in range(2):
            refused = running.post(TEXT, body | {"model": "b"})
            assert refused.status >= 400 and re.search(r"rank 1 \(process \d+ on host .*\): b.gguf: No such file", refused.error["message"]), refused
            answered = running.post(TEXT, body | {"model": "m"})
            assert answered.status == 200 and answered.json()["choices"] == server.post(TEXT, body).json()["choices"], answered
        assert running.stop() == 0, running.text()


def test_a_rank_whose_weights_have_changed_ends_the_job(mpirun, model, tmp_path):
    body = {"prompt": "Once upon a time", "max_tokens": 200, "ignore_eos": True}
    with ServerOfRanks(mpirun, model, tmp_path, 2, "--packed-cache", tmp_path) as running:
        rank = running.job.processes()[1]
        assert any([flip_bit(rank, packed, "token_embd.weight", -300) for packed in tmp_path.glob("*.packed")])
        while running.post(TEXT, body).status == 200:
            pass
        assert running.process.wait(20) == 70 and running.job.codes()[0] == 70
        assert re.search(r"rank 1: weight token_embd.weight of \S+ has changed in memory since it was loaded; this ends with exit code 70", running.text())


def test_a_completion_over_a_network_is_that_of_one_rank(run, prompt, told):
    done, codes = run(3, *prompt, *over_mpi(3), launch=TCP)
    assert (done.returncode, done.stdout, codes) == (0, told, {0: 0, 1: 0, 2: 0}), done.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("seconds", STEPS)
def test_a_rank_that_is_lost_in_a_step_ends_the_job(mpirun, model, tmp_path, seconds, how):
    body = {"prompt": "Once upon a time", "max_tokens": 2000, "ignore_eos": True, "temperature": 0}
    with ServerOfRanks(mpirun, model, tmp_path, 2) as running, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(running.call, "POST", TEXT, body)
        time.sleep(seconds)
        ends_with_the_name_of_rank_1(running, how)
        reply = answer.exception(5) or answer.result()
        assert isinstance(reply, OSError) or reply.status in (500, 503), reply


@pytest.mark.parametrize("seconds", LOADING)
def test_a_rank_that_is_killed_while_it_loads_ends_the_job(mpirun, model, tmp_path, seconds):
    job = Job(tmp_path)
    words = [*mpirun, "-np", 2, job.counted, PROGRAM, "run", model, "One", "--max-tokens", "1000", "--ignore-eos", *over_mpi(2)]
    with subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment() | job.env()) as running:
        try:
            wait_until(lambda: len(job.processes()) == 2)
            time.sleep(seconds)
            os.kill(job.processes()[1], signal.SIGKILL)
            said = running.communicate(timeout=20)[0].decode()
            assert running.returncode in (70, 137), said
            # Before they have met there is only the launcher, which ends all.
            assert job.codes().get(0, 137) in (70, 137, 143), said
            wait_until(lambda: job.processes() == {})
        finally:
            running.kill()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("seconds", DRAINED)
def test_a_rank_that_is_lost_while_the_server_drains_ends_the_job(mpirun, model, tmp_path, seconds, how):
    body = {"prompt": "Once upon a time", "max_tokens": 2000, "ignore_eos": True, "temperature": 0}
    with ServerOfRanks(mpirun, model, tmp_path, 2) as running, concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(running.call, "POST", TEXT, body)
        time.sleep(0.3)
        os.kill(running.job.processes()[0], signal.SIGTERM)
        time.sleep(seconds)
        ends_with_the_name_of_rank_1(running, how)
        reply = answer.exception(5) or answer.result()
        assert isinstance(reply, OSError) or reply.status in (500, 503), reply


def test_open_mpi_5_has_the_bits_of_one_rank_and_ends_with_a_rank_that_is_killed(mpirun5, model, tmp_path, server):
    launcher, env = mpirun5
    asked = [(TEXT, {"prompt": prompt, "max_tokens": 20, "temperature": 0.9 * (i % 2), "seed": i}) for i, prompt in enumerate(PROMPTS)]
    # The launcher would take the code of a shell that counts for a failure of the program, and end all.
    with ServerOfRanks(launcher, model, tmp_path, 2, env=env, counted=False) as running:
        assert answers(running, asked) == answers(server, asked)
        rank, begin = running.job.processes()[1], time.monotonic()
        os.kill(rank, signal.SIGKILL)
        assert running.process.wait(10) in ([70] if "ulfm" in launcher else [70, 137]) and time.monotonic() - begin < 5.5
        assert f"rank 1 (process {rank} on host {socket.gethostname()}) has ended; this ends with exit code 70" in running.text()
        wait_until(lambda: running.job.processes() == {})


def test_the_wrong_number_of_processes_is_refused_by_rank_0(run, prompt):
    done, codes = run(2, *prompt, *over_mpi(3))
    assert codes == {0: 2, 1: 0} and done.stdout == ""
    assert done.stderr.count("tensor-parallel-size is 3, but 2 processes were started") == 1


@pytest.mark.parametrize("library, told", [("/nowhere.so", "no libmillrace_mpi.so"), ("/dev/null", "/dev/null cannot be loaded")])
def test_a_library_that_is_missing_or_none_is_named(prompt, library, told):
    done = subprocess.run([PROGRAM, *prompt, *over_mpi(2)], capture_output=True, text=True, env=environment() | {"MILLRACE_MPI_LIBRARY": library})
    assert done.returncode == 3 and told in done.stderr and library in done.stderr


def test_a_model_that_another_host_does_not_have_is_named(mpirun, model, tmp_path):
    """The working folder of rank 1 is one without it."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir(), there.mkdir()
    (here / "m.gguf").symlink_to(model)
    job = Job(tmp_path)
    words = [job.counted, PROGRAM, "run", "m.gguf", "hi", *over_mpi(2)]
    begin = time.monotonic()
    done = subprocess.run(list(map(str, [*mpirun, "-np", 1, "--wdir", here, *words, ":", "-np", 1, "--wdir", there, *words])),
                          capture_output=True, text=True, timeout=60, env=environment() | job.env())
    assert job.codes()[0] == 3 and time.monotonic() - begin < 8
    assert re.search(rf"millrace: rank 1 \(process \d+ on host {socket.gethostname()}\): m.gguf: No such file", done.stderr), done.stderr
    assert job.processes() == {}


def test_a_network_that_is_none_is_named_once_for_a_host(run, prompt):
    done, codes = run(2, *prompt, *over_mpi(2), "--trusted-network", "none77")
    assert set(codes.values()) == {2} and done.stderr.count("has no such network interface") == 1
    done = subprocess.run([PROGRAM, *prompt, "--trusted-network", "lo"], capture_output=True, text=True, env=environment())
    assert done.returncode == 2 and "only mpi uses a network" in done.stderr


@pytest.fixture
def two_hosts(mpirun, tmp_path):
    """Two network namespaces with a cable, each with a name of its own: how mpirun starts on the first and reaches the second."""
    names = [f"mr{uuid.uuid4().hex[:6]}{side}" for side in "ab"]

    def ip(*words):
        return subprocess.run(["ip", *words], capture_output=True, text=True)

    if os.geteuid() != 0 or not shutil.which("ip") or ip("netns", "add", names[0]).returncode != 0:
        pytest.skip("network namespaces are not permitted here, or there is no ip(8)")
    try:
        ip("netns", "add", names[1])
        made = ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        if made.returncode != 0:
            pytest.skip(f"veth: {made.stderr}")
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "cable")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", "cable", "up")
        enter, reach = tmp_path / "enter.sh", tmp_path / "reach.sh"
        enter.write_text('#!/bin/sh\nhost=$1\nshift\nexec ip netns exec "$host" unshare --uts sh -c \'hostname "$0"; exec "$@"\' "$host" "$@"\n')
        reach.write_text(f'#!/bin/sh\nhost=$1\nshift\nexec {enter} "$host" sh -c "$*"\n')
        enter.chmod(0o755), reach.chmod(0o755)
        yield names, [enter, names[0], *mpirun, "--mca", "plm_rsh_agent", reach, "-H", f"{names[0]}:1,{names[1]}:1"], lambda: ip("-n", names[1], "link", "set", "cable", "down")
    finally:
        for name in names:
            for process in ip("netns", "pids", name).stdout.split():  # launchers that wait for a host that is cut off
                os.kill(int(process), signal.SIGKILL)
            ip("netns", "del", name)


def test_several_hosts_want_a_network_that_is_trusted(mpirun, prompt):
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode != 0:
        pytest.skip("another host name is not permitted here")
    words = [PROGRAM, *prompt, *over_mpi(2)]
    elsewhere = ["unshare", "--uts", "sh", "-c", 'hostname elsewhere; exec "$@"', "sh"]
    done = subprocess.run(list(map(str, [*mpirun, "-np", 1, *words, ":", "-np", 1, *elsewhere, *words])), capture_output=True, text=True,
                          timeout=60, env=environment())
    assert done.returncode == 2 and "elsewhere" in done.stderr and "MPI neither encrypts nor authenticates" in done.stderr, done.stderr


def test_a_host_that_is_cut_off_ends_the_job(two_hosts, model, tmp_path):
    names, launched, cut = two_hosts
    job = Job(tmp_path)
    words = [*launched, "-np", 2, job.counted, PROGRAM, "run", model, "One", "--max-tokens", "3000", "--ignore-eos", *over_mpi(2), "--trusted-network", "cable"]
    said = tmp_path / "said"
    with open(said, "wb") as file, subprocess.Popen(list(map(str, words)), stdout=file, stderr=file, env=environment() | job.env()) as running:
        try:
            wait_until(lambda: said.stat().st_size > 0)  # it answers
            cut()
            wait_until(lambda: 0 in job.codes(), 6)
            assert job.codes()[0] == 70
            assert re.search(rf"rank 1 \(process \d+ on host {names[1]}\) has not", said.read_text())
            wait_until(lambda: job.processes() == {})
        finally:
            running.kill()
