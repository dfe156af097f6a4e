"""Both engines called directly, without a server: prompts and tokens of a batch of equal sequences."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

from ratios import summarize

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKERS = {"llama.cpp": "llama_cpp_worker.py", "openvino": "openvino_worker.py", "transformers": "transformers_worker.py",
           "vllm": "vllm_worker.py"}
FILES = {"llama.cpp": "a .gguf file", "openvino": "a .gguf file or a directory of OpenVINO's own format",
         "transformers": "a directory of safetensors or a .gguf file", "vllm": "a directory of safetensors"}
METRICS = ("prefill_tok_s", "decode_tok_s")


def fail(text):
    sys.exit(f"millrace bench peers: {text}")


def parse_shape(text):
    """prefillN: a prompt of N. decodeN: N tokens after a prompt of 128. batchN: N sequences decode 64 tokens after prompts of 128."""
    found = re.fullmatch(r"(prefill|decode|batch)([1-9][0-9]{0,5})", text)
    if not found:
        raise argparse.ArgumentTypeError(f"'{text}' is no prefillN, decodeN or batchN")
    kind, n = found.group(1), int(found.group(2))
    load = {"prefill": {"batch": 1, "prompt_tokens": n, "output_tokens": 2},
            "decode": {"batch": 1, "prompt_tokens": 128, "output_tokens": max(2, n)},
            "batch": {"batch": n, "prompt_tokens": 128, "output_tokens": 64}}[kind]
    return {"name": text, "metric": "prefill_tok_s" if kind == "prefill" else "decode_tok_s", "load": load}


class Peer:
    """A worker process of the peer's own Python, loaded once; it waits while millrace runs."""

    def __init__(self, name, model, threads):
        python = ROOT / "build/peers" / name / "bin/python"
        if not (ROOT / "build/peers" / name / "requirements.stamp").exists():
            fail(f"{name} is not installed: bench/peers/setup {name}")
        worker = ROOT / "bench/peers/workers" / WORKERS[name]
        environment = os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
        self.log = open(ROOT / "build/peers" / f"{name}.log", "w+")
        self.name = name
        self.process = subprocess.Popen([python, worker, model, str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, env=environment)
        self.description = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        value = json.loads(line) if line else {"error": "it ended without a word"}
        if "error" in value:
            fail(f"{self.name}: {value['error']} (log: {self.log.name}; it takes {FILES[self.name]})")
        return value

    def run(self, load):
        self.process.stdin.write(json.dumps(load) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Millrace:
    def __init__(self, program, model, threads, flags):
        self.command = [program, "bench", "latency", model, "--threads", str(threads), "--runs", "1", "--json", "-", *flags]
        self.description = None

    def run(self, load):
        done = subprocess.run([*map(str, self.command), "--batch", str(load["batch"]), "--prompt-tokens", str(load["prompt_tokens"]),
                               "--output-tokens", str(load["output_tokens"]), "--seed", str(load["seed"])],
                              capture_output=True, text=True)
        if done.returncode:
            fail(done.stderr.strip())
        report = json.loads(done.stdout)
        self.description = {"millrace": report["millrace"], "machine": report["machine"], "weights": report["model"]["weights"]}
        run = report["results"][0]["runs"][0]
        return {"prefill_ms": run["prefill_ms"], "tpot_ms": run["tpot_ms"]}


def rates(load, times):
    return {"prefill_tok_s": 1000 * load["batch"] * load["prompt_tokens"] / times["prefill_ms"],
            "decode_tok_s": 1000 * load["batch"] / times["tpot_ms"]}


def measure(millrace, peer, shape, rounds):
    """Rounds of one run each; the peer's first, unmeasured run warms it up as millrace's own warmup does."""
    load = shape["load"]
    peer.run({**load, "seed": 0})
    measured = []
    for seed in range(1, rounds + 1):
        ours, theirs = millrace.run({**load, "seed": seed}), peer.run({**load, "seed": seed})
        measured.append({"millrace": rates(load, ours), "peer": rates(load, theirs)})
    return {"workload": shape["name"], "metric": shape["metric"], **summarize(measured)}
