#!/usr/bin/env python3
"""Builds `millrace` from nothing without a compiler cache and prints where the time went, as the table of docs/building.md.

    tools/build_times.py [BUILD_FOLDER]     default build/times, which is emptied first

Seconds of a folder are those of its compilations and links, added up; with two cores about twice the time that passes. A busy machine
makes them larger: the processor time of the whole build stands beside them.
"""
import collections
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def edges(log):
    """(first output, seconds) of every command that ninja ran."""
    commands = {}
    for line in log.read_text().splitlines()[1:]:
        start, end, _, output, command = line.split("\t")
        commands.setdefault((start, end, command), output)
    return [(output, (int(end) - int(start)) / 1000) for (start, end, _), output in commands.items()]


def folder_of(output):
    parts = pathlib.PurePath(output).parts
    if parts[0] == "web":
        return "web"
    return "/".join(parts[:2]) if parts[0] in ("src", "apps", "tests") else "links"


def main():
    build = ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build/times")
    shutil.rmtree(build, ignore_errors=True)
    environment = os.environ | {"CCACHE_DISABLE": "1"}
    subprocess.run(["cmake", "--preset", "release", "-B", build], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", "millrace", "--", "--quiet"], env=environment,
                   check=True)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    folders = collections.defaultdict(list)
    for output, seconds in edges(build / ".ninja_log"):
        folders[folder_of(output)].append(seconds)
    print("| folder | commands | seconds |\n|---|---|---|")
    for folder, times in sorted(folders.items(), key=lambda item: -sum(item[1])):
        print(f"| {folder} | {len(times)} | {sum(times):.0f} |")
    print(f"\n{wall / 60:.1f} minutes on {os.cpu_count()} cores; {processor:.0f} s of processor time")


if __name__ == "__main__":
    main()
