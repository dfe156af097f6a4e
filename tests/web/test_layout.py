"""The report page looked at in a real Chromium at the widths of a phone, a small window and a large one, light and dark.

Screenshots are left in build/web-screenshots.
"""
import json
import pathlib
import subprocess

import awkward_reports
import pytest
from web_page import PLAYWRIGHT, ROOT, filled

NAMES = ("serve", "sweep", "compare", "peers", "few", "knees", "outlier", "pictures")
PLACES = [f"{name}-{width}-{scheme}" for name in NAMES for width in (400, 1000, 1600) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def layouts(node, chromium, page, samples, tmp_path_factory):
    reports = {name: samples[name] for name in ("serve", "sweep", "compare", "peers")}
    reports["few"] = awkward_reports.few_and_close(samples["serve"])
    reports["knees"] = awkward_reports.knees_together(samples["sweep"])
    reports["outlier"] = awkward_reports.one_outlier(samples["compare"])
    work = tmp_path_factory.mktemp("layouts")
    files = []
    for name, report in reports.items():
        (work / f"{name}.html").write_text(filled(page, report))
        files.append(f"{name}={work / name}.html")
    # Those of the documentation, as they would lie in a page.
    figures = [f'<figure data-chart="{p.stem}"><div class="picture">{p.read_text()}</div></figure>' for p in sorted((ROOT / "docs/performance").glob("*.svg"))]
    (work / "pictures.html").write_text(f"<meta charset=utf-8><style>svg {{ max-width: 100%; height: auto }} figure {{ margin: 0 }}</style><main>{''.join(figures)}</main>")
    files.append(f"pictures={work}/pictures.html")
    script = pathlib.Path(__file__).parent / "look_at_layout.mjs"
    done = subprocess.run([node, script, PLAYWRIGHT, chromium, ROOT / "build/web-screenshots", *files], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=PLACES)
def layout(request, layouts):
    return layouts[request.param]


def test_no_page_scrolls_sideways(layout):
    content, window = layout["sideways"]
    assert content <= window


def test_nothing_is_cut(layout):
    assert layout["cut"] == []


def test_what_scrolls_says_so(layout):
    assert layout["uncued"] == []


def test_labels_of_charts_lie_on_nothing(layout):
    assert layout["overlaps"] == [] and layout["crossed"] == []


def test_no_two_ticks_say_the_same(layout):
    assert layout["repeated"] == []


def test_tiles_leave_no_holes(layout):
    assert layout["holes"] == []


def test_rows_are_not_tall_by_a_column_that_nobody_sees(layout):
    assert layout["tall"] == []


def test_the_contents_of_a_phone_take_two_lines(layouts):
    for name in NAMES:
        assert layouts[f"{name}-400-light"]["contents"] <= 76
