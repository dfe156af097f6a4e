"""A page of docs/guide as its blocks of code: what language, what is to be done with each, and what it says.

A comment in front of a block marks it; a reader of the page does not see it:

    <!-- test: WORDS -->

| word | the block |
|---|---|
| (no mark) | `sh` and `python` are run and end with 0; `text` and `json` are what the block before them prints, character by character |
| `server` | `sh` that ends with a command that stays: a server, which is waited for, and stopped at the end of the page or by the next server |
| `exit N` | is run and ends with N |
| `syntax: REASON` | cannot be run in a test, and REASON says why: bash reads it, and its commands of millrace are checked with --check-usage |
| `file NAME` | is written to NAME in the folder where the page's commands run |
| `numbers` | printed numbers may differ |
| `answer` | the model's own words: something must be printed |
| `chat` | a conversation on a terminal: its first line is the command, what stands behind a prompt is typed |
| `parse` | an excerpt that no command prints: it is read by its language's parser |

In what is compared `...` stands for any text of a line; alone on a line, for any lines. JSON is compared by its members: numbers may differ,
a text that ends in `...` stands for all that begin so, a list may be longer where its last member is "...".
"""
import dataclasses
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "guide"
BLOCK = re.compile(r"^(?:<!-- test: (.*?) -->\n)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS, OUTPUTS, FILES = {"sh", "python"}, {"text", "json"}, {"json", "ini", "nginx", "yaml", "toml", "jsonl", "lark", "text", "python"}
MARKS = re.compile(r"server|exit \d+|syntax: .+|file [\w./-]+|numbers|answer|chat|parse")


@dataclasses.dataclass
class Block:
    page: pathlib.Path
    line: int
    language: str
    text: str
    mark: str

    @property
    def place(self):
        return f"{self.page.name}:{self.line}"

    def is_marked(self, word):
        return self.mark.split(" ")[0].rstrip(":") == word

    @property
    def argument(self):
        return self.mark.partition(" ")[2]


def blocks(page):
    text = page.read_text()
    return [Block(page, text.count("\n", 0, one.start()) + 1, one[2], one[3], one[1] or "") for one in BLOCK.finditer(text)]


def fences(page):
    """How many blocks the page has by its lines alone, indented ones and those of four backticks too."""
    return sum(1 for line in page.read_text().splitlines() if line.lstrip().startswith("```")) / 2


def flaw(block, before):
    """Why a block would not be tested, or None. `before`: the block in front of it, or None."""
    if block.mark and not MARKS.fullmatch(block.mark):
        return f"unknown mark {block.mark!r}"
    if block.is_marked("syntax") and (block.language != "sh" or len(block.argument.split()) < 3):
        return "syntax: is for sh, and says why it cannot be run"
    if block.is_marked("file") and block.language not in FILES:
        return f"no file of language {block.language!r}"
    if any(map(block.is_marked, ("file", "parse", "syntax", "chat"))) or block.language in COMMANDS:
        return None
    if block.language not in OUTPUTS:
        return f"nothing says how to test a block of {block.language!r}"
    if before is None or before.language not in COMMANDS or before.is_marked("syntax") or before.is_marked("file"):
        return "output of no command: the block before it is none that runs"
    return None


def pattern(line, numbers):
    """A regular expression of what a line of the page stands for."""
    parts = [re.escape(part) for part in line.rstrip().split("...")]
    if numbers:
        parts = [re.sub(r"(?:\\ )+", r"\\s+", re.sub(r"\d+(?:\\\.\d+)?(?:e-?\d+)?", r"[\\d.,e-]+", part)) for part in parts]
    return "[^\n]*".join(parts)


def same_text(expected, actual, numbers=False):
    """Whether `actual` is what the page says."""
    lines = expected.rstrip("\n").split("\n")
    whole = "".join(r"(?:[^\n]*\n)*?" if line.strip() == "..." else pattern(line, numbers) + r"[ \t]*\n" for line in lines)
    return re.fullmatch(whole, actual.rstrip("\n") + "\n") is not None


def differences(expected, actual, where="$"):
    """How two JSON values differ, as lines."""
    if isinstance(expected, bool) or expected is None or type(expected) is not type(actual):
        numbers = isinstance(expected, (int, float)) and isinstance(actual, (int, float))
        same = expected is actual or numbers and bool not in (type(expected), type(actual))
        return [] if same else [f"{where}: {expected!r} in the page, {actual!r} in fact"]
    if isinstance(expected, str):
        same = actual.startswith(expected[:-3]) if expected.endswith("...") else actual == expected
        return [] if same else [f"{where}: {expected!r} in the page, {actual!r} in fact"]
    if isinstance(expected, dict):
        found = [f"{where}: only in one of them: {key}" for key in sorted(expected.keys() ^ actual.keys())]
        return found + [line for key in expected.keys() & actual.keys() for line in differences(expected[key], actual[key], f"{where}.{key}")]
    if isinstance(expected, list):
        open_end = expected[-1:] == ["..."]
        shown = expected[:-1] if open_end else expected
        if len(actual) < len(shown) or len(actual) > len(shown) and not open_end:
            return [f"{where}: {len(shown)} members in the page, {len(actual)} in fact"]
        return [line for i, (a, b) in enumerate(zip(shown, actual)) for line in differences(a, b, f"{where}[{i}]")]
    return []


def mismatch(block, printed):
    """Why what was printed is not what the block says, or None."""
    if block.is_marked("answer"):
        return None if printed.strip() else "nothing was printed"
    if block.language == "json":
        try:
            return "\n".join(differences(json.loads(block.text), json.loads(printed))) or None
        except json.JSONDecodeError as error:
            return f"no JSON: {error}\n{printed}"
    if same_text(block.text, printed, block.is_marked("numbers")):
        return None
    return f"the page says\n{block.text}\nand the command printed\n{printed}"
