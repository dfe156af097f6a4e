"""Every block of code in README.md and docs/guide is executed, or says why not. How: guide_page.py."""
import re

import pytest
from guide_page import GUIDE, ROOT, blocks, differences, fences, flaw, same_text
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
