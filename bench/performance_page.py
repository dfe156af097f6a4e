#!/usr/bin/env python3
"""Measures everything docs/performance.md shows and writes the page (./dev docs). Run it when nothing else runs.

    bench/performance_page.py                     measure, then write
    bench/performance_page.py --only sweep        measure what begins with this, then write from all that was ever measured
    bench/performance_page.py --render            write only

The reports, one JSON file a measurement, lie in docs/performance; each is made by the one command that the page shows. The pictures
beside them are drawn by the charts of the report page (web/report/make_pictures.mjs), which needs node and web/node_modules.
"""
import functools
import json
import pathlib
import shlex
import shutil
import subprocess

import measured_page
from measured_models import MILLRACE, ROOT, fill, shown
from measured_page import REPORTS, figure, load, table

TWO_GOALS = "--goodput ttft:200,tpot:25/ttft:1000,tpot:150"

# Section -> name of the report -> arguments of `millrace bench`.
SWEEPS = {
    "Load": {
        "sweep-rate": f"sweep --spawn default --axis request-rate --values 1,2,4,6,8,10,12,16 --point-seconds 8 --num-warmups 2 --input-len 128 --output-len 64 {TWO_GOALS}",
        "sweep-frontier": "sweep --spawn default --axis request-rate --values 8,16 --point-seconds 5 --num-warmups 2 --input-len 128 --output-len 64 --goodput ttft:200,tpot:25 --max-goodput 0.9",
        "sweep-rate-1b": f"sweep --spawn {{1b.q4_0.gguf}} --axis request-rate --values 0.25,0.5,1,2,3,4 --point-seconds 30 --input-len 128 --output-len 64 {TWO_GOALS}"},
    "At half of saturation: chunks, targets, policies": {
        "sweep-half": "sweep --spawn default --axis request-rate --values 0.5,2,4 --point-seconds 15 --num-warmups 2 --input-len 128 --output-len 64 --series default= "
                      "'chunks of 32=--max-num-batched-tokens 32' 'TPOT target 6 ms=--tpot-target-ms 6' 'prefill first=--scheduling-policy prefill-first'"},
    "The same load with short answers": {
        "sweep-half-short": "sweep --spawn default --axis request-rate --values 0.5,3,6,9,12,15 --point-seconds 12 --num-warmups 2 --input-len 128 --output-len 8"},
    "Batch size": {"sweep-batch": "sweep --spawn default --axis batch-size --values 1,2,4,8,16,32 --input-len 128 --output-len 64"},
    "Length of the prompt": {"sweep-prompt": "sweep --spawn default --axis prompt-length --num-prompts 8 --num-warmups 1 --output-len 8"},
    "Length of the answer": {"sweep-output": "sweep --spawn default --axis output-length --num-prompts 4 --num-warmups 1 --input-len 128"},
    "Static, dynamic and continuous batching": {
        "sweep-batching": "sweep --spawn default --axis request-rate --values 1,2,4,8 --point-seconds 10 --num-warmups 2 --series batching "
                          "--serve-args '--max-num-seqs 8' --input-len 16-64 --output-len 8-256:long"},
    "Scheduling policies": {
        "sweep-policies": f"sweep --spawn default --axis request-rate --values 4,8 --point-seconds 8 --num-warmups 2 --series policies --input-len 32-1024:long --output-len 8-128:long {TWO_GOALS}"},
    "Prefix cache": {
        "sweep-prefix": "sweep --spawn default --axis request-rate --values 2,4,8 --point-seconds 10 --num-warmups 4 --series prefix-caching --dataset-name shared-prefix --prefix-len 512 --num-prefixes 4 --input-len 32 --output-len 32"},
    "Speculation, one user whose answer is in the prompt": {
        "sweep-speculation": "sweep --spawn default --axis batch-size --values 1,4 --series speculation --dataset-name copy-heavy --backend openai-chat --input-len 80 --output-len 128"},
}
COMPARES = {
    "compare-bits": "compare '{millrace} serve {1b.bf16.gguf} --port {port}' '{millrace} serve {1b.q4_0.gguf} --port {port}' --names bf16 Q4_0 --users 1 "
                    "--num-prompts 3 --num-warmups 1 --input-len 64 --output-len 64 --rounds 6"}
