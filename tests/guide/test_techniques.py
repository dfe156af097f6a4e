"""docs/guide/techniques.md names files, options, papers and figures that there are."""
import functools
import re
import subprocess

import pytest
from guide_page import GUIDE, ROOT

PAGE = GUIDE / "techniques.md"
FILE = re.compile(r"`((?:src|apps|bench)/[\w./]+)`")
OPTION = re.compile(r"`((?:\w+ )*)(--[\w-]+)(?: ([\w-]+))?`")
LINK = re.compile(r"\]\(([^)#]+)(?:#([^)]+))?\)")


def techniques():
    """(technique, where, on by, paper, effect) of each row."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [row for row in rows if row[0] != "technique"]


ROWS = techniques()
there = [row for row in ROWS if row[1] not in ("not yet", "no")]
each = pytest.mark.parametrize("row", there, ids=lambda row: row[0][:40])


def test_rows_are_whole():
    assert len(ROWS) > 80 and len(there) > 60
    assert [row[0] for row in ROWS if len(row) != 5] == []
    assert len({row[0] for row in ROWS}) == len(ROWS)


def test_what_is_not_there_says_no_more():
    assert [row[0] for row in ROWS if row[1] in ("not yet", "no") and (row[2] or row[4])] == []


def test_each_paper_has_its_number_and_year():
    papers = [row for row in ROWS if not row[3].startswith("no paper")]
    assert len(papers) > 60
    wrong = [row[0] for row in papers if not re.search(r"arXiv:\d{4}\.\d{4,5}\b|OSDI 2022|, 1968$|^the specification", row[3])]
    assert wrong == []
    # An arXiv number begins with year and month: the year beside it is that one.
    for row in papers:
        for year, number in re.findall(r"(\d{4}), arXiv:(\d{2})\d{2}\.", row[3]):
            assert year == f"20{number}", row[3]


@each
def test_the_files_exist(row):
    files = FILE.findall(row[1])
    assert files and [name for name in files if not (ROOT / name).is_file()] == []


@functools.cache
def help_of(program, command):
    return subprocess.run([program, *command.split(), "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "4000"}).stdout


@each
def test_what_turns_it_on_exists(row, program):
    assert row[2], "a technique without what turns it on"
    for command, option, value in OPTION.findall(row[2]):
        text = help_of(program, command.strip() or "serve")
        described = re.search(rf"^ +(?:--?[\w-]+, )*{option}(?:[ ,].*)?$", text, re.MULTILINE)
        assert described, f"{option} is no option of {command or 'serve'}"
        assert not value or re.search(rf"(?<![\w-]){value}(?![\w-])", described[0]), f"{option} has no value {value}"
    for field in re.findall(r"field `(\w+)`", row[2]):
        sources = (p for folder in ("server", "chat") for p in (ROOT / "src" / folder).rglob("*.cc"))
        assert any(f'"{field}"' in p.read_text() for p in sources), field


def section(page, anchor):
    """The text under a heading of a page, whole where no heading is named."""
    text = page.read_text()
    if not anchor:
        return text
    parts = re.split(r"^(#{1,6} .*)$", text, flags=re.MULTILINE)
    same = lambda heading: re.sub(r"[^\w\- ]", "", heading.lstrip("# ").lower()).replace(" ", "-") == anchor  # noqa: E731
    at = next(i for i in range(1, len(parts), 2) if same(parts[i]))
    depth, found = parts[at].count("#"), parts[at + 1]
    for i in range(at + 2, len(parts), 2):
        if len(parts[i]) - len(parts[i].lstrip("#")) <= depth:
            break
        found += parts[i] + parts[i + 1]
    return found


@each
def test_figures_are_those_of_the_page_that_is_linked(row):
    """Every number of an effect that has links stands in the section that the next link leads to."""
    effect = row[4]
    assert effect.startswith(("not measured", "as above", "a token's bits")) or LINK.search(effect), effect
    begun = 0
    for link in LINK.finditer(effect):
        text = section((PAGE.parent / link[1]).resolve(), link[2])
        figures = re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*", re.sub(r"\[[^\]]*\]", "", effect[begun:link.start()]))
        begun = link.end()
        assert [one for one in figures if not re.search(rf"(?<![\d.]){re.escape(one)}(?![\d])", text)] == []
