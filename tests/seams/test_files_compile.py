"""The files that new_files.py adds follow the interfaces that they stand for: each compiles beside the sources. (That they also work takes a
build of its own, with ./dev test --all.)"""
import json
import os
import pathlib
import shlex
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
ADDED = ROOT / "tests/seams/files/src"
FILES = sorted(str(path.relative_to(ADDED)) for path in ADDED.rglob("*.cc"))


@pytest.fixture(scope="module")
def commands():
    build = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release"))
    return json.loads((build / "compile_commands.json").read_text())


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_a_seam_compiles(name, commands):
    library = f"src/{name.split('/')[0]}/CMakeFiles/millrace_{name.split('/')[0]}.dir/"
    entry = next(entry for entry in commands if library in entry["command"])
    flags = shlex.split(entry["command"].split(" -o ")[0])
    outcome = subprocess.run([*flags, "-I", str(ADDED), "-fsyntax-only", str(ADDED / name)], cwd=entry["directory"], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stderr[:2000]
