"""Limits on sizes: a function has at most 60 lines, a class at most 30 methods, the facade Engine at most 20.

Reads the sources as clang-format leaves them: a function at namespace level begins at the margin and ends with a brace there."""
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for folder in ("src", "apps", "include") for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cc", ".inc"))
MAX_LINES, MAX_METHODS = 60, 30
METHOD = re.compile(r"[\w>&*\]]\s+[\w~]+(?:operator\S+)?\([^;{]*\)\s*(?:const)?\s*(?:noexcept)?\s*(?:override)?\s*(?:=\s*\w+)?\s*[;{}]?")
NO_FUNCTION = re.compile(r"(namespace|class|struct|union|enum|extern|template|#|//|constexpr|const |static const|inline const)")


def long_functions(text):
    """(line, lines) of each function at namespace level that is too long."""
    begin = None
    for number, line in enumerate(text.splitlines(), 1):
        if begin is None and line.endswith("{") and re.match(r"\S", line) and "(" in line and not NO_FUNCTION.match(line):
            begin = number
        elif begin is not None and line.startswith("}"):
            if number - begin + 1 > MAX_LINES:
                yield begin, number - begin + 1
            begin = None


def classes(text):
    """(name, methods) of each class, nested ones apart."""
    text = re.sub(r"//.*", "", text)
    for match in re.finditer(r"\b(?:class|struct)\s+(\w+)[^;{()]*\{", text):
        depth, at, own = 1, match.end(), []
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 1:
                own.append(text[at])
            at += 1
        yield match.group(1), len(METHOD.findall("".join(own)))


def test_no_function_is_longer_than_60_lines():
    found = [f"{p.relative_to(ROOT)}:{line}: {n} lines" for p in SOURCES if not p.name.endswith("_test.cc") for line, n in long_functions(p.read_text())]
    assert not found, "\n".join(found)


def test_no_class_has_more_than_30_methods():
    found = [f"{p.relative_to(ROOT)}: {name} has {n}" for p in SOURCES for name, n in classes(p.read_text()) if n > MAX_METHODS]
    assert not found, "\n".join(found)


def test_the_engine_is_a_facade():
    header = ROOT / "src" / "engine" / "engine.h"
    assert len(header.read_text().splitlines()) <= 150
    public = header.read_text().split("class Engine {")[1].split(" private:")[0]
    assert len(re.findall(r"^  (?!//)[^/\n]*?\b(\w+)\(", public, re.M)) - public.count("return intake_") <= 20


@pytest.mark.parametrize("lines, long", [(60, False), (61, True)])
def test_the_measure_of_functions_measures(lines, long):
    text = "int f(int x) {\n" + "  ++x;\n" * (lines - 2) + "}\n"
    assert bool(list(long_functions(text))) == long


def test_the_measure_of_classes_measures():
    methods = "".join(f"  int f{i}(int x) const;\n" for i in range(31))
    assert list(classes("class A {\n public:\n" + methods + "};\n")) == [("A", 31)]
