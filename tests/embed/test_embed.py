"""The installed package: a program outside the tree finds, links and uses it, and answers as `millrace run` does."""
import re

import pytest
from commands import ROOT, run

PROMPT = "What is gravity? Answer in one sentence."


def test_a_program_answers_as_run_does(embed, prefix, model):
    expected = run(prefix / "bin/millrace", "run", model, PROMPT, "--temperature", "0", "--max-tokens", "32").stdout
    assert run(embed, model, PROMPT).stdout == expected
    assert len(expected.split()) > 5


def test_errors_name_the_field_the_value_and_the_limit(embed, model):
    absent = run(embed, "/nowhere/model.gguf", "hi", ok=False)
    assert absent.stderr == "path: path is /nowhere/model.gguf: No such file or directory\n"
    assert run(embed, model, "hi", "-1", ok=False).stderr == "threads: threads is -1, must be 0 (all) to 1024\n"


def test_the_macro_is_the_version_of_the_program(embed, prefix):
    version = run(prefix / "bin/millrace", "version").stdout.split()[1]
    assert run(embed, ok=False).stderr.rstrip().endswith(f"millrace {version}")
    header = (prefix / "include/millrace/version.h").read_text()
    numbers = [re.search(rf"MILLRACE_VERSION_{part} (\d+)", header).group(1) for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(numbers) == version


def test_a_package_of_another_minor_version_is_refused(prefix, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p NONE)\nfind_package(millrace 0.0 CONFIG REQUIRED)\n")
    refused = run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", ok=False)
    assert "version: 0.1.0" in refused.stderr


@pytest.mark.parametrize("header", ["config.h", "millrace.h", "result.h", "version.h"])
def test_each_header_stands_alone_on_the_standard_library(prefix, tmp_path, header):
    includes = re.findall(r"#include <([^>]*)>", (prefix / "include/millrace" / header).read_text())
    assert all("/" not in name and not name.endswith(".h") or name.startswith("millrace/") for name in includes), includes
    source = tmp_path / "alone.cc"
    source.write_text(f"#include <millrace/{header}>\n")
    run("c++", "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{prefix}/include", "-fsyntax-only", source)


def test_the_headers_are_those_that_the_page_lists(prefix):
    listed = set(re.findall(r"^\| `millrace/(\w+\.h)`", (ROOT / "docs/runtime.md").read_text(), re.M))
    assert {path.name for path in (prefix / "include/millrace").iterdir()} == listed


def test_the_library_shows_its_own_functions_alone(prefix):
    library = next((prefix / "lib").rglob("libmillrace.so"))
    shown = run("nm", "-DC", "--defined-only", library).stdout
    names = [line.split(" ", 2)[2] for line in shown.splitlines()]
    assert names and all("millrace::api::" in name for name in names), names
