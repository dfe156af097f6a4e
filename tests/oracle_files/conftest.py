"""Compares our formats and files with the Python packages gguf and safetensors.

    pytest tests/oracle_files            # MILLRACE_BUILD_DIR=build/other for another build folder
"""
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release") / "tests/oracle_files/oracle_files"


@pytest.fixture(scope="session")
def oracle():
    assert PROGRAM.exists(), f"{PROGRAM} is not built: ./dev build"

    def run(*args, stdin=b"", ok=True):
        done = subprocess.run([PROGRAM, *map(str, args)], input=stdin, capture_output=True)
        if ok:
            assert done.returncode == 0, done.stderr.decode()
            return done.stdout
        return done.returncode, done.stderr.decode()

    return run
