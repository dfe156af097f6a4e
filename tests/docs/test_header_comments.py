"""Comments of headers can be understood alone: none begins with a word that only a neighbour explains, none has a private word."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAGMENT = re.compile(r"(Of|Beyond|For it|And|Or|Instead|Within|As|That|Those|Both|Who|So|It|They|These|Likewise|Also|But)\b")
PRIVATE = re.compile(r"\b(guess(es|ed|ing)?|nobody|somebody|whoever|told apart|ask(ed)? ahead|ways? on)\b", re.IGNORECASE)
HEADERS = sorted(p for root in ("src", "apps", "include") for p in (ROOT / root).rglob("*.h") if "testing" not in p.parts)


def comments(text):
    """(line, text, stands alone) of each comment of a C++ file; lines that follow each other are one."""
    found, start, lines = [], 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if (whole := re.match(r"\s*// ?(.*)", line)) is not None:
            start = start if lines else number
            lines.append(whole.group(1))
            continue
        if lines:
            found.append((start, " ".join(lines), True))
            lines = []
        if (behind := re.search(r";\s+// (.*)", line)) is not None:
            found.append((number, behind.group(1), False))
    return found


@pytest.mark.parametrize("folder", sorted({h.relative_to(ROOT).parts[:2] for h in HEADERS}), ids="/".join)
def test_comments_stand_alone(folder):
    wrong = []
    for header in HEADERS:
        name = header.relative_to(ROOT)
        if name.parts[:2] != folder:
            continue
        for line, text, alone in comments(header.read_text()):
            if alone and FRAGMENT.match(text):
                wrong.append(f"{name}:{line}: begins with what its neighbours must explain: {text[:60]}")
            if found := PRIVATE.search(text):
                wrong.append(f"{name}:{line}: has a private word: {found.group(0)}")
    assert not wrong, "\n".join(wrong)


def test_the_check_finds_what_it_is_for():
    text = "// Of the last row.\nint a();\nint b = 0;  // nobody knows\n// The rows.\n// And more of them.\nint c();\n"
    assert comments(text) == [(1, "Of the last row.", True), (3, "nobody knows", False), (4, "The rows. And more of them.", True)]
    assert FRAGMENT.match("Of the last row.") and not FRAGMENT.match("Offers") and PRIVATE.search("Nobody knows")
