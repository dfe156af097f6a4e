#!/usr/bin/env python3
"""Writes docs/performance.md from the commands that measure it (./dev docs). Run it when nothing else runs."""

import pathlib
import re
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MILLRACE = ROOT / "build/release/bin/millrace"
TEXT = (ROOT / "tests/data/licenses.txt").read_text()
ROUNDS = 5


def stats(prompt, *flags):
    with tempfile.TemporaryFile("w+") as stdin:
        stdin.write(prompt)
        stdin.seek(0)
        run = subprocess.run([MILLRACE, "run", "default", "--temperature", "0", "--ignore-eos", "--stats", *flags], stdin=stdin,
                             check=True, capture_output=True, text=True)
    found = re.search(r"\+ (\d+) new tokens, answer (\d+) tokens, TTFT ([\d.]+) ms, TPOT ([\d.]+) ms, ([\d.]+) tok/s, MBU (\d+) %",
                      run.stderr)
    new, answer, ttft, tpot, rate, mbu = (float(x) for x in found.groups())
    return {"new": new, "answer": answer, "ttft": ttft, "tpot": tpot, "rate": rate, "mbu": mbu}


def doctor():
    text = subprocess.run([MILLRACE, "doctor"], check=True, capture_output=True, text=True).stdout
    return text.replace(str(pathlib.Path.home()), "~")


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def main():
    out = ["# Performance", "", "`./dev docs` writes this page; medians of five runs each. MBU is against the read bandwidth measured in the",
           "same process. Hosts are shared and noisy: read ratios, not single figures.", "", "## The machine (`millrace doctor`)", "",
           "```", doctor().strip(), "```", "",
           "## SmolLM2-135M-Instruct Q4_1, one sequence", "",
           "`millrace run default --temperature 0 --ignore-eos --stats -n 128 < prompt`", "",
           "| threads | prompt tokens | TTFT ms | prefill tok/s | TPOT ms | decode tok/s | MBU % |", "|---|---|---|---|---|---|---|"]
    for threads in (1, 2):
        for length in (60, 2600, 8500):
            rows = [stats(TEXT[:length], "-n", "128", "-t", str(threads)) for _ in range(ROUNDS)]
            ttft, new = median(rows, "ttft"), rows[0]["new"]
            out.append(f"| {threads} | {new:.0f} | {ttft:.1f} | {1000 * new / ttft:.0f} | {median(rows, 'tpot'):.2f} | "
                       f"{median(rows, 'rate'):.0f} | {median(rows, 'mbu'):.0f} |")
    out += ["", "Kernels alone: `./dev bench` (products by format and number of rows, attention).", ""]
    (ROOT / "docs/performance.md").write_text("\n".join(out))
    print("\n".join(out))


if __name__ == "__main__":
    main()
