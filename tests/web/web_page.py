"""Where the pages and what opens them are, and how a report gets into its page."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
PLAYWRIGHT = WEB / "node_modules/playwright-core/index.mjs"


def filled(page, report):
    assert page.count('"MILLRACE_REPORT"') == 1
    return page.replace('"MILLRACE_REPORT"', json.dumps(report, ensure_ascii=False).replace("<", "\\u003c"))
