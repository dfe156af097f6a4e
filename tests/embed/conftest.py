"""Needs a whole build (cmake --install takes the program and the library from it) and MILLRACE_TEST_MODEL."""
import os

import pytest
from commands import ROOT, run

BUILD = ROOT / os.environ.get("MILLRACE_BUILD_DIR", "build/release")


@pytest.fixture(scope="session")
def model():
    path = os.environ.get("MILLRACE_TEST_MODEL")
    if not path:
        pytest.skip("MILLRACE_TEST_MODEL is not set")
    return path


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    """Where millrace is installed, as a user would."""
    place = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", place)
    return place


@pytest.fixture(scope="session")
def embed(prefix, tmp_path_factory):
    """examples/embed, copied out of the tree and built by find_package alone, with all warnings."""
    place = tmp_path_factory.mktemp("embed")
    for name in ("CMakeLists.txt", "main.cc"):
        (place / name).write_bytes((ROOT / "examples/embed" / name).read_bytes())
    run("cmake", "-S", place, "-B", place / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
        "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wshadow -Werror")
    run("cmake", "--build", place / "build")
    return place / "build/embed"
