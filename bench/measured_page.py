"""What pages of figures share: reports in docs/performance, one JSON file a measurement, each made by one command that the page shows."""
import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

from measured_models import FOLDER, MILLRACE, ROOT

REPORTS = ROOT / "docs/performance"


def measure(name, command, prefix, to_stdout=False):
    """Runs a command whose report goes to the file REPORTS/NAME.json (the command names it itself, or writes to stdout) and is kept there."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    command = [str(word) for word in [*prefix, *command]]
    print(f"==> {name}: {shlex.join(command)}", file=sys.stderr, flush=True)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE if to_stdout else sys.stderr, text=True)
    file = REPORTS / f"{name}.json"
    file.write_text(without_paths(done.stdout if to_stdout else file.read_text()))


def without_paths(text):
    """Where this machine keeps its files is nobody's business."""
    for path, shown in ((MILLRACE, "millrace"), (f"{FOLDER}/", ""), (f"{ROOT}/", ""), (pathlib.Path.home(), "~")):
        text = text.replace(str(path), shown)
    return re.sub(r"/tmp/millrace-bench-\w+/", "", text)


def load(name):
    path = REPORTS / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def commits(names):
    found = {(load(name) or {}).get("millrace", {}).get("commit") for name in names} - {None}
    return f"Commit{'s' if len(found) > 1 else ''} measured: {', '.join(sorted(found)) or 'unknown'} (`+`: with changes)."


def figure(value):
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def table(headers, rows):
    return ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def main(about, measure_all, lines, page):
    """measure_all(only, prefix) measures what begins with `only`; lines() are those of the page."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="measure only what begins with this")
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("--prefix", default="", help="run each measurement under this command, as in 'taskset -c 0,1'")
    args = parser.parse_args()
    if not args.render:
        measure_all(args.only, shlex.split(args.prefix))
    (ROOT / page).write_text("\n".join(lines()).rstrip() + "\n")
