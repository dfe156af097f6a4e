"""Writes reports as `millrace bench` does (docs/bench_reports.md), from a small simulated server: what the page is developed and tested with.

    make_samples.py DIRECTORY [--requests N] [--only serve]

The same seed writes the same bytes. The figures are nobody's measurements.
"""
import argparse
import bisect
import json
import math
import pathlib
import random

SLOS = [{"ttft_ms": 400.0, "tpot_ms": 60.0}, {"ttft_ms": 1500.0, "tpot_ms": 90.0}, {"e2el_ms": 4000.0}]
PAGES, PAGE_TOKENS, BUDGET, MOST = 400, 32, 512, 24
MACHINE = {"processor": "EPYC 9B14", "features": ["avx2", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16"], "threads": 2,
           "usable_cpus": 2, "memory_bytes": 25_200_000_000}


def common(kind, *command):
    return {"schema": f"millrace.bench.{kind}", "schema_version": 1,
            "millrace": {"version": "0.1.0", "commit": "1a2b3c4d5e", "build": "release, g++ 12.2"}, "machine": MACHINE,
            "command": ["millrace", "bench", kind, *command], "date": "2026-11-22T17:40:00Z"}


def quantile(values, share):
    values = sorted(values)
    if not values:
        return None
    at = share * (len(values) - 1)
    below = int(at)
    return values[below] + (values[min(below + 1, len(values) - 1)] - values[below]) * (at - below)


def wilson(good, count):
    if count == 0:
        return {"value": 0.0, "low": 0.0, "high": 1.0}
    z, share = 1.96, good / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return {"value": share, "low": max(0.0, middle - half), "high": min(1.0, middle + half)}


def estimate(value, spread):
    return {"value": value, "low": value * (1 - spread), "high": value * (1 + spread)}


class Server:
    """Continuous batching with chunked prefill: one step at a time, each as long as what it holds."""

    def __init__(self, draw, requests):
        self.draw, self.waiting, self.running, self.steps = draw, [], [], []
        self.todo = sorted(requests, key=lambda r: r["sent"])
        self.now = 0.0
        while self.todo or self.waiting or self.running:
            self.step()

    def step(self):
        while self.todo and self.todo[0]["sent"] <= self.now:
            self.waiting.append(self.todo.pop(0))
        if not self.waiting and not self.running:
            self.now = self.todo[0]["sent"]
            return
        used = sum(-(-(r["done"] + r["made"]) // PAGE_TOKENS) for r in self.running)
        preempted = 0
        while used > PAGES and len(self.running) > 1:
            victim = self.running.pop()
            used -= -(-(victim["done"] + victim["made"]) // PAGE_TOKENS)
            victim["phases"][-1][2] = self.now
            victim["phases"].append(["queue", self.now, None, 0])
            victim["done"] = 0
            self.waiting.insert(0, victim)
            preempted += 1
        budget = BUDGET - sum(1 for r in self.running if r["made"])
        while self.waiting and len(self.running) < MOST and used + self.waiting[0]["prompt"] // PAGE_TOKENS < PAGES and not preempted:
            arrived = self.waiting.pop(0)
            arrived["phases"][-1][2] = self.now
            arrived["phases"].append(["prefill", self.now, None, arrived["prompt"] - arrived["cached"]])
            arrived["done"] = arrived["cached"]
            used += arrived["prompt"] // PAGE_TOKENS
            self.running.append(arrived)
        chunks, decoding = {}, [r for r in self.running if r["done"] >= r["prompt"]]
        for r in self.running:
            if r["done"] < r["prompt"] and budget > 0:
                chunks[r["index"]] = min(budget, r["prompt"] - r["done"])
                budget -= chunks[r["index"]]
        seconds = (0.012 + 0.00021 * sum(chunks.values()) + 0.0011 * len(decoding)) * self.draw.lognormvariate(0, 0.06)
        self.steps.append([self.now, seconds * 1e3, sum(chunks.values()), len(decoding), len(self.running), len(self.running),
                           len(self.waiting), used, PAGES - used, preempted])
        self.now += seconds
        for r in list(self.running):
            if r["index"] in chunks:
                r["done"] += chunks[r["index"]]
                if r["done"] < r["prompt"]:
                    continue
                r["phases"][-1][2] = self.now
                r["phases"].append(["decode", self.now, None, 0])
            elif r not in decoding:
                continue
            if r["made"] < r["output"]:
                r["made"] += 1
                r["events"].append(self.now)
                r["phases"][-1][3] += 1
            if r["made"] >= r["output"]:
                r["phases"][-1][2] = self.now
                self.running.remove(r)


def figures(report, name, values):
    values = [v * 1e3 for v in values]
    mean = sum(values) / len(values)
    report.update({f"mean_{name}_ms": mean, f"median_{name}_ms": quantile(values, 0.5),
                   f"std_{name}_ms": math.sqrt(sum((v - mean) ** 2 for v in values) / len(values))})
    for percent in (90, 95, 99):
        report[f"p{percent}_{name}_ms"] = quantile(values, percent / 100)


def causes(phases):
    """Milliseconds by cause; of its own and of other requests' tokens by a rule of thumb."""
    spent = {name: sum(end - start for phase, start, end, _ in phases if phase == name) * 1e3 for name in ("queue", "prefill", "decode")}
    shared = {"prefill": ("prefill_shared", 0.15), "decode": ("decode_batch", 0.4)}
    out = {"queue": spent["queue"]}
    for name, (other, part) in shared.items():
        out.update({name: spent[name] * (1 - part), other: spent[name] * part})
    return {name: ms for name, ms in out.items() if ms > 0}


def serve(count, rate, seed=1):
    draw = random.Random(seed)
    requests, due = [], 0.0
    for index in range(count):
        warmup = index < 4
        due = 0.0 if index <= 4 else due + draw.expovariate(rate) * (0.35 if 0.4 < index / count < 0.6 else 1.3)
        prompt = int(min(3000, max(16, draw.lognormvariate(5.6, 0.9))))
        at = due + abs(draw.gauss(0.0, 0.0004)) - (6.0 - index if warmup else 0.0)
        requests.append({"index": index, "warmup": warmup, "due": due if not warmup else at, "sent": at, "prompt": prompt,
                         "cached": (prompt // 32) * 16 if draw.random() < 0.3 else 0,
                         "output": int(min(400, max(2, draw.lognormvariate(3.9, 0.7)))), "made": 0, "done": 0, "events": [],
                         "phases": [["queue", at, None, 0]]})
    refused = {r["index"] for r in requests[5:] if draw.random() < 0.012}
    server = Server(draw, [r for r in requests if r["index"] not in refused])
    rows, good, itls, wire = [], [], [], 0.0009
    for r in requests:
        row = {"index": r["index"], "session": r["index"], "turn": 0, "warmup": r["warmup"], "due": r["due"], "sent": r["sent"],
               "first_byte": None, "first_token": None, "last_token": None, "ended": r["sent"] + 0.004, "prompt_tokens": None,
               "cached_tokens": None, "output_tokens": None, "outcome": "refused", "status": 429,
               "error": "429: the queue is full (limit 256 requests)", "id": "", "finish_reason": "", "good": [], "phases": None}
        if r["events"] and r["index"] % 97 == 41:
            row.update(outcome="cut", status=200, error="the connection ended after %d events" % (len(r["events"]) // 2),
                       first_byte=r["events"][0], first_token=r["events"][0], ended=r["events"][len(r["events"]) // 2])
        elif r["events"]:
            events = [t + wire + draw.random() * 3e-4 for t in r["events"]]
            ttft, latency = events[0] - r["due"], events[-1] - r["due"]
            tpot = (events[-1] - events[0]) / (len(events) - 1)
            met = [i for i, slo in enumerate(SLOS) if ttft * 1e3 <= slo.get("ttft_ms", 1e12) and tpot * 1e3 <= slo.get("tpot_ms", 1e12)
                   and latency * 1e3 <= slo.get("e2el_ms", 1e12)]
            row.update(first_byte=events[0] - 0.0002, first_token=events[0], last_token=events[-1], ended=events[-1] + 0.0003,
                       prompt_tokens=r["prompt"], cached_tokens=r["cached"], output_tokens=len(events), outcome="whole", status=200,
                       error="", id=f"cmpl-{r['index']:06x}", finish_reason="length", good=met,
                       phases=[{"phase": p, "start": a, "end": b, "tokens": n} for p, a, b, n in r["phases"]],
                       causes=causes(r["phases"]))
            if not r["warmup"]:
                gaps = [b - a for a, b in zip(events, events[1:])]
                itls.append((events[1:], gaps))
                good.append({"ttft": ttft, "tpot": tpot, "e2el": latency, "gaps": gaps, "out": len(events), "row": row})
        rows.append(row)
    counted = [row for row in rows if not row["warmup"]]
    seconds = max(row["ended"] for row in counted)
    report = common("serve", "--model", "smollm2-135m-instruct", "--base-url", "http://127.0.0.1:8000", "--workload", "lognormal",
                    "--num-prompts", str(count - 4), "--request-rate", str(rate), "--goodput", "ttft:400,tpot:60/ttft:1500,tpot:90/e2el:4000",
                    "--seed", str(seed), "--report", "r.html")
    report.update(backend="openai", label="main", model_id="smollm2-135m-instruct", tokenizer_id="smollm2-135m-instruct", num_prompts=count - 4,
                  request_rate=rate, burstiness=1.0, max_concurrency=None, duration=seconds, completed=len(good),
                  failed=len(counted) - len(good), total_input_tokens=sum(g["row"]["prompt_tokens"] for g in good),
                  total_output_tokens=sum(g["out"] for g in good))
    output = report["total_output_tokens"] / seconds
    report.update(request_throughput=len(good) / seconds, output_throughput=output,
                  total_token_throughput=output + report["total_input_tokens"] / seconds,
                  max_concurrent_requests=max(s[5] + s[6] for s in server.steps))
    for name in ("ttft", "tpot", "e2el"):
        figures(report, name, [g[name] for g in good])
    figures(report, "itl", [gap for g in good for gap in g["gaps"]])
    report["estimates"] = {f"{kind}_{name}_ms": estimate(report[f"{kind}_{name}_ms"], spread * (1.4 if name == "ttft" else 0.5))
                           for name in ("ttft", "tpot", "itl", "e2el") for kind, spread in (("median", 0.08), ("p99", 0.16))}
    for name in ("request_throughput", "output_throughput", "total_token_throughput"):
        report["estimates"][name] = estimate(report[name], 0.035)
    report["goodput"] = []
    for i, slo in enumerate(SLOS):
        met = [g for g in good if i in g["row"]["good"]]
        report["goodput"].append({"slo": slo, "share": wilson(len(met), len(counted)), "requests_s": len(met) / seconds,
                                  "tokens_s": sum(g["out"] for g in met) / seconds})
    report["request_goodput"] = report["goodput"][0]["requests_s"]
    report["input_lens"] = [r["prompt"] for r in requests if not r["warmup"]]
    report["output_lens"] = [row["output_tokens"] or 0 for row in counted]
    report["ttfts"] = [row["first_token"] - row["due"] if row["first_token"] else 0.0 for row in counted]
    by_index = {g["row"]["index"]: g["gaps"] for g in good}
    report["itls"] = [by_index.get(row["index"], []) for row in counted]
    report["start_times"] = [row["sent"] for row in counted]
    report["errors"] = [row["error"] for row in counted]
    report["target"] = {"url": "http://127.0.0.1:8000", "spawned": ["millrace", "serve", "smollm2-135m-instruct", "--trace-file", "t.json"],
                        "server": "millrace", "version": "0.1.0"}
    report["load"] = {"kind": "open", "workload": "lognormal", "arrivals": "poisson", "users": None, "think_s": None, "sessions": count - 4,
                      "turns": 1, "warmup": 4, "seed": seed, "stopped": False}
    lag = [(row["sent"] - row["due"]) * 1e3 for row in counted]
    report["client"] = {"cpu_share": 0.034, "cpu_seconds": 0.034 * seconds,
                        "send_lag_ms": {"mean": sum(lag) / len(lag), "p50": quantile(lag, 0.5), "p90": quantile(lag, 0.9),
                                        "p99": quantile(lag, 0.99), "max": max(lag)}}
    mbu = [min(84.0, 31.0 + 2.3 * s[3]) * draw.uniform(0.97, 1.0) if s[3] else 9.0 for s in server.steps]
    report["server"] = {"model_bytes": 98_000_000, "kv_bytes_per_token": 23_040, "kv_capacity_tokens": PAGES * PAGE_TOKENS,
                        "resident_peak_bytes": 1_034_000_000, "cpu_seconds": seconds * 1.87, "mbu_percent": sum(mbu) / len(mbu),
                        "mfu_percent": 31.4, "read_gb_s": 58.1, "peak_gop_s": 941.0, "energy_joules": None,
                        "counters": {"prompt_tokens": report["total_input_tokens"], "generation_tokens": report["total_output_tokens"],
                                     "cached_tokens": sum(g["row"]["cached_tokens"] for g in good), "preemptions": sum(s[9] for s in server.steps),
                                     "drafts": 0, "accepted": 0}}
    ticks = [i * 0.5 for i in range(int(seconds * 2) + 1)]
    begun = [s[0] for s in server.steps]
    place = lambda t: max(0, bisect.bisect_right(begun, t) - 1)
    at = lambda t: server.steps[place(t)]
    window = lambda t, column: sum(s[column] for s in server.steps[bisect.bisect_right(begun, t - 0.5):bisect.bisect_right(begun, t)]) * 2.0
    stride = max(1, len(ticks) // 400)
    ticks = ticks[::stride]
    report["samples"] = {"t": ticks, "running": [at(t)[5] for t in ticks], "waiting": [at(t)[6] for t in ticks],
                         "kv_used": [at(t)[7] / PAGES for t in ticks], "prefill_tok_s": [window(t, 2) for t in ticks],
                         "decode_tok_s": [window(t, 3) for t in ticks],
                         "mbu_percent": [mbu[place(t)] for t in ticks],
                         "resident_bytes": [1_000_000_000 + 34_000_000 * min(1.0, t / 20) for t in ticks]}
    names = ("t", "ms", "prefill_tokens", "decode_tokens", "sequences", "running", "waiting", "pages_used", "pages_free", "preempted")
    report["steps"] = {name: [s[i] for s in server.steps] for i, name in enumerate(names)}
    report["requests"] = rows
    columns = [seconds * i / 40 for i in range(41)]
    levels = [8 * 1.35 ** i for i in range(15)]
    counts = [[0] * 40 for _ in range(14)]
    for times, gaps in itls:
        for t, gap in zip(times, gaps):
            row = int(math.log(max(gap * 1e3, 8.0) / 8) / math.log(1.35))
            counts[min(row, 13)][min(39, int(t / seconds * 40))] += 1
    report["itl_heat"] = {"t": columns, "ms": levels, "counts": counts}
    report["noise"] = {"steal_percent": 2.7, "other_cpu_percent": 11.0, "load_average": 2.4,
                       "frequency_mhz": {"min": 2596, "median": 3394, "max": 3700}, "throttled_s": None, "read_gb_s_before": 58.1,
                       "read_gb_s_after": 49.6, "verdict": "noisy",
                       "reasons": ["other processes took 11 % of the processors", "read bandwidth fell from 58.1 to 49.6 GB/s during the run"]}
    return report


def metrics_at(rate, best, draw):
    load = rate / best
    wait = 1 / max(0.06, 1 - load) if load < 1 else 17 + 160 * (load - 1)
    spread = 0.03 + 0.1 * min(load, 1.5)
    done = min(rate, best * 0.99)
    shaky = lambda value, by=spread: estimate(value * draw.lognormvariate(0, by / 4), by)
    return {"median_ttft_ms": shaky(38 * (1 + 0.35 * (wait - 1))), "p99_ttft_ms": shaky(110 * (1 + 0.9 * (wait - 1)), spread * 1.7),
            "median_tpot_ms": shaky(16 + 38 * min(load, 1.05) ** 2, 0.03), "p99_tpot_ms": shaky(24 + 70 * min(load, 1.05) ** 2, 0.08),
            "median_itl_ms": shaky(15 + 36 * min(load, 1.05) ** 2, 0.03), "p99_itl_ms": shaky(60 + 130 * min(load, 1.05), 0.1),
            "median_e2el_ms": shaky(1050 + 2400 * min(load, 1.05) ** 2 + 12 * (wait - 1), 0.05),
            "p99_e2el_ms": shaky(3100 + 7000 * min(load, 1.05) ** 2 + 80 * (wait - 1), 0.11),
            "request_throughput": shaky(done, 0.02), "output_throughput": shaky(done * 64, 0.025),
            "total_token_throughput": shaky(done * 410, 0.025), "mbu_percent": shaky(min(74, 18 + 60 * load), 0.04),
            "cached_share": shaky(0.22, 0.05), "resident_peak_bytes": shaky(9.4e8 + 1.1e8 * min(load, 1), 0.004)}


def sweep():
    draw = random.Random(3)
    report = common("sweep", "--model", "smollm2-135m-instruct", "--request-rate", "1,2,4,6,8,10,12,14,16", "--goodput", "ttft:200,tpot:40/ttft:1000,tpot:60")
    report["axis"] = {"name": "request_rate", "unit": "1/s", "label": "Requests a second", "scale": "log"}
    report["point_size"] = "as many requests as are due in 30 s (--point-seconds), at least 20"
    slos = [{"ttft_ms": 200, "tpot_ms": 40}, {"ttft_ms": 1000, "tpot_ms": 60}]
    report["series"] = []
    for label, best in (("fcfs", 11.5), ("fair", 10.4), ("prefill-first", 9.2)):
        points = []
        for rate in (1, 2, 4, 6, 8, 10, 12, 14, 16):
            share = [1 / (1 + math.exp((rate / best - bend) * 16)) for bend in (0.72, 0.98)]
            points.append({"x": rate, "stopped": rate == 16 and label == "prefill-first", "runs": 3, "requests": 3 * max(20, 30 * rate), "metrics": metrics_at(rate, best, draw),
                           "goodput": [{"slo": slo, "share": wilson(round(s * 600), 600), "requests_s": s * min(rate, best),
                                        "tokens_s": s * min(rate, best) * 64} for slo, s in zip(slos, share)],
                           "noise": "noisy" if rate == 6 and label == "fair" else "quiet"})
        report["series"].append({"label": label, "points": points})
    report["plots"] = [{"title": "Time to first token", "metrics": ["median_ttft_ms", "p99_ttft_ms"], "unit": "ms", "scale": "log"},
                       {"title": "Time per output token", "metrics": ["median_tpot_ms", "p99_tpot_ms"], "unit": "ms", "scale": "linear"},
                       {"title": "Latency", "metrics": ["median_e2el_ms", "p99_e2el_ms"], "unit": "ms", "scale": "log"},
                       {"title": "Output throughput", "metrics": ["output_throughput"], "unit": "tok/s", "scale": "linear"},
                       {"title": "Memory bandwidth used", "metrics": ["mbu_percent"], "unit": "%", "scale": "linear"},
                       {"title": "Peak memory", "metrics": ["resident_peak_bytes"], "unit": "bytes", "scale": "linear"}]
    report["knee"] = [{"label": label, "x": x, "why": f"above {x} requests a second the p99 latency grows faster than the throughput"}
                      for label, x in (("fcfs", 10), ("fair", 10), ("prefill-first", 8))]
    tried = [(1, 600), (16, 4), (8, 572), (12, 60), (10, 388), (9, 501)]
    found = lambda label, slo, rate, more=0: {"label": label, "slo": slo, "wanted_share": 0.95, "rate": rate, "tried": [
        {"rate": r, "share": wilson(min(600, g + more), 600), "met": g + more >= 570} for r, g in tried]}
    report["frontier"] = [found("fcfs", slos[0], {"value": 8.0, "low": 7.6, "high": 8.5}),
                          found("fcfs", slos[1], {"value": 9.7, "low": 9.4, "high": 10.0}, 60),
                          found("fair", slos[0], {"value": 7.2, "low": 6.9, "high": 7.9}, -4),
                          {"label": "prefill-first", "slo": {"ttft_ms": 20}, "wanted_share": 0.99, "rate": None,
                           "tried": [{"rate": 1, "share": wilson(11, 600), "met": False}]}]
    return report


def compare():
    draw = random.Random(5)
    report = common("compare", "--a", "http://127.0.0.1:8000", "--b", "http://127.0.0.1:8001", "--rounds", "8")
    report["sides"] = [{"name": "main", "target": "http://127.0.0.1:8000", "millrace_version": "0.1.0+1a2b3c4"},
                       {"name": "fused-rope", "target": "http://127.0.0.1:8001", "millrace_version": "0.1.0+9f8e7d6"}]
    changes = {"median_ttft_ms": (142.0, 1.012, 0.03, "lower"), "p99_ttft_ms": (610.0, 1.061, 0.09, "lower"),
               "median_tpot_ms": (24.1, 0.914, 0.012, "lower"), "p99_tpot_ms": (41.0, 0.93, 0.03, "lower"),
               "median_itl_ms": (23.2, 0.917, 0.012, "lower"), "p99_itl_ms": (88.0, 0.988, 0.04, "lower"),
               "median_e2el_ms": (1690.0, 0.93, 0.015, "lower"), "p99_e2el_ms": (5120.0, 1.003, 0.012, "lower"),
               "output_throughput": (498.0, 1.071, 0.01, "higher"), "resident_peak_bytes": (1.034e9, 1.047, 0.002, "lower")}
    report["rounds"] = []
    for i in range(8):
        drift = draw.lognormvariate(0, 0.04)
        side = lambda factor: {name: base * (ratio if factor else 1) * drift * draw.lognormvariate(0, spread)
                               for name, (base, ratio, spread, _) in changes.items()}
        report["rounds"].append({"order": "AB" if i % 2 == 0 else "BA", "a": side(0), "b": side(1),
                                 "noise": {"verdict": "noisy" if i == 5 else "quiet", "steal_percent": 1.0 + (i == 5) * 6.0,
                                           "reasons": ["the hypervisor took 7 % of the processors"] if i == 5 else []}})
    report["verdicts"] = []
    for name, (base, ratio, spread, better) in changes.items():
        ratios = [r["b"][name] / r["a"][name] for r in report["rounds"]]
        value, half = quantile(ratios, 0.5), spread * 1.1
        low, high = value - half, value + half
        verdict, why = "undecided", f"the interval holds both no change and a change above the threshold: {len(ratios)} rounds are too few"
        if low > 1.02 or high < 0.98:
            worse = (low > 1) == (better == "lower")
            verdict = "B worse" if worse else "B better"
            why = "the whole interval lies beyond 2 %, and beyond what one side differs from itself"
        elif low > 0.98 and high < 1.02:
            verdict, why = "equal", "the whole interval lies within 2 %"
        report["verdicts"].append({"metric": name, "unit": "bytes" if "bytes" in name else "ms" if name.endswith("_ms") else "tok/s",
                                   "better": better, "a": quantile([r["a"][name] for r in report["rounds"]], 0.5),
                                   "b": quantile([r["b"][name] for r in report["rounds"]], 0.5),
                                   "ratio": {"value": value, "low": low, "high": high}, "noise_ratio": spread * 1.4, "verdict": verdict,
                                   "why": why})
    report.update(verdict="regression", threshold_percent=2.0)
    return report


def peers():
    draw = random.Random(9)
    report = common("peers", "--model", "smollm2-135m-instruct", "--peers", "llama.cpp,vllm")
    report["peers"] = [{"name": "millrace", "version": "0.1.0", "model": "SmolLM2-135M-Instruct", "weights": "Q4_1", "command": ["millrace", "serve", "smollm2"]},
                       {"name": "llama.cpp", "version": "b7342", "model": "SmolLM2-135M-Instruct", "weights": "Q4_1", "command": ["llama-server", "-m", "smollm2.gguf"]},
                       {"name": "vllm", "version": "0.11.2", "model": "SmolLM2-135M-Instruct", "weights": "bfloat16", "command": ["vllm", "serve", "smollm2"]}]
    report["workloads"] = [{"name": "chat", "description": "256 tokens in, 64 out, 4 requests a second", "flags": ["--request-rate", "4"]},
                           {"name": "long-prompt", "description": "2,048 tokens in, 32 out, 1 user", "flags": ["--max-concurrency", "1"]},
                           {"name": "shared-prefix", "description": "one of 8 prefixes of 1,024 tokens, 8 users", "flags": ["--max-concurrency", "8"]}]
    base = {"median_ttft_ms": 96.0, "p99_ttft_ms": 420.0, "median_tpot_ms": 17.2, "output_throughput": 240.0}
    report["results"] = []
    for peer, factor in (("llama.cpp", 0.71), ("vllm", 0.38)):
        for i, load in enumerate(report["workloads"]):
            rounds, ratios = [], {}
            for _ in range(5):
                ours = {name: value * (1 + i * 0.6) * draw.lognormvariate(0, 0.04) for name, value in base.items()}
                theirs = {name: value / (1 / (factor + 0.09 * i) if name == "output_throughput" else factor + 0.09 * i) * draw.lognormvariate(0, 0.05)
                          for name, value in ours.items()}
                rounds.append({"millrace": ours, "peer": theirs})
            for name in base:
                each = sorted(r["millrace"][name] / r["peer"][name] for r in rounds)
                ratios[name] = {"value": each[2], "low": each[0], "high": each[4]}
            report["results"].append({"peer": peer, "workload": load["name"], "rounds": rounds, "ratios": ratios})
    return report


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}") if abs(value) < 1 else round(value, 4)
    if isinstance(value, list):
        return [rounded(v) for v in value]
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=130)
    parser.add_argument("--rate", type=float, default=4.0)
    parser.add_argument("--only", choices=("serve", "sweep", "compare", "peers"))
    args = parser.parse_args()
    makers = {"serve": lambda: serve(args.requests + 4, args.rate), "sweep": sweep, "compare": compare, "peers": peers}
    for name, make in makers.items():
        if args.only in (None, name):
            text = json.dumps(rounded(make()), separators=(",", ":"))
            (args.directory / f"{name}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