DIRECT = "--shape prefill512 --shape decode64 --shape batch8 --rounds 3"
PEERS = {
    "peers-smollm2": f"peers {{default}} --peer llama.cpp --peer openvino {DIRECT}",
    "peers-135m-bf16": f"peers {{135m-bf16}} --peer vllm --peer transformers {DIRECT}",
    "peers-1b-q4_0": f"peers {{1b.q4_0.gguf}} --peer llama.cpp --peer openvino {DIRECT}",
    **{f"peers-1b-{storage}": f"peers {{1b.{storage}.gguf}} --peer llama.cpp --shape prefill512 --shape decode64 --rounds 3" for storage in ("q8_0", "q4_k", "bf16")},
    **{f"peers-{shape}-q4_0": f"peers {{{shape}.q4_0.gguf}} --peer llama.cpp --shape prefill512 --shape decode64 --rounds 3" for shape in ("gemma3-1b", "phi3-mini", "granite-2b")},
    "peers-qwen3-moe-1b-q4_0": f"peers {{qwen3-moe-1b.q4_0.gguf}} --peer llama.cpp {DIRECT}",
    "peers-gpt-oss-4l-mxfp4": f"peers {{gpt-oss-4l.mxfp4.gguf}} --peer llama.cpp {DIRECT}",
    "peers-batch32-smollm2": "peers {default} --peer llama.cpp --shape batch32 --rounds 2",
    "peers-batch32-1b-q4_0": "peers {1b.q4_0.gguf} --peer llama.cpp --peer openvino --shape batch32 --rounds 2",
    "peers-1b-directory-bf16": f"peers {{1b-bf16}} --peer vllm --peer transformers {DIRECT}",
    "peers-serving-smollm2": "peers {default} --peer llama.cpp --peer openvino --workload one-user --workload eight-users --workload offline --rounds 3",
    "peers-serving-135m-bf16": "peers {135m-bf16} --peer vllm --workload one-user --workload eight-users --workload offline --rounds 3",
    "peers-one-at-a-time": "peers {135m.q4_0.gguf} --peer transformers --peer-model transformers={135m-bf16} --workload offline --rounds 2",
    "peers-one-at-a-time-bf16": "peers {135m-bf16} --peer transformers --workload offline --rounds 2",
}
CHECK = {"self-check": "self-check", "self-check-2000": "self-check --streams 2000 --rate 10 --tokens 100"}


def all_commands():
    for reports in SWEEPS.values():
        yield from reports.items()
    for reports in (COMPARES, PEERS, CHECK):
        yield from reports.items()


def measure(only, prefix):
    for name, arguments in all_commands():
        if not name.startswith(only):
            continue
        words = shlex.split(fill(arguments.replace("{millrace}", str(MILLRACE))))
        flag = "--json" if name in PEERS or name in CHECK else "--output"
        quiet = [] if flag == "--json" else ["--no-progress"]
        measured_page.measure(name, [MILLRACE, "bench", *words, flag, REPORTS / f"{name}.json", *quiet], prefix)
        for folder in REPORTS.glob("*.points"):
            shutil.rmtree(folder)


def drawn():
    """The reports that have pictures."""
    names = [name for reports in (*SWEEPS.values(), COMPARES) for name in reports]
    return [REPORTS / f"{name}.json" for name in names if load(name)]


