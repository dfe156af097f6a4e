#!/usr/bin/env python3
"""Checks that a folder of src/ includes only folders above it in the list of docs/architecture.md, and apps only src."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORDER = ["base", "tensor", "text", "quant", "grammar", "comm", "checkpoint", "hub", "http", "backend", "kv", "sched", "model", "decode", "draft", "engine",
         "loadgen", "simulator", "server", "loadtest"]
# The scheduler and the cache must run without a model (docs/architecture.md).
FORBIDDEN = {"sched": {"backend", "model", "checkpoint", "text"}}

errors = []
folders = sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir())
errors += [f"src/{name}: not in the list of layers" for name in folders if name not in ORDER]
for path in sorted((ROOT / "src").rglob("*")):
    if path.suffix not in {".h", ".cc", ".inc"}:
        continue
    folder = path.relative_to(ROOT / "src").parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'#include "([a-z_]+)/', line)
        if not match or match.group(1) == folder:
            continue
        target = match.group(1)
        if target not in ORDER:
            errors.append(f"{path.relative_to(ROOT)}:{number}: includes unknown folder {target}")
        elif ORDER.index(target) > ORDER.index(folder) or target in FORBIDDEN.get(folder, ()):
            errors.append(f"{path.relative_to(ROOT)}:{number}: {folder} must not include {target}")
print("\n".join(errors) if errors else f"{len(folders)} folders include only folders below them")
sys.exit(bool(errors))
