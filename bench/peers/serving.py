"""Both engines behind their servers, under the loads of `millrace bench serve`."""
import atexit
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from library import fail
from ratios import summarize

ROOT = pathlib.Path(__file__).resolve().parents[2]
READY_SECONDS = 900
# name -> what it is, the figure to rank by, flags of `millrace bench serve`.
WORKLOADS = {
    "one-user": ("one user, 128 tokens of prompt, 64 of answer", "output_throughput",
                 "--users 1 --num-prompts 6 --num-warmups 1 --input-len 128 --output-len 64"),
    "eight-users": ("eight users at a time, 128 and 64 tokens", "output_throughput",
                    "--users 8 --num-prompts 32 --num-warmups 2 --input-len 128 --output-len 64"),
    "offline": ("48 requests at once, 32 to 256 tokens of prompt, 16 to 128 of answer", "total_token_throughput",
                "--request-rate inf --num-prompts 48 --num-warmups 2 --input-len 32-256 --output-len 16-128"),
    "chat": ("two requests a second by Poisson, lengths as ShareGPT's, at most 256 tokens of answer", "median_e2el_ms",
             "--request-rate 2 --num-prompts 40 --num-warmups 2 --input-len 16-512:long --output-len 16-256:long"),
}
METRICS = ("output_throughput", "total_token_throughput", "request_throughput", "median_ttft_ms", "p99_ttft_ms", "median_tpot_ms",
           "p99_tpot_ms", "median_e2el_ms")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A server in a process group of its own; ready when made. The group ends with this process, however that ends, or when it is closed."""

    def __init__(self, name, command, threads):
        self.name, self.port = name, free_port()
        self.command = [str(word).replace("{port}", str(self.port)) for word in command]
        self.log = open(ROOT / "build/peers" / f"{name}-server.log", "w+")
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, start_new_session=True, cwd=ROOT,
                                        env=os.environ | {"THREADS": str(threads)})
        atexit.register(self.close)
        deadline = time.monotonic() + READY_SECONDS
        self.models = None
        while not (self.ready() and (models := self.get("/v1/models"))):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.close()
                fail(f"{name}: its server did not come up (log: {self.log.name})")
            time.sleep(0.2)
        self.models = models

    def get(self, path):
        try:
            return json.loads(urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5).read() or "{}")
        except (urllib.error.URLError, OSError, ValueError):
            return None

    def version(self):
        """As vLLM and millrace say it, or llama-server."""
        for path, key in (("/version", "version"), ("/props", "build_info")):
            if said := (self.get(path) or {}).get(key):
                return said
        return ""

    def ready(self):
        """While a model loads, millrace's /ready and llama-server's /health say 503; who knows neither path is ready when it answers."""
        path = "/ready" if self.name == "millrace" else "/health"
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5).status == 200
        except urllib.error.HTTPError as error:
            return error.code == 404
        except OSError:
            return False

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(30)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        with contextlib.suppress(ProcessLookupError):  # vLLM's workers outlive it
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        atexit.unregister(self.close)


def run(program, server, flags, vocabulary, seed):
    command = [program, "bench", "serve", f"http://127.0.0.1:{server.port}", "--output", "-", "--no-progress", "--no-probe",
               "--vocab-size", vocabulary, "--seed", seed, *flags.split()]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        fail(f"{server.name}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    if report["failed"]:
        fail(f"{server.name}: {report['failed']} requests failed: {next(e for e in report['errors'] if e)}")
    return {"metrics": {m: report["estimates"][m]["value"] for m in METRICS if report["estimates"].get(m)}, "report": report}


def measure(program, millrace, peer, workload, rounds, vocabulary):
    """Rounds in the order A B, B A, ...; each with requests of its own, the same for both."""
    description, metric, flags = WORKLOADS[workload]
    measured, machine = [], None
    for seed in range(1, rounds + 1):
        sides = {"millrace": millrace, "peer": peer}
        order = list(sides) if seed % 2 else list(sides)[::-1]
        done = {side: run(program, sides[side], flags, vocabulary, seed) for side in order}
        measured.append({side: done[side]["metrics"] for side in sides})
        machine = {key: done["millrace"]["report"][key] for key in ("millrace", "machine")}
    return {"workload": workload, "description": description, "metric": metric, "flags": flags, **summarize(measured)}, machine
