"""The report page in a real Chromium, from disk and without a network; and the unit tests of what it is made from.

    ninja -C build/release web/report/index.html && pytest tests/web

Screenshots are left in build/web-screenshots.
"""
import copy
import json
import pathlib
import re
import subprocess
from xml.etree import ElementTree

import pytest
from web_page import PLAYWRIGHT, ROOT, WEB, filled

SERVE = {"overview", "earlier", "distributions", "why", "over-time", "itl", "timeline", "goodput", "slowest", "errors", "machine", "client", "run"}
SECTIONS = {"serve": SERVE, "large": SERVE, "empty": SERVE, "hostile": SERVE, "sweep": {"curves", "goodput", "max-goodput", "pareto", "points", "run"},
            "compare": {"changes", "verdicts", "rounds", "run"}, "peers": {"advantages", "ratios", "contestants", "run"}}
EVIL = "</script><script>window.intruder = true</script><img src=x onerror=\"window.intruder = true\">\u2028\"'&amp;"


def nothing(value):
    """The same report where everything that may be missing is null."""
    return {key: inner if key in ("schema", "schema_version") else None for key, inner in value.items()}


def hostile(value):
    """The same report where every text is an attack on the page."""
    value = copy.deepcopy(value)
    value.update(model_id=EVIL, label=EVIL, command=["millrace", EVIL])
    value["target"]["url"] = value["load"]["workload"] = value["machine"]["processor"] = EVIL
    value["noise"]["reasons"] = [EVIL]
    for request in value["requests"][10:40]:
        request.update(outcome="failed", error=EVIL, id=EVIL, finish_reason="=1+1")
    return value


@pytest.fixture(scope="session")
def reports(samples):
    return samples | {"empty": nothing(samples["serve"]), "hostile": hostile(samples["serve"])}


