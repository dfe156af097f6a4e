"""README.md, CONTRIBUTING.md and docs/ name only what is there: files, headings, tests, C++ names. Reads the sources, needs no build."""
import fnmatch
import functools
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS, CONTRIBUTING = ROOT / "docs", ROOT / "CONTRIBUTING.md"
PAGES = [ROOT / "README.md", CONTRIBUTING, *sorted(DOCS.rglob("*.md"))]
CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)|(?:href|src)=\"([^\"]+)\"", re.MULTILINE)
FOLDERS = ("src", "apps", "include", "examples", "tests", "docs", "cmake", "tools", "bench")


def name_of(page):
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def prose(text):
    """Without fenced code, and with the text of inline code out of the way of links."""
    return CODE.sub("code", FENCED.sub("", text))


def links(page):
    return [next(filter(None, groups)) for groups in LINK.findall(prose(page.read_text()))]


@functools.cache
def anchors(page):
    """What GitHub makes of the page's headings."""
    found = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", FENCED.sub("", page.read_text()), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {slug if n == 0 else f"{slug}-{n}" for slug, last in found.items() for n in range(last + 1)}


def broken(page, link):
    """What is wrong with a link of the page, or None."""
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return None
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return f"{link}: no such file in the repository"
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return f"{link}: {name_of(target)} has no such heading"
    return None


@functools.cache
def file_names():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {path.rsplit("/", 1)[-1] for path in listed.stdout.splitlines() if (ROOT / path).exists()}


@each_page
def test_headers_that_are_named_without_a_folder_exist(page):
    if "adr" in page.parts:
        pytest.skip("a decision names the files of its time")
    text = FENCED.sub("", page.read_text()).split("\n## Moved\n")[0]
    assert [name for name in re.findall(r"`([a-z_0-9]+\.(?:h|inc))`", text) if name not in file_names()] == []


@each_page
def test_links_lead_to_files_and_headings_that_exist(page):
    assert [wrong for link in links(page) if (wrong := broken(page, link))] == []


@each_page
def test_sentences_have_at_most_25_words_on_average(page):
    lines = ["" if line.startswith(("#", "|", "    ")) else line for line in prose(page.read_text()).splitlines()]
    text = re.sub(r"^\s*- ", "\n", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines)), flags=re.MULTILINE)
    sentences = [words for one in re.split(r"\n\s*\n|(?<=[.!?])\s+", text) if len(words := one.split()) > 2]
    assert sum(map(len, sentences)) <= 25 * len(sentences)


@pytest.mark.parametrize("index, pattern", [("docs/README.md", "*.md"), ("docs/adr/README.md", "[0-9][0-9][0-9]-*.md")])
def test_an_index_links_every_page_of_its_folder_once(index, pattern):
    index = ROOT / index
    listed = re.findall(r"^\| \[[^\]]+\]\(([^)#/]+)\) \|", index.read_text(), re.MULTILINE)  # sections (#) come beside their pages
    pages = sorted(p.name for p in index.parent.glob(pattern) if p != index)
    assert len(pages) > 10
    assert sorted(name for name in listed if fnmatch.fnmatch(name, pattern)) == pages


def code_words(page):
    """The words of inline code and of commands."""
    text = page.read_text()
    spans = [span for _, span in CODE.findall(FENCED.sub("", text))] + [body for kind, body in FENCED.findall(text) if kind == "sh"]
    return {word.strip("',;:()\"") for span in spans for word in span.split()}


def exists(path):
    """NAME and * stand for any file. A path without an ending, as `engine/step`, stands for the files of that name."""
    pattern = re.sub(r"NAME", "*", path.rstrip("/"))
    return any(True for ending in ("", ".*") for _ in ROOT.glob(pattern + ending))


@pytest.mark.parametrize("page", [CONTRIBUTING, DOCS / "architecture.md"], ids=name_of)
def test_paths_in_code_exist(page):
    rooms = sorted(p.name for p in (ROOT / "src").iterdir() if p.is_dir())  # these pages write paths of src/ without it
    paths = {}
    for word in code_words(page):
        first, slash, rest = word.partition("/")
        if slash and (first in FOLDERS or first in rooms) and re.fullmatch(r"[\w*./-]*", rest):
            paths[word] = word if first in FOLDERS else f"src/{word}"
    assert len(paths) > 20
    assert sorted(word for word, path in paths.items() if not exists(path)) == []


@functools.cache
def unit_tests(folder):
    """Suite.Name of every test beside the code of a folder."""
    sources = "\n".join(p.read_text() for p in (ROOT / "src" / folder).rglob("*_test.cc"))
    return {f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+), *(\w+)\)", sources, re.MULTILINE)}


def test_filters_of_contributing_select_unit_tests():
    commands = re.findall(r"build/release/src/(\w+)/(\w+)_test --gtest_filter='([^']+)'", CONTRIBUTING.read_text())
    assert len(commands) >= 5
    for folder, program, filters in commands:
        assert program == folder
        for one in filters.split(":"):
            suite, _, name = one.partition(".")
            pattern = f"{suite.split('/')[-1]}.{name.split('/')[0]}"  # without a parameter's instance and name
            assert fnmatch.filter(unit_tests(folder), pattern), f"{folder}_test has no test {one}"


@functools.cache
def words_of_sources():
    sources = [p for p in (ROOT / "src").rglob("*") if p.suffix in {".h", ".cc"}]
    return set(re.findall(r"\w+", "\n".join(p.read_text() for p in sources)))


def test_names_in_skeletons_of_contributing_are_those_of_the_sources():
    skeletons = [re.sub(r"//.*|\"[^\"]*\"", "", body) for kind, body in FENCED.findall(CONTRIBUTING.read_text()) if kind == "cpp"]
    assert len(skeletons) == 5
    names = set(re.findall(r"\b[A-Za-z_]\w*", "\n".join(skeletons)))
    own = {name for name in names if re.match(r"[Mm]y_?", name)}  # what the reader names
    assert len(own) >= 5
    assert sorted(names - own - words_of_sources()) == []
    includes = re.findall(r"#include \"([^\"]+)\"", CONTRIBUTING.read_text())
    assert len(includes) >= 5
    assert [one for one in includes if not (ROOT / "src" / one).exists()] == []
