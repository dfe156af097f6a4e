#!/usr/bin/env python3
"""Format and bug patterns: clang-format over every source file (.h, .cc, .inc), clang-tidy (.clang-tidy: bugprone) over units that differ.

    tools/lint.py [--all] [--seconds N]     called by ./dev lint and ./dev test

Units are compared with the last landed state: origin/main where that is behind, else the first parent of the last commit. A unit differs
when its file does, or a header of its own folder that it includes. --all: every unit. After N seconds (default 150) no more units are begun,
and the rest is counted; --all has no such limit. Ends with 1 and the findings where there are any. Compile commands come from the preset
clang."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/clang"
SUFFIXES = (".h", ".cc", ".inc")


def lines(*command: str) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


def last_landed() -> str:
    head = lines("git", "rev-parse", "HEAD")[0]
    for ref in ("origin/main", "HEAD~1"):
        if subprocess.run(["git", "rev-parse", "-q", "--verify", ref], cwd=ROOT, capture_output=True).returncode == 0:
            base = lines("git", "merge-base", ref, "HEAD")[0]
            if base != head:
                return base
    return head


def unformatted(files: list[str]) -> list[str]:
    """Lines of clang-format's complaints, a few hundred files at a time."""
    found = []
    for first in range(0, len(files), 200):
        done = subprocess.run(["clang-format-19", "--dry-run", *files[first:first + 200]], cwd=ROOT, capture_output=True, text=True)
        found += [line for line in done.stderr.splitlines() if "warning:" in line or "error:" in line]
    return found


def units() -> list[str]:
    """Paths of the translation units that the preset clang knows, below ROOT, without generated ones."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    paths = {pathlib.Path(os.path.normpath(os.path.join(c["directory"], c["file"]))) for c in commands}
    return sorted(str(p.relative_to(ROOT)) for p in paths if p.is_relative_to(ROOT) and not p.is_relative_to(ROOT / "build"))


def differing(all_units: list[str]) -> list[str]:
    base = last_landed()
    changed = set(lines("git", "diff", "--name-only", base, "--", *[f"*{s}" for s in SUFFIXES]))
    changed |= set(lines("git", "ls-files", "--others", "--exclude-standard", "--", *[f"*{s}" for s in SUFFIXES]))

    def differs(unit: str) -> bool:
        if unit in changed:
            return True
        folder = pathlib.Path(unit).parent
        included = re.findall(r'^#include "([^"]+)"', (ROOT / unit).read_text(), re.M)
        return any(f"src/{path}" in changed and pathlib.Path(f"src/{path}").parent == folder for path in included)

    return [unit for unit in all_units if differs(unit)]


def tidy(unit: str) -> str:
    done = subprocess.run(["clang-tidy-19", "--quiet", "-p", str(BUILD), unit], cwd=ROOT, capture_output=True, text=True)
    return done.stdout if done.returncode != 0 else ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=150.0)
    options = parser.parse_args()

    files = [f for f in lines("git", "ls-files", "--", *[f"*{s}" for s in SUFFIXES]) if (ROOT / f).exists()]
    findings = unformatted(files)
    print(f"format: {len(files)} files" + (", to mend with ./dev format:" if findings else ""))
    print("\n".join(findings), end="\n" if findings else "")

    chosen = units() if options.all else differing(units())
    end = time.monotonic() + (float("inf") if options.all else options.seconds)
    checked = 0
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("MILLRACE_JOBS", os.cpu_count() or 1))) as pool:
        for report in pool.map(lambda unit: None if time.monotonic() > end else tidy(unit), chosen):
            checked += report is not None
            if report:
                findings.append(report)
                print(report, flush=True)
    left = f"; {len(chosen) - checked} not begun within {options.seconds:.0f} s, ./dev lint --all checks them" if checked < len(chosen) else ""
    print(f"clang-tidy: {checked} of {len(chosen)} units{left}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
