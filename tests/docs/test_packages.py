"""docs/building.md lists the Debian packages that `./dev` installs, each once, and says what for."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = dict(zip(("BUILD_PACKAGES", "TEST_PACKAGES"),
                  re.findall(r"^\| package \|.*\n\|[-|]+\n((?:\|.*\n)+)", (ROOT / "docs/building.md").read_text(), re.M)))


@pytest.mark.parametrize("name", ["BUILD_PACKAGES", "TEST_PACKAGES"])
def test_the_page_lists_the_packages_of_dev(name):
    installed = re.search(rf"^readonly {name}=\(([^)]*)\)", (ROOT / "dev").read_text(), re.M)[1].split()
    rows = [row.strip("|\n ").split("|") for row in TABLES[name].splitlines()]
    assert len(installed) > 5 and all(len(row) == 2 and row[1].strip() for row in rows)
    assert sorted(package for row in rows for package in re.findall(r"`([^`]+)`", row[0])) == sorted(installed)
