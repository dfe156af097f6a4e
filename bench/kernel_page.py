#!/usr/bin/env python3
"""Measures everything docs/kernel_performance.md shows and writes the page (./dev docs). Run it when nothing else runs.

    bench/kernel_page.py                     measure, then write
    bench/kernel_page.py --only latency      measure what begins with this, then write from all that was ever measured
    bench/kernel_page.py --render            write only

The reports, one JSON file a measurement, lie in docs/performance; each is made by the one command that the page shows.
"""
import pathlib
import shlex
import subprocess

import measured_page
from measured_models import MILLRACE, fill, shown
from measured_page import REPORTS, load, table

THROUGHPUT_OF_LONG_TAILS = ("throughput default --requests 48 --concurrency 48 --max-num-seqs 8 --input-tokens 16-64 "
                            "--output-tokens 8-512:long ")
# name of the report -> arguments of `millrace bench` before --json; {NAME} is the path of a model above.
BENCHES = {
    "kernels-linear": "kernels --op linear --format all --rows 1,4,16,512 --min-time 0.1 --repeats 2",
    "kernels-avx2-linear": "kernels --op linear --format all --cpu-isa avx2 --rows 1,4,16,512 --min-time 0.1 --repeats 2",
    "kernels-blocks": "kernels --op mlp,project_attention --format q4_0,q4_k,q8_0,bf16 --shape 16384x2048 --rows 1,8,32,512 --min-time 0.1 --repeats 2",
    "kernels-attention": "kernels --op attention --rows 1,8,512 --context 512,4096 --kv-cache-dtype {KV} --min-time 0.1 --repeats 2",
    "kernels-attention-128": "kernels --op attention --heads 32:8:128 --rows 1,8192 --context 8192,16384 --kv-cache-dtype bf16,int8 --min-time 0.3 --repeats 3",
    "kernels-attention-64": "kernels --op attention --heads 32:8:64 --rows 1,8192 --context 8192,16384 --kv-cache-dtype bf16,int8 --min-time 0.3 --repeats 3",
    **{f"kernels-avx2-attention-{dim}": f"kernels --op attention --heads 32:8:{dim} --cpu-isa avx2 --rows 1,8192 --context 8192,16384 "
                                        "--kv-cache-dtype bf16,int8 --min-time 0.1 --repeats 2" for dim in (128, 64)},
    "kernels-rest": "kernels --op norm,activation,rope,quantize --rows 1,32,512 --min-time 0.05 --repeats 1",
    "latency-smollm2": "latency default --batch 1,8,32,48 --prompt-tokens 128 --output-tokens 128 --runs 3",
    "latency-smollm2-long": "latency default --prompt-tokens 2048 --output-tokens 64 --runs 3",
    "latency-1b-q4_0": "latency {1b.q4_0.gguf} --batch 1,8,32 --prompt-tokens 128 --output-tokens 64 --runs 3",
    **{f"latency-1b-long-{storage}": f"latency {{1b.{storage}.gguf}} --prompt-tokens 512 --output-tokens 32 --runs 3"
       for storage in ("q4_0", "q4_1", "q4_k", "q8_0", "bf16")},
    **{f"latency-1b-as-{method}": f"latency {{1b.bf16.gguf}} --quantization {method} --prompt-tokens 512 --output-tokens 32 --runs 3"
       for method in ("w8a8", "q8_0", "q4_k", "int4-g128", "nf4", "fp8")},
    "latency-smollm2-512": "latency default --prompt-tokens 512 --output-tokens 64 --runs 3",
    "latency-avx2-smollm2": "latency default --cpu-isa avx2 --batch 1,8,32 --prompt-tokens 128 --output-tokens 64 --runs 3",
    "latency-avx2-smollm2-512": "latency default --cpu-isa avx2 --prompt-tokens 512 --output-tokens 64 --runs 2",
    "latency-avx2-1b-q4_0": "latency {1b.q4_0.gguf} --cpu-isa avx2 --batch 1,8,32 --prompt-tokens 32 --output-tokens 16 --runs 2",
    **{f"latency-avx2-1b-long-{storage}": f"latency {{1b.{storage}.gguf}} --cpu-isa avx2 --prompt-tokens 512 --output-tokens 32 --runs 2"
       for storage in ("q4_0", "q4_1", "q4_k", "q8_0", "bf16")},
    "throughput-long-continuous": THROUGHPUT_OF_LONG_TAILS + "--batching continuous",
    "throughput-long-dynamic": THROUGHPUT_OF_LONG_TAILS + "--batching dynamic",
    "throughput-long-static": THROUGHPUT_OF_LONG_TAILS + "--batching static",
    "throughput-smollm2": "throughput default --requests 96 --concurrency 32 --input-tokens 32-256 --output-tokens 16-128",
}