@pytest.fixture(scope="session")
def found(node, chromium, page, reports, tmp_path_factory):
    work = tmp_path_factory.mktemp("pages")
    files = []
    for name, report in reports.items():
        (work / f"{name}.html").write_text(filled(page, report))
        files.append(f"{name}={work / name}.html")
    done = subprocess.run([node, pathlib.Path(__file__).parent / "open_reports.mjs", PLAYWRIGHT, chromium, ROOT / "build/web-screenshots", *files],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(params=sorted(SECTIONS))
def opened(request, found):
    return found["pages"][request.param]


def test_samples_are_those_of_the_script(reports):
    for name in ("serve", "sweep", "compare", "peers"):
        assert json.loads((WEB / f"report/samples/{name}.json").read_text()) == reports[name], f"{name}: run web/report/samples/make_samples.py"


def test_nothing_is_fetched_and_nothing_complains(opened):
    assert opened["console"] == []
    assert len(opened["requests"]) == 1 and opened["requests"][0].startswith("file:")


def test_every_section_says_something(opened):
    assert set(opened["sections"]) == SECTIONS[opened["name"]]
    assert all(length > 20 for length in opened["sections"].values())
    assert not re.search(r"\b(undefined|NaN|null|Infinity|\[object)\b", opened["text"])


def test_charts_are_drawn_in_both_themes(opened):
    if opened["name"] == "empty":
        assert opened["drawn"] == {}
        return
    assert len(opened["drawn"]) >= {"compare": 2, "peers": 3}.get(opened["name"], 8)
    for drawn in (opened["drawn"], opened["drawnDark"]):
        for chart, shapes in drawn.items():
            assert shapes > 10, chart
    assert len(opened["tables"]) == len(opened["drawn"]) and all(rows > 0 for rows in opened["tables"])


def test_keys_reach_everything(opened):
    tabs = opened["tabs"]
    assert tabs[0].startswith("a|Skip to the report")
    places = [i for i, tab in enumerate(tabs) if tab.startswith("button|Dark")]
    assert places, tabs
    assert places[0] == len(SECTIONS[opened["name"]]) + 1, "the contents, then the switch"
    assert all(tab.endswith("|ring") for tab in tabs[:places[0] + 1])
    assert len(set(tabs)) > places[0] + 1, "and on into the report"
    assert opened["unnamed"] == 0


def test_the_switch_turns_the_theme(opened):
    assert opened["light"] != opened["dark"]
    assert opened["hash"].endswith("theme=dark")


def test_narrow_windows_do_not_scroll_sideways(opened):
    content, window = opened["narrow"]
    assert content <= window == 380


UNITS = {"µs": 1e-3, "ms": 1.0, "s": 1e3, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 1.0, "tok/s": 1.0, "req/s": 1.0}


def shown(text, seconds=False):
    """'median 168 ms 149 to 187' -> 168.0; and what its last digit is worth."""
    match = re.search(r"(?:^|\s)([\d\u202f]+(?:\.(\d+))?)\s*[\u202f\s]?(µs|ms|tok/s|req/s|s|kB|MB|GB|B|%)(?:\s|$)", text)
    assert match, text
    factor = UNITS[match[3]]
    return float(match[1].replace("\u202f", "")) * factor, factor * 10.0 ** -len(match[2] or "")


def lookup(report, name):
    for key in name.split("."):
        report = report[int(key)] if isinstance(report, list) else report[key]
    return report["value"] if isinstance(report, dict) else report


@pytest.mark.parametrize("name", ("serve", "large"))
def test_metrics_are_those_of_the_json(name, found, reports):
    figures = found["pages"][name]["figures"]
    report = reports[name]
    assert {"median_ttft_ms", "p99_ttft_ms", "median_tpot_ms", "p99_itl_ms", "p99_e2el_ms", "output_throughput", "goodput.0.share",
            "goodput.2.requests_s", "server.mbu_percent", "server.resident_peak_bytes", "client.send_lag_ms.p99"} <= set(figures)
    for figure, text in figures.items():
        value = lookup(report, figure) * (100 if figure.endswith((".share", "cpu_share")) else 1)
        said, digit = shown(text)
        assert abs(said - value) <= 0.51 * digit, figure
        assert digit <= max(abs(value) * 0.05, 1e-9) or value < 1, f"{figure}: {text} says too little"
    low, high = report["estimates"]["median_ttft_ms"]["low"], report["estimates"]["median_ttft_ms"]["high"]
    assert f"{low:.0f} to {high:.0f}" in figures["median_ttft_ms"]


def test_what_is_not_known_is_said(found):
    empty = found["pages"]["empty"]
    assert empty["figures"]["median_ttft_ms"].endswith("not known")
    for words in ("Not known: the machine was not watched", "Not known: the server does not say.", "No objective was set", "the report says nothing of its client"):
        assert words in re.sub(r"\s+", " ", empty["text"])


def test_noise_and_verdicts_stand_at_the_top(found, reports):
    assert "The machine was noisy" in found["pages"]["serve"]["text"][:600]
    compare = found["pages"]["compare"]
    assert "Regression" in compare["text"][:400] and compare["figures"]["verdict"].startswith("Regression")
    for verdict in reports["compare"]["verdicts"]:
        row = compare["rows"][verdict["metric"]]
        change = (verdict["ratio"]["value"] - 1) * 100
        assert abs(float(row["change"].replace("−", "-").replace("\u202f%", "")) - change) <= 0.051
        assert abs(shown(row["b"])[0] - verdict["b"]) <= shown(row["b"])[1]
    assert "Not all ran the same weights" in found["pages"]["peers"]["text"][:400]


def test_knee_and_max_goodput(found, reports):
    text = found["pages"]["sweep"]["text"]
    for knee in reports["sweep"]["knee"]:
        assert knee["why"] in text
    assert "not even the lowest" in text and "8.00 req/s" in text and "7.60 to 8.50" in text
    # Each row, and the rates behind it, say whose they are.
    assert re.search(r"fcfs\s.*8\.00 req/s", text) and re.search(r"fair\s.*7\.20 req/s", text) and re.search(r"prefill-first\s.*not even the lowest", text)
    for found_one in reports["sweep"]["frontier"]:
        assert f"Rates tried on {found_one['label']} for " in text


def test_thousands_of_requests_are_thinned_and_that_is_said(found):
    text = found["pages"]["large"]["text"]
    assert re.search(r"400 of 20\d\d requests are drawn|400 of \d+ requests are drawn", text)
    assert found["pages"]["large"]["drawn"]["timeline"] > 10_000


def test_texts_of_the_data_stay_texts(found):
    page = found["pages"]["hostile"]
    assert page["heading"] == EVIL
    assert page["console"] == [] and len(page["requests"]) == 1


def test_deep_link_zoom_and_slowest(found):
    used = found["used"]
    top, focused = used["deepLink"]
    assert 0 <= top < 60 and focused and used["theme"] == "dark"
    whole, zoomed, later, back, slowest = used["windows"]
    assert len({whole, zoomed, later, slowest}) == 4 and whole == back
    assert "running" in used["tooltip"] and "KV cache in use" in used["tooltip"]
    assert all(shapes > 10 for shapes in used["histogram"].values())
    assert used["console"] == [] and all(url.startswith(("file:", "blob:")) for url in used["requests"])


def test_downloads(found, reports):
    used = found["used"]
    assert json.loads(used["json"]["content"]) == reports["serve"]
    lines = used["csv"]["content"].strip().split("\r\n")
    assert len(lines) == 1 + reports["serve"]["num_prompts"] and lines[0].startswith("index,session,turn,due_s")
    assert used["svg"]["name"] == "timeline.svg"
    svg = ElementTree.fromstring(used["svg"]["content"])
    assert svg.tag.endswith("svg") and sum(1 for e in svg.iter() if e.tag.endswith("path")) > 100


def test_paper_is_light_and_narrow(found):
    theme, contents, widest = found["used"]["printed"]
    assert theme == "light" and contents == "none" and 300 < widest <= 680


def test_policy_lets_nothing_in(found):
    blocked = found["used"]["blocked"]
    assert not blocked["intruder"]
    assert {"connect-src", "img-src"} <= set(blocked["violations"]) and any(v.startswith("script-src") for v in blocked["violations"])


@pytest.mark.parametrize("command", ("test", "check"))
def test_sources(node, command):
    done = subprocess.run(["npm", "run", command], cwd=WEB, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
