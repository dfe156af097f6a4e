#!/usr/bin/env python3
"""Checks includes by the order of the folders of src/: a file includes its own folder and folders before it in MILLRACE_FOLDERS of
src/CMakeLists.txt, and what some folders must do without; that headers of a folder testing/ are included by tests alone; and that
docs/architecture.md lists the same folders in the same order. And that no units of src/ include each other in a circle (unit_circles.py)."""

import pathlib
import re
import sys

import unit_circles

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = re.search(r"set\(MILLRACE_FOLDERS\s+([^)]*)\)", (ROOT / "src/CMakeLists.txt").read_text()).group(1).split()
# The scheduler and the cache run without a model, under the simulator.
FORBIDDEN = {"sched": {"backend", "model", "checkpoint", "text"}}
# The load tester measures any server and could be a program of its own.
ALLOWED = {"loadtest": {"base", "unicode", "metrics", "http"}}
# The server knows an engine by its client alone, wherever that runs, and by plain data.
ENGINE_OF_SERVER = {"engine_client.h", "engine_limits.h", "kv_extents.h", "request.h", "step_report.h", "token_stream.h", "utilization.h"}

errors = []
folders = sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir())
errors += [f"src/{name}: not in MILLRACE_FOLDERS of src/CMakeLists.txt" for name in folders if name not in ORDER]
errors += [f"src/CMakeLists.txt: MILLRACE_FOLDERS names {name}, which is no folder" for name in ORDER if name not in folders]
tree = re.search(r"```\nsrc/\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), re.S).group(1)
if (listed := re.findall(r"^  ([a-z]+)/ ", tree, re.M)) != ORDER:
    errors.append(f"docs/architecture.md: its folders are {listed}, not {ORDER}")


def check(path: pathlib.Path) -> None:
    parts = path.relative_to(ROOT / "src").parts
    folder = parts[0]
    is_test = path.name.endswith("_test.cc") or "testing" in parts
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not (match := re.match(r'#include "([a-z_]+)/([^"]*)"', line)):
            continue
        target, place = match.group(1), f"{path.relative_to(ROOT)}:{number}"
        if "testing/" in match.group(2) and not is_test:
            errors.append(f"{place}: only tests include {target}/{match.group(2)}")
        if folder == "server" and target == "engine" and not is_test and match.group(2) not in ENGINE_OF_SERVER:
            errors.append(f"{place}: server must not include engine/{match.group(2)}, but {', '.join(sorted(ENGINE_OF_SERVER))}")
        if target == folder:
            continue
        if target not in ORDER:
            errors.append(f"{place}: includes unknown folder {target}")
        elif (ORDER.index(target) > ORDER.index(folder) or target in FORBIDDEN.get(folder, ())
              or target not in ALLOWED.get(folder, ORDER)):
            errors.append(f"{place}: {folder} must not include {target}")


def headers_of(header: str, found: set[str]) -> set[str]:
    """A header of src/ and all that it includes, over any number of others."""
    if header not in found and (ROOT / "src" / header).is_file():
        found.add(header)
        for included in re.findall(r'^#include "([^"]+)"', (ROOT / "src" / header).read_text(), re.M):
            headers_of(included, found)
    return found


for seen in sorted(ENGINE_OF_SERVER):
    if "engine/engine.h" in headers_of(f"engine/{seen}", set()):
        errors.append(f"src/engine/{seen}: the server sees it, so it must not reach engine/engine.h")
for source in sorted((ROOT / "src").rglob("*")):
    if source.suffix in {".h", ".cc", ".inc"}:
        check(source)
errors += unit_circles.problems(unit_circles.read_units(ROOT / "src"), unit_circles.ACCEPTED)
print("\n".join(errors) if errors else f"{len(folders)} folders include only folders below them; no circles of units")
sys.exit(bool(errors))