@functools.cache
def pictures():
    """Draws all of them anew, as what the page draws may have changed. By name of the report."""
    for old in REPORTS.glob("*.svg"):
        old.unlink()
    done = subprocess.run(["node", ROOT / "web/report/make_pictures.mjs", REPORTS, *drawn()], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def images(name):
    return [f"![{picture['title']}](performance/{picture['file']})" for picture in pictures()[name]] + [""]


def estimate(e):
    return f"{figure(e['value'])} ({figure(e['low'])}-{figure(e['high'])})" if e else "-"


def command_line(arguments):
    return f"`millrace bench {shown(arguments.replace('{port}', 'PORT'))}`"


def sweep(name, arguments):
    if not (report := load(name)):
        return []
    columns = [("TTFT p50 ms", "median_ttft_ms"), ("p99", "p99_ttft_ms"), ("TPOT p50 ms", "median_tpot_ms"), ("p99", "p99_tpot_ms"),
               ("latency p50 ms", "median_e2el_ms"), ("requests/s", "request_throughput"), ("output tok/s", "output_throughput"), ("MBU %", "mbu_percent")]
    rows = []
    for series in report["series"]:
        for point in series["points"]:
            metrics = point["metrics"]
            shares = [f"{100 * g['share']['value']:.0f} %" for g in point["goodput"] or []]
            rows.append((series["label"], figure(point["x"]), *(figure((metrics.get(m) or {}).get("value")) for _, m in columns), *shares, point["noise"]))
    goals = [f"within {' '.join(f'{k[:-3]} {v:g}' for k, v in g['slo'].items())} ms" for g in report["series"][0]["points"][0]["goodput"] or []]
    out = [command_line(arguments), "", *table(["", report["axis"]["label"].lower(), *(c for c, _ in columns), *goals, "machine"], rows)]
    for knee in report["knee"] or []:
        out += [f"**{knee['label']}** bends at {figure(knee['x'])}: {knee['why']}", ""]
    for found in report.get("max_goodput", report.get("frontier")) or []:
        rate = f"up to **{estimate(found['rate'])} requests/s**" if found["rate"] else "at no rate that was tried"
        out += [f"{100 * found['wanted_share']:.0f} % of the requests are within {found['objective']} {rate} ({len(found['tried'])} runs).", ""]
    return out + images(name)


def compares():
    out = []
    for name, arguments in COMPARES.items():
        if not (report := load(name)):
            continue
        a, b = (side["name"] for side in report["sides"])
        rows = [(v["metric"], figure(v["a"]), figure(v["b"]), estimate(v["ratio"]), v["verdict"]) for v in report["verdicts"]]
        out += [command_line(arguments), "", *table(["", a, b, f"{b} / {a} (95 %)", "verdict"], rows), *images(name)]
    return ["## 4 bits against 16, one user", "", *out] if out else []


def peers():
    out = []
    for name, arguments in PEERS.items():
        if not (report := load(name)):
            continue
        versions = {p["name"]: f"{p['name']} ({', '.join(filter(None, (p['version'], p['weights'])))})" for p in report["peers"]}
        rows = []
        for r in report["results"]:
            metrics = [r["metric"]] + [m for m in ("median_ttft_ms", "median_tpot_ms") if m in r["ratios"] and m != r["metric"]]
            for m in metrics:
                rows.append((r["peer"], r["workload"], m, *(figure(r["medians"][side][m]) for side in ("millrace", "peer")),
                             estimate(r["ratios"][m]), len(r["rounds"])))
        out += [f"### {pathlib.Path(report['model']).name} beside {', '.join(versions.values())}", "",
                command_line(arguments) + f", {report['threads']} threads, kernels {report['machine']['isa']}", "",
                *table(["peer", "workload", "figure", "millrace", "peer", "millrace / peer (min-max)", "rounds"], rows)]
        if notes := {r["workload"]: r["description"] for r in report["results"] if r.get("flags")}:
            out += [" ".join(f"`{w}`: {d}." for w, d in notes.items()), ""]
    return ["## Peers", "", "The same weights, the same threads, one run of each in turn. `prefillN`, `decodeN` and `batchN` call both engines directly; the named "
            "workloads go to their servers over HTTP. How each is set up: [bench.md](bench.md).", "", *out] if out else []


def self_check():
    out = []
    for name, arguments in CHECK.items():
        if not (report := load(name)):
            continue
        r = report["results"]
        rows = [(f"{f['name']} {f['unit']}", *(f"{f[key]:.3f}" for key in ("scripted", "server", "client")), f"{f['error_percent']:.3f}") for f in r["figures"]]
        out += [command_line(arguments), "", *table(["", "scripted", "what the server did", "measured", "error %"], rows),
                f"{r['streams']} streams, {r['events_s']:.0f} events/s; requests sent {r['send_lag_ms']['p50']:.3f} ms late at the median and {r['send_lag_ms']['p99']:.2f} at p99, "
                f"{100 * r['client_cpu_share']:.0f} % of a processor; the largest error is **{r['worst_percent']:.2f} %**.", ""]
    return ["## The generator itself: a server that answers at times known beforehand", "", *out] if out else []


def machine():
    report = next((r for name, _ in all_commands() if (r := load(name)) and r.get("machine")), None)
    if not report:
        return []
    m = report["machine"]
    return [f"{m['processor']}, {m['usable_cpus']} processors, {m['memory_bytes'] / 2**30:.0f} GiB of memory; kernels {m['isa']}, where a section names no others.", ""]


def lines():
    out = ["# Performance", "",
           "Written by `./dev docs` (`bench/performance_page.py`) from the reports in [performance/](performance), each made by the command shown; do not edit.",
           "The machine is a shared host whose bandwidth moves by half: **read ratios and shapes of curves, not absolute figures**. In brackets: intervals.",
           "The engine alone, its kernels and their shares of the machine's limits: [kernel_performance.md](kernel_performance.md). What each figure means: "
           "[loadtest.md](loadtest.md).", "", *machine(),
           measured_page.commits(name for name, _ in all_commands()), "", *peers(), *compares()]
    for title, reports in SWEEPS.items():
        lines = [line for name, arguments in reports.items() for line in sweep(name, arguments)]
        out += [f"## {title}", "", *lines] if lines else []
    return out + self_check()


if __name__ == "__main__":
    measured_page.main(__doc__, measure, lines, "docs/performance.md")
