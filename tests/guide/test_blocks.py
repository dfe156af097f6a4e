"""Every block of code in README.md and docs/guide is executed, or says why not. How: guide_page.py."""
import re
import subprocess

import pytest
from guide_page import GUIDE, ROOT, blocks, differences, fences, flaw, mismatch, same_text
from page_session import PageSession

PAGES = [ROOT / "README.md", *sorted(GUIDE.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_block_is_left_out(page):
    found = blocks(page)
    assert len(found) == fences(page), "a fence that is no block: indented, without an end, or its mark does not stand right above it"
    wrong = [f"{one.place}: {why}" for one, before in zip(found, [None, *found]) if (why := flaw(one, before))]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_do_what_the_page_says(page, program, model, python, hub, tmp_path):
    session = PageSession(tmp_path, program, model, python, {"HF_ENDPOINT": hub.url, "MILLRACE_RETRY_DELAY": "0.01"})
    try:
        session.play(blocks(page))
    finally:
        session.stop_server()


@pytest.fixture(scope="session")
def all_options(program):
    text = subprocess.run([program, "--help-all"], capture_output=True, text=True, check=True, env={"COLUMNS": "4000"}).stdout
    peers = subprocess.run([program, "bench", "peers", "--help"], capture_output=True, text=True, check=True).stdout
    return {option for line in (text + peers).splitlines() for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", line[:120])}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_options_that_the_text_names_exist(page, all_options):
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    named = {option for span in re.findall(r"`([^`]+)`", prose) for option in re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", span)}
    assert len(all_options) > 200 and sorted(named - all_options) == []


CHECKED = [one for page in PAGES for one in blocks(page) if one.is_marked("syntax")]


@pytest.mark.parametrize("block", CHECKED, ids=lambda block: f"{block.place} {block.argument}")
def test_what_cannot_be_run_is_at_least_written_rightly(block, program, model, python, tmp_path):
    """The names of these tests are the list of what no test runs, and why."""
    PageSession(tmp_path, program, model, python).check_usage(block)


def test_the_comparison_itself():
    assert same_text("a ... c\n", "a b c") and not same_text("a ... c", "a b\nc")
    assert same_text("a\n...\nd", "a\nb\nc\nd\n") and not same_text("a\n...\nd", "a\nb\nc")
    assert same_text("x 12.5 ms", "x   7 ms", numbers=True) and not same_text("x 12.5 ms", "x 7 ms")
    assert not same_text("x 12 ms", "y 12 ms", numbers=True)
    assert differences({"a": 1, "b": "x..."}, {"a": 2, "b": "xyz"}) == []
    assert len(differences({"a": 1, "b": "x", "c": None}, {"a": "1", "b": "y", "d": None})) == 4
    assert differences([1, "..."], [1, 2, 3]) == [] and differences([1], [1, 2]) != []
    assert differences({"a": True}, {"a": 1}) != [] and differences({"a": {"b": [1]}}, {"a": {"b": ["1"]}}) != []


def test_the_index_of_the_documentation_has_each_page_once():
    listed = re.findall(r"^\| \[guide/[^\]]+\]\(guide/([^)]+)\) \|", (ROOT / "docs" / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == [page.name for page in PAGES[1:]] and len(listed) >= 10


def flaws(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    found = blocks(page)
    return len(found) == fences(page), [flaw(one, before) for one, before in zip(found, [None, *found])]


@pytest.mark.parametrize("text, word", [
    ("```cpp\nint x;\n```\n", "nothing says how"),
    ("```\nmillrace\n```\n", "nothing says how"),
    ("```text\nout\n```\n", "output of no command"),
    ("<!-- test: syntax: cannot be run here -->\n```sh\nls\n```\n```text\nout\n```\n", "output of no command"),
    ("<!-- test: skip -->\n```sh\nls\n```\n", "unknown mark"),
    ("<!-- test: syntax: later -->\n```sh\nls\n```\n", "says why"),
])
def test_a_block_that_nothing_would_test_is_found(tmp_path, text, word):
    whole, why = flaws(tmp_path, text)
    assert whole and word in why[-1]


@pytest.mark.parametrize("text", ["- one\n  ```sh\n  ls\n  ```\n", "````sh\nls\n````\n", "```sh title\nls\n```\n", "```sh\nls\n"])
def test_a_fence_that_is_no_block_is_found(tmp_path, text):
    assert not flaws(tmp_path, text)[0]


def test_what_is_printed_otherwise_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text('```json\n{"a": "x"}\n```\n```text\na\n```\n<!-- test: answer -->\n```text\na\n```\n')
    value, text, answer = blocks(page)
    assert mismatch(value, '{"a": "x"}') is None and "'y' in fact" in mismatch(value, '{"a": "y"}') and "no JSON" in mismatch(value, "x")
    assert mismatch(text, "a\n") is None and mismatch(text, "b\n")
    assert mismatch(answer, "b") is None and mismatch(answer, "\n")
