"""Public names of before (src/base/old_names.cc) work in this version: every row is tried, and docs/changed_names.md has the same rows."""
import json
import re
import subprocess

import pytest

from conftest import PROGRAM, ROOT

TABLE = re.findall(r'OldName\{k(\w+), "([^"]+)", "([^"]+)"\}', (ROOT / "src/base/old_names.cc").read_text())
KINDS = {"Flag": "flag", "Rule": "value of `--spec-rule`", "Metric": "metric", "Member": "member of a report", "Outcome": "outcome of a request"}
# A value that the flag of a benchmark takes no further than its check: what it complains of shows which flag was meant.
BAD_VALUES = {"abandon": ("serve", "7"), "frontier": ("sweep", "7"), "highest-rate": ("sweep", "-1")}
VALUES = {"kv-archive": "/tmp/nowhere", "kv-archive-limit": "5GB", "refuse-late": "true"}


def rows(kind):
    found = [(old, now) for k, old, now in TABLE if k == kind]
    assert found, kind
    return found


def line_about(old, now):
    return f"{old} is called {now} now; the old name works for this version only"


def settings(outcome):
    return dict(line.split(" = ", 1) for line in outcome.out.splitlines() if " = " in line and not line.startswith("#"))


def test_the_page_has_the_rows_of_the_table():
    page = (ROOT / "docs/changed_names.md").read_text()
    dashes = {"Flag": "--"}
    listed = [f"| {KINDS[k]} | `{dashes.get(k, '')}{old}` | `{dashes.get(k, '')}{now}` |" for k, old, now in TABLE]
    assert [line for line in page.splitlines() if line.startswith("| ") and "`" in line] == listed


@pytest.mark.parametrize("old, now", [row for row in rows("Flag") if row[0] in VALUES])
def test_a_flag_of_serve_its_variable_and_its_key(millrace, tmp_path, old, now):
    value = VALUES[old]
    given = [f"--{old}"] + ([] if value == "true" else [value])
    config = tmp_path / "millrace.toml"
    config.write_text(f'{old} = "{value}"\n')
    variable = {"MILLRACE_" + old.upper().replace("-", "_"): value}
    expected = settings(millrace("serve", f"--{now}", *given[1:], "--print-config"))[now]
    for arguments, environment, about in ((given, {}, line_about(f"--{old}", f"--{now}")),
                                          ([f"--{old}={value}"], {}, line_about(f"--{old}", f"--{now}")),
                                          (["--config", config], {}, line_about(f"{config}: {old}", now)),
                                          ([], variable, line_about(*("MILLRACE_" + n.upper().replace("-", "_") for n in (old, now))))):
        outcome = millrace("serve", *arguments, "--print-config", env=environment)
        assert settings(outcome)[now] == expected and outcome.err.count(about) == 1, outcome.err


def test_a_variable_of_now_wins_and_nothing_is_said(millrace):
    outcome = millrace("serve", "--print-config", env={"MILLRACE_KV_ARCHIVE": "/tmp/old", "MILLRACE_KV_DISK_TIER": "/tmp/new"})
    assert settings(outcome)["kv-disk-tier"] == '"/tmp/new"' and outcome.err == ""


@pytest.mark.parametrize("old, now", [row for row in rows("Flag") if row[0] in BAD_VALUES])
def test_a_flag_of_a_benchmark(millrace, old, now):
    command, value = BAD_VALUES[old]
    outcome = millrace("bench", command, "http://127.0.0.1:9", f"--{old}", value, ok=False)
    assert outcome.code == 2 and line_about(f"--{old}", f"--{now}") in outcome.err and f"--{now}" in outcome.err.splitlines()[-1]


def test_every_flag_is_tried():
    assert {old for old, _ in rows("Flag")} == VALUES.keys() | BAD_VALUES.keys()


def test_what_stands_behind_two_dashes_is_left_alone(millrace):
    assert "is called" not in millrace("bench", "serve", "--", "--abandon", ok=False).err


@pytest.mark.parametrize("old, now", rows("Rule"))
def test_a_rule_of_verification(millrace, real_model, old, now):
    run = ["run", real_model, "Once", "--max-tokens", "4", "--temperature", "0", "--spec-method", "ngram", "--spec-rule"]
    before, after = millrace(*run, old), millrace(*run, now)
    assert before.out == after.out and line_about(f"spec-rule {old}", now) in before.err and "is called" not in after.err


@pytest.mark.parametrize("old, now", rows("Member"))
def test_a_member_of_a_report_is_written_under_both_names(old, now):
    sources = [p.read_text() for p in (ROOT / "apps/millrace").rglob("*.cc")]
    assert any(f'"{old}"' in text and f'"{now}"' in text and "base/old_names.h" in text for text in sources)


def test_a_page_is_made_of_a_report_of_before(tmp_path):  # what it shows: tests/web, whose sample has the old name
    pages = []
    for name in ("frontier", "max_goodput"):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"schema": "millrace.bench.sweep", "schema_version": 1, "axis": {"name": "request-rate", "unit": "/s", "label": "rate", "scale": "linear"},
                                    "series": [], name: [{"label": "a", "slo": {"ttft_ms": 70}, "wanted_share": 0.9, "rate": {"value": 31.5, "low": 30, "high": 33}, "tried": []}]}))
        done = subprocess.run([PROGRAM, "bench", "report", file, "--report", tmp_path / f"{name}.html"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        pages.append((tmp_path / f"{name}.html").read_text())
    assert pages[0].replace('"frontier":[', '"max_goodput":[') == pages[1]
