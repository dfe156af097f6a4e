"""The pictures of docs/performance are the page's charts, drawn from the reports beside them."""
import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from web_page import ROOT, WEB

REPORTS = ROOT / "docs/performance"
sys.path.insert(0, str(ROOT / "bench"))
import performance_page  # noqa: E402


@pytest.fixture(scope="module")
def drawn(node, tmp_path_factory):
    """Names of the reports -> [{"file", "title"}], and the folder that they are in."""
    folder = tmp_path_factory.mktemp("pictures")
    done = subprocess.run([node, WEB / "report/make_pictures.mjs", folder, *performance_page.drawn()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def test_those_of_the_documentation_are_what_the_page_draws(drawn):
    names, folder = drawn
    made = {p.name: p.read_text() for p in folder.iterdir()}
    kept = {p.name: p.read_text() for p in REPORTS.glob("*.svg")}
    assert len(kept) >= 50 and sorted(made) == sorted(kept)
    differ = [name for name in made if made[name] != kept[name]]
    assert differ == [], "bench/performance_page.py --render"
    page = (ROOT / "docs/performance.md").read_text()
    for pictures in names.values():
        for picture in pictures:
            assert f"![{picture['title']}](performance/{picture['file']})" in page


def test_each_is_a_picture_in_both_themes(drawn):
    _, folder = drawn
    for file in folder.iterdir():
        text = file.read_text()
        root = ElementTree.fromstring(text)
        tags = [e.tag.rpartition("}")[2] for e in root.iter()]
        assert tags.count("path") > 10 and tags.count("text") > 8 and "script" not in tags, file.name
        assert len(text) < 40_000, file.name
        # Dark where that is preferred: a rule for every colour of text and lines.
        [dark] = re.findall(r"@media \(prefers-color-scheme:dark\)\{(.*?\})\}", text)
        assert '[fill="#ffffff"]{fill:#1b1f23}' in dark and '[fill="#1d2126"]{fill:#e4e7ea}' in dark
        assert "ecmeta" not in text and "NaN" not in text


def test_samples_of_all_kinds_are_drawn(node, samples, tmp_path):
    for name in ("serve", "sweep", "compare", "peers"):
        (tmp_path / f"{name}.json").write_text(json.dumps(samples[name]))
    done = subprocess.run([node, WEB / "report/make_pictures.mjs", tmp_path, *tmp_path.glob("*.json")], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    files = {name: [p["file"] for p in pictures] for name, pictures in json.loads(done.stdout).items()}
    assert files["serve"] == [f"serve.{figure}.svg" for figure in ("ttft", "tpot", "latency")]
    assert files["compare"] == ["compare.ratios.svg"] and len(files["sweep"]) == 6 and len(files["peers"]) == 3
    assert all((tmp_path / file).exists() for all_of_one in files.values() for file in all_of_one)