def kv_dtypes():
    """Those this build knows, from its own help."""
    text = subprocess.run([MILLRACE, "bench", "kernels", "--op", "norm", "--kv-cache-dtype", "none"], capture_output=True, text=True).stderr
    return text.split("expected some of ")[1].strip().replace(" ", "")


def measure(only, prefix):
    if "doctor".startswith(only):
        measured_page.measure("doctor", [MILLRACE, "doctor", "--json"], prefix, to_stdout=True)
    for name, arguments in BENCHES.items():
        if not name.startswith(only):
            continue
        arguments = fill(arguments.replace("{KV}", kv_dtypes()) if "{KV}" in arguments else arguments)
        measured_page.measure(name, [MILLRACE, "bench", *shlex.split(arguments), "--json", REPORTS / f"{name}.json"], prefix)


def figure(value):
    return measured_page.figure(value or None)


def spread(s):
    return f"{figure(s['median'])} ({figure(s['min'])}-{figure(s['max'])})"


def percent(s):
    return f"{s['median']:.0f}" if s else "-"


def limits_line(report):
    units = {"read_gb_s": "read {} GB/s", "read_sustained_gb_s": "{} sustained", "f32_gflop_s": "f32 {} GFLOP/s", "int8_gop_s": "int8 {} GOP/s", "bf16_gflop_s": "bf16 {} GFLOP/s"}
    return "Limits meanwhile, median (min-max): " + ", ".join(
        text.format(spread(report["limits"][name])) for name, text in units.items() if report["limits"].get(name)) + "."


def machine_section(doctor):
    if not doctor:
        return []
    cpu, memory = doctor["cpu"], doctor["memory"]
    rows = [(m["threads"], figure(m["read_gb_s"]), figure(m["f32_gflop_s"]), figure(m["int8_gop_s"]), figure(m["bf16_gflop_s"]))
            for m in doctor["limits"]]
    return ["## The machine (`millrace doctor`)", "",
            f"{cpu['model']}, {cpu['usable_cpus']} processors, L2 {cpu['l2_bytes'] >> 10} KiB a core, L3 {cpu['l3_bytes'] >> 20} MiB, "
            f"{memory['total_bytes'] / 2**30:.0f} GiB of memory; kernels {cpu['isa']}.", "",
            *table(["threads", "read GB/s", "f32 GFLOP/s", "int8 GOP/s", "bf16 GFLOP/s"], rows)]


def command_line(arguments):
    return f"`millrace bench {shown(arguments)}`"


def latency_section():
    out = []
    for name in (n for n in BENCHES if n.startswith("latency")):
        if not (report := load(name)):
            continue
        rows = [(r["batch"], spread(r["ttft_ms"]), figure(r["prefill_tok_s"]["median"]), percent(r["prefill_mfu_percent"]),
                 spread(r["tpot_ms"]), figure(r["decode_tok_s"]["median"]), percent(r["mbu_percent"]), percent(r["decode_mfu_percent"]),
                 figure(1000 * r["outside_ms"]["median"]),
                 figure(r["memory"]["resident_bytes"] / 1e6),
                 figure((r["memory"]["packed_weight_bytes"] + r["memory"]["kv_pool_bytes"]) / 1e6)) for r in report["results"]]
        model, options = report["model"], report["options"]
        method = BENCHES[name].partition(" --quantization ")[2]
        loaded_as = f" as {method.split()[0]}" if method else ""
        out += [f"### {pathlib.Path(model['path']).name}{loaded_as}, {options['prompt_tokens']} prompt and {options['output_tokens']} output tokens", "",
                f"{command_line(BENCHES[name])}; {model['weights']}, cache in {model['kv_cache_dtype']}", "",
                *table(["batch", "TTFT ms", "prefill tok/s", "prefill MFU %", "TPOT ms", "decode tok/s", "MBU %", "decode MFU %", "outside us", "resident MB",
                        "weights and pages MB"], rows), limits_line(report), ""]
    return ["## Latency", "", *out] if out else []


