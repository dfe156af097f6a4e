#!/usr/bin/env python3
"""What the server costs on a real model, beside the engine called directly, and what load does to latency.

    ./dev bench server model                       # the model of ./dev setup
    ./dev bench server model model.gguf --rounds 5

Both sides run the same requests on the same threads, A B A B; only the ratio of neighbours in time is worth reading. The clients are
native and share the processors with the server, as the aims have it.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFAULT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "millrace/models/SmolLM2-135M-Instruct.Q4_1.gguf"
# Chats: most prompts and answers are short, some long.
CHAT = ["--input", "32-512:long", "--output", "16-256:long"]


class Server:
    """`millrace serve` as it comes; what it caches of prompts is off, as every prompt is new anyway."""

    def __init__(self, args):
        command = [args.millrace, "serve", args.model, "--port", "0", "--disable-log-requests", "--no-prefix-caching",
                   "--max-num-seqs", str(args.max_num_seqs), "--max-num-batched-tokens", str(args.max_num_batched_tokens)]
        self.process = subprocess.Popen(command + args.serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        found = re.search(r":(\d+)\s*$", self.process.stdout.readline())
        if not found:
            sys.exit("on_a_model: the server did not start")
        self.port = int(found.group(1))
        while not self.ready():
            if self.process.poll() is not None:
                sys.exit("on_a_model: the server ended while loading")
            time.sleep(0.05)

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready").status == 200
        except urllib.error.HTTPError:
            return False

    def thread_seconds(self):
        """Processor time by name of thread, numbers left out: worker-1 is "worker"."""
        seconds = collections.Counter()
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            name = re.sub(r"-?\d+$", "", (task / "comm").read_text().strip())
            seconds[name] += int((task / "schedstat").read_text().split()[0]) / 1e9
        return seconds

    def stop(self):
        self.process.terminate()
        self.process.wait()


def load(args, server, *flags):
    command = [args.server_load, "url", "--port", str(server.port), "--vocabulary", str(args.vocabulary), "--seed", str(args.seed), *flags]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    if report["failed"]:
        sys.exit(f"on_a_model: {report['failed']} requests failed")
    return report


def direct(args):
    command = [args.millrace, "bench", "throughput", args.model, "--requests", str(args.requests), "--concurrency", str(args.concurrency),
               "--input-tokens", str(args.input), "--output-tokens", str(args.output), "--max-num-seqs", str(args.max_num_seqs), "--max-num-batched-tokens",
               str(args.max_num_batched_tokens), "--seed", str(args.seed), "--json", "-"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    return report["results"]["output_tokens"] / report["results"]["seconds"]


def overhead(args, server):
    """Tokens a second over HTTP and of the engine alone."""
    through, alone, spent = [], [], collections.Counter()
    load(args, server, "--requests", "8", "--concurrency", "8")
    for _ in range(args.rounds):
        alone.append(direct(args))
        before = server.thread_seconds()
        report = load(args, server, "--requests", str(args.requests), "--concurrency", str(args.concurrency), "--input", str(args.input),
                      "--output", str(args.output))
        spent += server.thread_seconds() - before
        through.append(args.requests * args.output / report["seconds"])
    ratios = [b / a for a, b in zip(alone, through)]
    print(f"{args.concurrency} clients, {args.requests} requests of {args.input} + {args.output} tokens, {args.rounds} rounds A B:")
    print(f"  engine alone    {statistics.median(alone):8.1f} tok/s")
    print(f"  over HTTP       {statistics.median(through):8.1f} tok/s")
    print(f"  ratio           {statistics.median(ratios):8.3f}  ({min(ratios):.3f} to {max(ratios):.3f}; aim >= 0.97)")
    total = sum(spent.values())
    shares = ", ".join(f"{name} {seconds / total:.2%}" for name, seconds in spent.most_common())
    print(f"  the server's processor time: {shares}")


def latency(args, server):
    """Median TTFT and TPOT of one client, and of arrivals at a share of what the server can do at most."""
    most = load(args, server, "--requests", str(2 * args.chats), "--concurrency", str(args.max_num_seqs), *CHAT)["requests_s"]
    print(f"\nchats, {' '.join(CHAT)}: at most {most:.1f} requests a second")
    print(f"  {'load':<22}{'TTFT ms':>10}{'TPOT ms':>10}{'TTFT ratio':>12}{'TPOT ratio':>12}")
    for share in args.shares:
        ratios, rows = [], []
        for _ in range(args.rounds):
            quiet = load(args, server, "--requests", str(args.chats), "--concurrency", "1", *CHAT)
            busy = load(args, server, "--requests", str(args.chats), "--rate", str(most * share), *CHAT)
            rows.append([(r["ttft_ms"]["p50"], r["tpot_ms"]["p50"]) for r in (quiet, busy)])
            ratios.append([busy[what]["p50"] / quiet[what]["p50"] for what in ("ttft_ms", "tpot_ms")])
        median = statistics.median
        print(f"  {'one client':<22}{median(r[0][0] for r in rows):>10.2f}{median(r[0][1] for r in rows):>10.2f}")
        print(f"  {f'{share:.0%} of the most':<22}{median(r[1][0] for r in rows):>10.2f}{median(r[1][1] for r in rows):>10.2f}"
              f"{median(r[0] for r in ratios):>12.2f}{median(r[1] for r in ratios):>12.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=str(DEFAULT))
    parser.add_argument("--millrace", default=str(ROOT / "build/release/bin/millrace"))
    parser.add_argument("--server-load", default=str(ROOT / "build/bench/bench/server_load"))
    parser.add_argument("--vocabulary", type=int, default=49152, help="token ids of prompts are below (default: SmolLM2's)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--requests", type=int, default=96)
    parser.add_argument("--input", type=int, default=128, help="tokens of a prompt")
    parser.add_argument("--output", type=int, default=64, help="tokens of an answer")
    parser.add_argument("--chats", type=int, default=48, help="requests of a measurement of latency")
    parser.add_argument("--shares", type=lambda text: [float(x) for x in text.split(",")], default=[0.5],
                        help="of the greatest rate, with commas")
    parser.add_argument("--max-num-seqs", type=int, default=32)
    parser.add_argument("--max-num-batched-tokens", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=["overhead", "latency"])
    parser.add_argument("--serve", nargs=argparse.REMAINDER, default=[], help="further flags of millrace serve, last")
    args = parser.parse_args()
    server = Server(args)
    try:
        if args.only != "latency":
            overhead(args, server)
        if args.only != "overhead":
            latency(args, server)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
