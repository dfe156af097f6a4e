"""The report page as it was built, and reports to put into it."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from web_page import PLAYWRIGHT, ROOT, WEB


@pytest.fixture(scope="session")
def node():
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        pytest.skip("node and npm are not installed")
    if not PLAYWRIGHT.exists():
        pytest.skip("web/node_modules is not there: npm ci in web")
    return found


@pytest.fixture(scope="session")
def chromium():
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed: ./dev setup")
    return found


@pytest.fixture(scope="session")
def page():
    built = pathlib.Path(os.environ.get("MILLRACE_BUILD_DIR", ROOT / "build/release")) / "web/report/index.html"
    if not built.exists() or built.stat().st_size == 0:
        pytest.skip(f"{built} is not there: this build has no report page")
    return built.read_text()


@pytest.fixture(scope="session")
def samples(tmp_path_factory):
    """By name, as dictionaries; `large` is a run of 2,000 requests."""
    work = tmp_path_factory.mktemp("samples")
    make = [sys.executable, WEB / "report/samples/make_samples.py", work]
    subprocess.run(make, check=True)
    made = {name: json.loads((work / f"{name}.json").read_text()) for name in ("serve", "sweep", "compare", "peers")}
    subprocess.run([*make, "--requests", "2000", "--only", "serve"], check=True)
    made["large"] = json.loads((work / "serve.json").read_text())
    return made
