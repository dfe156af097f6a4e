"""Ranks on machines that are short of something, or whose clock jumps."""
import os
import signal
import subprocess

import pytest
from running_server import PROGRAM, environment
from test_tensor_parallel import PROMPTS, TEXT, TWO, answers, others

ASKED = [(TEXT, {"prompt": prompt, "max_tokens": 40, "temperature": 0, "ignore_eos": True}) for prompt in PROMPTS[:4]]

# In both processes the time of day jumps by an hour and back with each look.
JUMPING = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long jump(void) { static int n; return __atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) % 2 * 3600; }
int clock_gettime(clockid_t clock, struct timespec* time) {
  int code = (int)syscall(SYS_clock_gettime, clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += jump();
  return code;
}
int gettimeofday(struct timeval* time, void* zone) {
  int code = (int)syscall(SYS_gettimeofday, time, zone);
  time->tv_sec += jump();
  return code;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
"""


def wrapped(folder, words):
    """A program that is millrace, started by these words."""
    script = folder / "millrace"
    script.write_text(f'#!/bin/sh\nexec {words} {PROGRAM} "$@"\n')
    script.chmod(0o755)
    return script


def test_deadlines_are_of_no_clock_that_jumps(start, server, tmp_path):
    (tmp_path / "jumping.c").write_text(JUMPING)
    shim = tmp_path / "jumping.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", shim, tmp_path / "jumping.c"], check=True)
    with start(*TWO, env={"LD_PRELOAD": str(shim)}) as running:
        assert answers(running, ASKED) == answers(server, ASKED)
        assert "started anew" not in running.text()
        os.kill(others(running)[0], signal.SIGKILL)
        assert answers(running, ASKED) == answers(server, ASKED)


def test_a_small_dev_shm_is_enough(start, server, tmp_path):
    small = "unshare --mount sh -c 'mount -t tmpfs -o size=64m none /dev/shm && exec \"$@\"' sh"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        pytest.skip("other mounts are not permitted here")
    with start(*TWO, program=wrapped(tmp_path, small)) as running:
        mounts = open(f"/proc/{running.process.pid}/mounts").read()
        assert "/dev/shm tmpfs" in mounts and "size=65536k" in mounts
        assert answers(running, ASKED) == answers(server, ASKED)


def test_ranks_may_have_one_processor_together_or_each_another(start, server, tmp_path):
    processors = sorted(os.sched_getaffinity(0))
    one = wrapped(tmp_path, f"taskset -c {processors[0]}")
    with start(*TWO, program=one) as running:
        [rank] = others(running)
        assert os.sched_getaffinity(rank) == {processors[0]}
        assert answers(running, ASKED) == answers(server, ASKED)
        os.sched_setaffinity(rank, {processors[-1]})
        assert answers(running, ASKED) == answers(server, ASKED)
        assert "started anew" not in running.text()
    refused = subprocess.run([one, "serve", os.environ["MILLRACE_TEST_MODEL"], "--port", "0", "-tp", "2", "-t", "1"], capture_output=True, text=True, env=environment())
    assert refused.returncode == 2 and "more than the 1 processors" in refused.stderr and "70 times as long" in refused.stderr, refused.stderr
