"""What docs/guide/trouble.md lists beside the errors that its blocks provoke: codes and exit codes are those of the sources."""
import re

from guide_page import GUIDE, ROOT

TEXT = (GUIDE / "trouble.md").read_text()


def rows(heading):
    """The cells of the table under a heading, or under the header row that begins so."""
    table = TEXT.split(heading, 1)[1].split("\n\n", 1)[0]
    return [cells for line in table.splitlines() if len(cells := line.strip("| \n").split(" | ")) > 1]


def test_codes_of_errors_are_those_of_the_server():
    sources = "\n".join(p.read_text() for p in (ROOT / "src").rglob("*.cc") if not p.name.endswith("_test.cc"))
    codes = {code for row in rows("| status | `code` |") for code in re.findall(r"`(\w+)`", row[1])}
    assert len(codes) > 15
    assert sorted(code for code in codes if f'"{code}"' not in sources) == []


def test_exit_codes_are_those_of_the_command_line():
    listed = {number for row in rows("## Exit codes\n") for number in re.findall(r"\d+", row[0])}
    cli = (ROOT / "docs" / "cli.md").read_text().split("## Exit codes")[1].split("\n## ")[0]
    assert listed == set(re.findall(r"\d+", " ".join(re.findall(r"^\| ([\d, ]+) \|", cli, re.MULTILINE)))) and len(listed) == 8