def throughput_section():
    out = []
    for name in (n for n in BENCHES if n.startswith("throughput")):
        if not (report := load(name)):
            continue
        r = report["results"]
        rows = [(label, *(figure(r[key][q]) for q in ("mean", "p50", "p90", "p99", "max")))
                for label, key in (("TTFT ms", "ttft_ms"), ("TPOT ms", "tpot_ms"), ("latency ms", "latency_ms"))]
        out += [f"{command_line(BENCHES[name])}", "",
                f"{r['requests']} requests, {r['input_tokens']} input and {r['output_tokens']} output tokens in {r['seconds']:.1f} s: "
                f"**{figure(r['total_tok_s'])} tok/s**, {figure(r['output_tok_s'])} of them output; MFU {r['mfu_percent']:.0f} %; {r['steps']} steps of "
                f"{figure(r['mean_step_tokens'])} tokens.", "", *table(["", "mean", "p50", "p90", "p99", "max"], rows), limits_line(report), ""]
    return ["## Throughput", "", *out] if out else []


def linear_tables(report):
    """A row a format; for each number of rows the share of the nearer limit: bandwidth at few rows, arithmetic at many."""
    counts = sorted({r["rows"] for r in report["results"]})
    formats = list(dict.fromkeys(r["format"] for r in report["results"]))
    cell = {(r["format"], r["rows"]): r for r in report["results"]}

    def text(r):
        read, peak = (r[key]["median"] if r[key] else 0 for key in ("read_percent", "peak_percent"))
        return f"{figure(r['gb_s']['median'])} GB/s, {read:.0f} %" if read >= peak else f"{figure(r['gop_s']['median'])} GOP/s, {peak:.0f} %"

    rows = [(f, cell[f, counts[0]]["arithmetic"], *(text(cell[f, n]) for n in counts)) for f in formats]
    return table(["format", "arithmetic", *(f"{n} row{'s' if n > 1 else ''}" for n in counts)], rows)


def kernels_section():
    out = []
    for name in ("kernels-linear", "kernels-avx2-linear"):
        if not (report := load(name)):
            continue
        shape = report["results"][0]["shape"]
        out += [f"### Products with weights of {shape}", "", f"{command_line(BENCHES[name])}; of the two limits the one that "
                "is nearer", "", *linear_tables(report), limits_line(report), ""]
    if report := load("kernels-blocks"):
        rows = [(r["op"], r["format"], r["rows"], figure(r["microseconds"]["median"]), figure(r["gb_s"]["median"]), percent(r["read_percent"]),
                 figure(r["gop_s"]["median"]), percent(r["peak_percent"]), r["arithmetic"]) for r in report["results"]]
        out += ["### Blocks of a layer, with what they are fused with", "", command_line(BENCHES["kernels-blocks"]), "",
                *table(["block", "format", "rows", "us", "GB/s", "of read %", "GOP/s", "of peak %", "peak of"], rows), limits_line(report), ""]
    for name in (n for n in BENCHES if n.startswith("kernels-attention")):
        if not (report := load(name)):
            continue
        rows = [(r["op"].removeprefix("attention_"), r["kv_cache_dtype"], r["context"], r["rows"], figure(r["microseconds"]["median"]),
                 figure(r["gb_s"]["median"]), percent(r["read_percent"]), figure(r["gop_s"]["median"]), percent(r["peak_percent"]), r["arithmetic"])
                for r in report["results"] if r["op"] != "attention_prefill" or r["rows"] > 8]
        r = report["results"][0]
        out += [f"### Attention, {r['heads']} query and {r['kv_heads']} key heads of {r['head_dim']}", "",
                command_line(BENCHES[name].replace("{KV}", kv_in(report))), "",
                *table(["", "keys", "context", "rows", "us", "GB/s", "of read %", "GOP/s", "of peak %", "peak of"], rows), limits_line(report), ""]
    if report := load("kernels-rest"):
        rows = [(r["op"], r["rows"], figure(r["microseconds"]["median"]), figure(r["gb_s"]["median"])) for r in report["results"]]
        out += ["### The rest, operands in cache", "", command_line(BENCHES["kernels-rest"]), "",
                *table(["operation", "rows", "us", "GB/s in"], rows)]
    return ["## Kernels", "", *out] if out else []


def kv_in(report):
    return ",".join(dict.fromkeys(r["kv_cache_dtype"] for r in report["results"]))


def lines():
    return ["# Performance of the engine and its kernels", "",
           "Written by `./dev docs` (`bench/kernel_page.py`) from the reports of the commands shown; do not edit. Every share is of what this machine",
           "gave in the same process within seconds of the figure: bandwidth of shared hosts moves by half, so **read shares and ratios, not absolute",
           "figures**. What each figure means, and how to measure it yourself: [bench.md](bench.md).", "",
           measured_page.commits(BENCHES), "",
           *machine_section(load("doctor")), *latency_section(), *throughput_section(), *kernels_section()]


if __name__ == "__main__":
    measured_page.main(__doc__, measure, lines, "docs/kernel_performance.md")
